//! Ops run a second time to save memory.

use super::draft::{Draft, lacks};
use super::numbers::Numbers;
use super::{Rule, Verdict};
use base::{Ps, format};
use report::{Confidence, FindingSeverity};
use trace::Framework;

/// The rule.
pub(super) const RULE: Rule = Rule { id: "rematerialization", title: "Time goes to recomputation", check };

/// Share of the device time in rematerialised ops that is worth knowing (ours: the JAX guide's line of overheads; a model that
/// recomputes its whole forward pass spends about a quarter).
const NOTE_PERCENT: f64 = 10.0;

fn check(numbers: &Numbers<'_>) -> Verdict {
    let ops = &numbers.context.analysis.ops;
    if ops.rows.is_empty() {
        return lacks("no device op ran. Capture while the program runs on the device.");
    }
    if ops.rows.iter().all(|op| op.rematerialized.is_none()) {
        return numbers.lacks_in_json("neither names nor paths of the ops are in the file.");
    }
    let again = ops.rows.iter().filter(|op| op.rematerialized == Some(true));
    let (count, time) = again.fold((0_u64, Ps::ZERO), |(count, time), op| (count + 1, time + op.self_time));
    let share = numbers.op_percent(time);
    if share < NOTE_PERCENT {
        return Verdict::Fine;
    }
    let message = format!(
        "{} ops were rematerialised: computed again instead of kept. They take {} of the time of all device ops.",
        format::count(count),
        format::percent(share)
    );
    Draft::new(FindingSeverity::Note, Confidence::High, &format!("Recomputation takes {} of the device time", format::percent(share)), message)
        .remedy(&format!(
            "If memory is to spare, keep more: {}; else offload or shard activations. Where XLA did it by itself, a smaller batch \
             or more sharding avoids it.",
            match numbers.trace.framework {
                Framework::Jax | Framework::Unknown =>
                    "jax.checkpoint with a policy such as jax.checkpoint_policies.dots_with_no_batch_dims_saveable instead of \
                     recomputing everything",
                other => other.words().checkpoint,
            }
        ))
        .passed("rematerialized_percent", share, NOTE_PERCENT)
        .evidence("rematerialized_us", time.as_us())
        .at_stake(numbers.of_window(share))
        .link("ops", "hlo_rematerialization=yes")
        .fires()
}
