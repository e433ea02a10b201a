//! Compiled functions receive arrays of the host, which are copied to the devices in each call.

use super::draft::Draft;
use super::numbers::Numbers;
use super::{Rule, Verdict};
use base::format;
use metrics::host_arguments;
use report::{Confidence, FindingSeverity};

pub(super) const RULE: Rule = Rule { id: "host_arguments", title: "Host arrays are copied in each call", check };

/// Fewest copied arrays per step (ours: a batch has a few arrays, a model has many).
const FEWEST: f64 = 8.0;

fn check(numbers: &Numbers<'_>) -> Verdict {
    let steps = match numbers.steps_of_jax_calls() {
        Ok(steps) => steps,
        Err(verdict) => return verdict,
    };
    let found = host_arguments(numbers.trace, &numbers.context.analysis.devices);
    let per_step = found.copies as f64 / steps / found.hosts.max(1) as f64;
    if per_step < FEWEST {
        return Verdict::Fine;
    }
    let count = format::count(per_step.round() as u64);
    let message = format!(
        "Each step passes {count} arrays of the host, such as NumPy arrays, to compiled functions. Each call copies them to the \
         device again, before it can begin."
    );
    // The capture does not contain the sizes of these copies.
    Draft::new(
        FindingSeverity::Note,
        Confidence::Medium,
        &format!("Each step copies {count} host arrays to the device"),
        message,
    )
    .remedy(
        "Copy arrays that stay the same, such as parameters and constants, to the device once before the loop \
             (jax.device_put), and pass the result. Copy the next batch ahead of time.",
    )
    .passed("host_arrays_per_step", per_step, FEWEST)
    .link("steps", "")
    .fires()
}
