//! Compiled functions receive host arrays, which each call copies to the devices.
//!
//! JAX only: calls of compiled functions copy host arrays to the devices (`DevicePut` inside `PjitFunction(...)`). The
//! impact is the share of the window during which devices are idle while the call or a runtime thread copies such
//! arrays. Severity: warning from 10 %, critical from 50 %, else a note if there are at least 8 arrays per step per host (ours: a
//! batch has only a few arrays). Confidence: high if devices wait, else medium, because the capture does not contain
//! the sizes of the arrays. Remedy: call `jax.device_put` before the loop. The rule is skipped if there are no host
//! events or no steps.

use super::draft::Draft;
use super::limits::OVERHEAD_PERCENT;
use super::numbers::{Numbers, shown};
use super::{Rule, Verdict, many_programs};
use base::format;
use metrics::{Argument, HostArguments, host_arguments};
use report::{Confidence, FindingSeverity, View};

pub(super) static RULE: Rule = Rule {
    id: "host_arguments",
    title: "Host arrays are copied in each call",
    // If a step runs many small programs, each has its own arguments, such as Python numbers.
    explained_by: &[&[&many_programs::RULE]],
    ..Rule::checked_by(check)
};

/// Minimum number of copied arrays per step for a finding about devices that wait. If a step copies fewer arrays,
/// devices wait for other copies.
const LEAST: f64 = 0.9;
/// Minimum number of copied arrays per step. We chose this limit because a batch has only a few arrays, but a model has
/// many.
const FEWEST: f64 = 8.0;

fn check(numbers: &Numbers<'_>) -> Verdict {
    let steps = match numbers.steps_of_jax_calls() {
        Ok(steps) => steps,
        Err(verdict) => return verdict,
    };
    let found = host_arguments(numbers.trace, &numbers.context.analysis.devices);
    let per_step = found.copies as f64 / steps / found.hosts.max(1) as f64;
    let share = 100.0 * found.idle.as_ps() as f64 / found.window.as_ps().max(1) as f64;
    if share >= OVERHEAD_PERCENT.good && per_step >= LEAST {
        return waited_for(numbers, &found, per_step, share);
    }
    if per_step < FEWEST {
        return Verdict::Fine;
    }
    let count = format::count(per_step.round() as u64);
    let message = format!(
        "Each step passes {count} host arrays, such as NumPy arrays, to compiled functions. Each call copies them to \
         the device again, before it can begin."
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
    .at_stake(share)
    .link(View::Steps, "")
    .fires()
}

/// Returns the finding for copies that devices wait for.
fn waited_for(numbers: &Numbers<'_>, found: &HostArguments, per_step: f64, share: f64) -> Verdict {
    let (severity, limit) = OVERHEAD_PERCENT.severity(share);
    let program = format!("jit_{}", found.function);
    let of_program = |it: &&Argument| it.program.split('(').next() == Some(&program);
    let largest = numbers.context.arguments().iter().filter(of_program);
    let largest = largest.max_by(|a, b| a.bytes_per_device.total_cmp(&b.bytes_per_device)).map(|it| {
        let size = format::bytes(it.bytes_per_device as u64);
        format!(
            " The largest argument of {} is {} ({}, {size}).",
            shown(&found.function),
            shown(&it.name),
            shown(&it.shape)
        )
    });
    let message = format!(
        "Devices are idle for {} of the time while host arrays, such as NumPy arrays, are copied to them: each step passes {} \
         to compiled functions, mostly to {}.{} A call that reads a result then waits for these copies too.",
        format::percent(share),
        format::counted(per_step.round().max(1.0) as u64, "such array"),
        shown(&found.function),
        largest.unwrap_or_default()
    );
    let title = format!("Copying host arrays to the devices takes {} of the time", format::percent(share));
    Draft::new(severity, Confidence::High, &title, message)
        .remedy(
            "Copy arrays that stay the same (a data set, parameters, constants) to the device once before the loop (jax.device_put), and pass the result. If a step uses only a part of an array, pass only that part. Copy the next batch ahead of time.",
        )
        .passed("host_arrays_idle_percent", share, limit)
        .evidence("host_arrays_per_step", per_step)
        .at_stake(share)
        .link(View::Steps, "")
        .fires()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{finding, fine, gpu_steps, kernel};
    use report::FindingSeverity::{Critical, Note, Warning};
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

    #[test]
    fn fires_if_devices_wait_for_copies() {
        let steps = |copy: i64| {
            let mut trace = gpu_steps(12, |b, at| {
                let python = b.line("/host:CPU", "python");
                b.event(python, "PjitFunction(step)", at + 1, copy + 2);
                b.event(python, "DevicePut", at + 2, copy);
                kernel(b, "gemm", at + 2 + copy, at + 2 + copy, 996 - copy);
            });
            trace.framework = Framework::Jax;
            trace
        };
        let found = finding(steps(600), &RULE);
        assert_eq!(found.severity, Critical);
        assert!(
            found.title.starts_with("Copying host arrays to the devices takes ")
                && found.message.contains("1 such array to compiled functions, mostly to step."),
            "{found:?}"
        );
        assert_eq!(finding(steps(150), &RULE).severity, Warning);
        fine(steps(50), &RULE);
    }
}
