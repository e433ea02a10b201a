//! Compiled functions receive arrays of the host, which are copied to the devices in each call.
//!
//! JAX: calls of compiled functions copy at least 8 host arrays per step to the devices (`DevicePut` inside
//! `PjitFunction(...)`; per host; ours: a batch has a few arrays). Note, because the capture does not contain the sizes.
//! Confidence medium. Remedy: `jax.device_put` before the loop. Not checked without host events or steps.

use super::draft::Draft;
use super::numbers::Numbers;
use super::{Rule, Verdict, many_programs};
use base::format;
use metrics::host_arguments;
use report::{Confidence, FindingSeverity, View};

pub(super) static RULE: Rule = Rule {
    id: "host_arguments",
    title: "Host arrays are copied in each call",
    // Each of many small programs has arguments, such as Python numbers.
    explained_by: &[&[&many_programs::RULE]],
    ..Rule::checked_by(check)
};

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
    .link(View::Steps, "")
    .fires()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{finding, fine, gpu_steps, kernel};
    use report::FindingSeverity::Note;
    use trace::Framework;

    #[test]
    fn fires_above_its_limit() {
        let steps = |copies: i64| {
            let mut trace = gpu_steps(12, |b, at| {
                let python = b.line("/host:CPU", "python");
                b.event(python, "PjitFunction(step)", at + 1, 100);
                for copy in 0..copies {
                    b.event(python, "DevicePut", at + 2 + 4 * copy, 2);
                }
                kernel(b, "gemm", at + 90, at + 95, 800);
            });
            trace.framework = Framework::Jax;
            trace
        };
        let found = finding(steps(8), &RULE);
        assert_eq!((found.severity, found.title.as_str()), (Note, "Each step copies 8 host arrays to the device"));
        fine(steps(7), &RULE);
    }
}
