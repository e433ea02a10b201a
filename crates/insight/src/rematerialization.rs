//! Ops run a second time to save memory.

use super::draft::{Draft, lacks};
use super::numbers::Numbers;
use super::{Rule, Verdict};
use base::{Ps, format};
use report::{Confidence, FindingSeverity};
use trace::Framework;

pub(super) const RULE: Rule = Rule { id: "rematerialization", title: "Recomputation takes much of the time", check };

/// Share of the op time in rematerialised ops from which the finding is a note (ours: the JAX guide's limit for overheads; a
/// model that recomputes its whole forward pass spends about a quarter).
const NOTE_PERCENT: f64 = 10.0;

fn check(numbers: &Numbers<'_>) -> Verdict {
    let ops = &numbers.context.analysis.ops;
    if ops.rows.is_empty() {
        return lacks("no device op ran. Capture while the program runs on the device.");
    }
    if ops.rows.iter().all(|op| op.rematerialized.is_none()) {
        return numbers.lacks_in_json("the file contains neither names nor paths of the ops.");
    }
    let again = ops.rows.iter().filter(|op| op.rematerialized == Some(true));
    let (count, time) = again.fold((0_u64, Ps::ZERO), |(count, time), op| (count + 1, time + op.self_time));
    let share = numbers.op_percent(time);
    if share < NOTE_PERCENT {
        return Verdict::Fine;
    }
    let message = format!(
        "Recomputation takes {} of the op time: {} ops are rematerialised, that is, computed again instead of kept in memory.",
        format::percent(share),
        format::count(count)
    );
    Draft::new(FindingSeverity::Note, Confidence::High, &format!("Recomputation takes {} of the op time", format::percent(share)), message)
        .remedy(&format!(
            "If memory is free, keep more activations: use {}. If not, offload or shard activations. If XLA rematerialised the \
             ops by itself, use a smaller batch or more sharding.",
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
