//! Compares one number with its bound: determines whether the bound holds, and by what margin.

use super::baseline::Reference;
use super::limit::Limit;
use super::op_sum::Unlisted;
use expression::Relation;

/// A number that was compared with its bound.
#[derive(Clone, Debug)]
pub(super) struct Measured {
    /// Exact path of this number, without `*`, or the sum over ops as written in the rule.
    pub path: String,
    pub value: f64,
    pub bound: f64,
    /// The baseline's number, if the bound uses it.
    pub baseline: Option<Reference>,
    pub holds: bool,
    pub margin_percent: Option<f64>,
    /// Names of the counted or summed entries.
    pub counted: Vec<String>,
    /// Ops that may belong to the sum but that the profile does not list.
    pub unlisted: Option<Unlisted>,
    /// Explains how the value was found, if the number needs an explanation. Ends without a full stop.
    pub sentence: Option<String>,
}

impl Measured {
    /// Compares `value` with `bound`.
    pub(crate) fn new(
        limit: &Limit,
        path: String,
        [value, bound]: [f64; 2],
        baseline: Option<Reference>,
        counted: Vec<String>,
    ) -> Measured {
        let holds = limit.relation.holds(value, bound);
        let margin_percent = margin_percent(limit.relation, value, bound);
        Measured { path, value, bound, baseline, holds, margin_percent, counted, unlisted: None, sentence: None }
    }

    /// Returns true if this number is worse than `other`. A failure is worse than a pass, and a smaller margin is worse
    /// than a larger one.
    fn is_worse_than(&self, other: &Measured) -> bool {
        match (self.holds, other.holds) {
            (false, true) => true,
            (true, false) => false,
            _ => match (self.margin_percent, other.margin_percent) {
                (Some(a), Some(b)) => a < b,
                // A bound of 0 has no percentage. The larger distance is the worse failure.
                _ => !self.holds && (self.value - self.bound).abs() > (other.value - other.bound).abs(),
            },
        }
    }
}

/// Returns the worst of several numbers. If several are equally bad, returns the first.
pub(super) fn worst(measured: &[Measured]) -> Option<&Measured> {
    measured.iter().reduce(|worst, it| if it.is_worse_than(worst) { it } else { worst })
}

/// Returns the distance of `value` from `bound` in percent of the bound, negative if the relation does not hold.
/// Returns `None` if the bound is 0, if the result is not finite, and for `!=`.
pub fn margin_percent(relation: Relation, value: f64, bound: f64) -> Option<f64> {
    let slack = match relation {
        Relation::Below | Relation::AtMost => bound - value,
        Relation::Above | Relation::AtLeast => value - bound,
        Relation::Equal => -(value - bound).abs(),
        Relation::NotEqual => return None,
    };
    let percent = 100.0 * slack / bound.abs();
    // An exact match is 0, never -0.
    percent.is_finite().then_some(percent + 0.0)
}
