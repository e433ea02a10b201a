//! One number against its bound: on which side it is, and how far.

use super::baseline::Reference;
use super::limit::Limit;
use super::op_sum::Unlisted;
use super::rule::Relation;

/// One number against its bound.
#[derive(Clone, Debug)]
pub(super) struct Measured {
    /// The path that leads to it alone, or the sum.
    pub path: String,
    pub value: f64,
    pub bound: f64,
    /// The baseline's number, where the bound looks at it.
    pub baseline: Option<Reference>,
    pub holds: bool,
    pub margin_percent: Option<f64>,
    /// What was counted or summed, by name.
    pub counted: Vec<String>,
    /// Ops that may belong to the sum and are not in it.
    pub unlisted: Option<Unlisted>,
    /// How the value was found, where a number alone does not say it; without a full stop.
    pub sentence: Option<String>,
}

impl Measured {
    /// `value` against `bound`.
    pub fn new(
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

    /// Whether this is worse than `other`: fails before holds, then by the margin.
    fn is_worse_than(&self, other: &Measured) -> bool {
        match (self.holds, other.holds) {
            (false, true) => true,
            (true, false) => false,
            _ => match (self.margin_percent, other.margin_percent) {
                (Some(a), Some(b)) => a < b,
                // Against a bound of 0 there is no share: the larger distance from it is the worse failure.
                _ => !self.holds && (self.value - self.bound).abs() > (other.value - other.bound).abs(),
            },
        }
    }
}

/// The worst of several numbers, the first of equals; `None` of none.
pub(super) fn worst(measured: &[Measured]) -> Option<&Measured> {
    measured.iter().reduce(|worst, it| if it.is_worse_than(worst) { it } else { worst })
}

/// How far `value` is on the right side of `bound`, in percent of the bound; negative where it is on the wrong side. `None` where the
/// bound is 0, for `!=`, and where it is no finite number.
pub fn margin_percent(relation: Relation, value: f64, bound: f64) -> Option<f64> {
    let slack = match relation {
        Relation::Below | Relation::AtMost => bound - value,
        Relation::Above | Relation::AtLeast => value - bound,
        Relation::Equal => -(value - bound).abs(),
        Relation::NotEqual => return None,
    };
    let percent = 100.0 * slack / bound.abs();
    // An exact hit is 0, never -0.
    percent.is_finite().then_some(percent + 0.0)
}
