//! Finds the ops that take longer on the most devices than with ideal scaling, and measures their excess.

use super::super::op_noise::OpNoise;
use super::super::{matching, steps};
use super::document::MAX_EXCESS_OPS;
use super::{ExcessOp, ScaledRun};
use base::sort;

/// Minimum excess of an op that is listed, as a share of the step.
const LEAST_SHARE: f64 = 0.001;

/// Returns the ops of `run` that take longer than `share` times their time in the reference,
/// largest excess first.
///
/// `share` is the growth of the work divided by the growth of the devices. The ideal time of an op is its time in the reference
/// times `share`. Ops are matched as in any comparison of two runs. An op that the reference lacks has an ideal time of 0.
/// Empty if either run lists no ops, or if the times of only one run are per step.
pub(super) fn excess_ops(run: &ScaledRun<'_>, reference: &ScaledRun<'_>, share: f64) -> Vec<ExcessOp> {
    if steps::window(run.profile) != steps::window(reference.profile) {
        return Vec::new();
    }
    let (Some(ours), Some(theirs)) = (steps::ops(run.profile), steps::ops(reference.profile)) else {
        return Vec::new();
    };
    let (changes, _) = matching::ops(run.index as usize, &ours, &theirs, &OpNoise::default(), None);
    let excess = changes.into_iter().map(|change| {
        let [measured_us, reference_us] = change.time_us;
        let ideal_us = reference_us * share;
        ExcessOp {
            run: run.index,
            series: None,
            name: change.name,
            family: change.family,
            framework_op: change.framework_op,
            matched_by: change.matched_by,
            ops: change.ops,
            reference_us,
            ideal_us,
            measured_us,
            excess_us: measured_us - ideal_us,
        }
    });
    let mut excess: Vec<ExcessOp> = excess.filter(|op| op.excess_us >= LEAST_SHARE * run.step_time_us).collect();
    sort::sort_by(&mut excess, |a, b| b.excess_us.total_cmp(&a.excess_us).then_with(|| a.name.cmp(&b.name)));
    excess.truncate(MAX_EXCESS_OPS);
    excess
}
