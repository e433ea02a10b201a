//! Ops run a second time to save memory.
//!
//! The measure is the self time of rematerialised ops (`.remat` in the name, or `rematted_computation` in the path) as
//! a share of the op time. Severity: note from 10 % (JAX guide: limit for overheads). Recomputing a whole forward pass
//! takes about a quarter of a training step. Confidence: high. Remedy: use a checkpoint policy that keeps more
//! activations. The rule is skipped if the file contains neither names nor paths.

use super::draft::{Draft, lacks};
use super::limits::OVERHEAD_PERCENT;
use super::numbers::Numbers;
use super::{Rule, Verdict};
use base::{Ps, format};
use report::{Confidence, FindingSeverity, View};
use trace::Framework;

pub(super) static RULE: Rule =
    Rule { id: "rematerialization", title: "Recomputation takes much of the time", ..Rule::checked_by(check) };

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
    if share < OVERHEAD_PERCENT.good {
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
        .passed("rematerialized_percent", share, OVERHEAD_PERCENT.good)
        .evidence("rematerialized_us", time.as_us())
        .at_stake(numbers.of_window(share))
        .link(View::Ops, "hlo_rematerialization=yes")
        .fires()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{finding, fine, tpu_op, tpu_steps};
    use report::FindingSeverity::Note;

    #[test]
    fn fires_above_its_limit() {
        let trace = |length: i64| {
            tpu_steps(12, move |b, at| {
                let line = b.line("/device:TPU:0", "XLA Ops");
                let expression = b.trace_mut().strings.intern("%fusion.1.remat = f32[8]{0} fusion(f32[8]{0} %p)");
                let again = b.event(line, "fusion.1.remat", at, length).hlo_category("loop fusion");
                again.args(|args| args.long_name = expression);
                tpu_op(b, "convolution fusion", at + length, 1000 - length);
            })
        };
        assert_eq!(finding(trace(100), &RULE).severity, Note);
        fine(trace(99), &RULE);
    }
}
