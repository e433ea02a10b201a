//! Checks whether all ops change by the same factor. If so, the cause is the machine, not the program.
//!
//! ```text
//! ratio   0.9   1.0   1.1
//! dot.1          |  x          1.05
//! dot.2          |  x          1.05      all within a band around their common ratio: clocks, power, another device
//! add.1          |   x         1.06
//! ```

use super::{Change, ChangeKind};

/// Minimum number of ops that are examined. Fewer ops may change in the same way by chance.
const LEAST_OPS: usize = 4;

/// Minimum share of the baseline's op time that must belong to ops whose change is in the band.
const LEAST_TIME: f64 = 0.9;

/// Half the width of the band, as a share of the common change.
const BAND: f64 = 0.3;

/// Change that nearly all ops share.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct UniformChange {
    /// Relative increase of the time of each op.
    pub longer: f64,
    /// Change of the time per step of all ops in `ops`, in microseconds.
    pub delta_us: f64,
    /// Share of the baseline's op time that the ops in `ops` take.
    pub time_share: f64,
    /// Indices of the ops that share the change.
    pub ops: Vec<usize>,
}

/// Returns the common change of nearly all ops. Returns `None` if the ops change by different factors, or by less than
/// `threshold`.
pub(crate) fn uniform(ops: &[Change], threshold: f64) -> Option<UniformChange> {
    let total: f64 = ops.iter().map(|op| op.time_us[1]).sum();
    let is_plain = |op: &Change| op.exposed_us.is_none() && !matches!(op.change, ChangeKind::New | ChangeKind::Gone);
    let slowdown = |op: &Change| op.slowdown.filter(|_| is_plain(op));
    let sums = ops
        .iter()
        .filter(|op| slowdown(op).is_some())
        .fold([0.0, 0.0], |[ours, theirs], op| [ours + op.time_us[0], theirs + op.time_us[1]]);
    let ratio = sums[0] / sums[1];
    if !ratio.is_finite() || (ratio - 1.0).abs() < threshold {
        return None;
    }
    let band = BAND * (ratio - 1.0).abs();
    let is_alike = |op: &Change| slowdown(op).is_some_and(|slowdown| (slowdown - ratio).abs() <= band);
    let alike: Vec<usize> = ops.iter().enumerate().filter(|(_, op)| is_alike(op)).map(|(at, _)| at).collect();
    let of = |side: fn(&Change) -> f64| alike.iter().filter_map(|&at| ops.get(at)).map(side).sum::<f64>();
    let time_share = of(|op| op.time_us[1]) / total;
    (alike.len() >= LEAST_OPS && time_share >= LEAST_TIME).then(|| UniformChange {
        longer: ratio - 1.0,
        delta_us: of(|op| op.delta_us_per_step),
        time_share,
        ops: alike.clone(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn op(base_us: f64, slowdown: f64) -> Change {
        Change {
            time_us: [base_us * slowdown, base_us],
            delta_us_per_step: base_us * (slowdown - 1.0),
            slowdown: Some(slowdown),
            change: ChangeKind::Slower,
            ..Change::default()
        }
    }

    #[test]
    fn ops_that_change_alike_are_one_change() {
        let ops = [op(2000.0, 1.05), op(1600.0, 1.051), op(300.0, 1.045), op(2500.0, 1.05), op(100.0, 1.3)];
        let found = uniform(&ops, 0.01).unwrap();
        assert_eq!(found.ops, [0, 1, 2, 3]);
        assert!((found.longer - 0.0541).abs() < 1e-3 && found.time_share > 0.98, "{found:?}");
        assert!((found.delta_us - (100.0 + 81.6 + 13.5 + 125.0)).abs() < 1e-6, "{found:?}");
    }

    #[test]
    fn one_op_or_a_small_change_is_not_uniform() {
        let one = [op(2000.0, 1.0), op(1600.0, 1.3), op(300.0, 1.0), op(2500.0, 1.0)];
        assert_eq!(uniform(&one, 0.01), None);
        assert_eq!(uniform(&[1.005; 6].map(|slowdown| op(100.0, slowdown)), 0.01), None);
        assert_eq!(uniform(&[1.5; 3].map(|slowdown| op(100.0, slowdown)), 0.01), None);
        assert_eq!(uniform(&[], 0.01), None);
    }
}
