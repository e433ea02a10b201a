//! Ops run on the host although the run has an accelerator.
//!
//! Ops that run on the host are callbacks into Python, host compute, and programs of XLA's CPU backend (see the
//! `op-placement` table). The measure is the union of the times of these ops, as a share of a device's active span. The
//! rule uses the device with the largest share. Severity: warning from 5 % (as in `debug_print`), else a note.
//! Confidence: medium, because some ops may be meant to run on the host. Remedy: run the whole step on the device. The
//! rule is skipped if there are no host events.

use super::draft::{Draft, lacks};
use super::limits::HOST_OPS_PERCENT;
use super::numbers::Numbers;
use super::{Rule, Verdict, debug_print};
use base::format;
use metrics::HostReason;
use report::{Confidence, FindingSeverity, View};
use trace::Platform;

pub(super) static RULE: Rule = Rule {
    id: "host_executed_ops",
    title: "Some ops run on the host",
    // Callbacks are ops on the host.
    explained_by: &[&[&debug_print::RULE]],
    ..Rule::checked_by(check)
};

fn check(numbers: &Numbers<'_>) -> Verdict {
    let devices = &numbers.context.analysis.devices;
    match devices.platform {
        Some(Platform::Tpu | Platform::Gpu) => {}
        Some(Platform::Cpu) => return Verdict::Irrelevant,
        None => return lacks("no device op ran. Capture while the program runs on the device."),
    }
    if devices.by_line.host_names.is_empty() {
        return numbers.lacks_host_events();
    }
    let placement = numbers.context.placement();
    let Some((_, first)) = placement.host_rows().next() else { return Verdict::Fine };
    let mut best = 0.0_f64;
    for device in &devices.used {
        let length = device.span.length().as_ps();
        if length > 0 {
            best = best.max(100.0 * placement.on_host.length_within(device.span).as_ps() as f64 / length as f64);
        }
    }
    let sum = |reason| {
        let rows = placement.host_rows().filter(|(of, _)| *of == reason);
        rows.fold((0, 0.0), |(count, time), (_, row)| (count + row.occurrences, time + row.time.as_us()))
    };
    let kinds = [
        (HostReason::Callback, "callbacks into Python", "callbacks"),
        (HostReason::HostCompute, "host compute ops", "host_compute_ops"),
        (HostReason::CpuProgram, "ops of programs compiled for the CPU", "cpu_program_ops"),
    ];
    let parts: Vec<String> = kinds
        .iter()
        .map(|&(reason, words, _)| (sum(reason), words))
        .filter(|((count, _), _)| *count > 0)
        .map(|((count, time), words)| format!("{} {words} ({})", format::count(count), format::time_us(time)))
        .collect();
    let message = format!(
        "Ops run on the host for {} of a device's active time: {}. {} takes the most time.",
        format::percent(best),
        parts.join(", "),
        format::printable(&format::shorten(&first.op_type, 60))
    );
    let severity = if best < HOST_OPS_PERCENT.good { FindingSeverity::Note } else { FindingSeverity::Warning };
    let is_warning = severity == FindingSeverity::Warning;
    let mut draft = Draft::new(severity, Confidence::Medium, "Some ops run on the host", message)
        .remedy(
            "Run the whole step on the device: use no pure_callback or io_callback inside it, no compute_on(\"device_host\") for \
             work that an accelerator can do, and no function that is jitted with backend=\"cpu\" or whose inputs are on a CPU \
             device (check .devices() of its inputs).",
        );
    draft = match is_warning {
        true => draft.passed("host_executed_percent", best, HOST_OPS_PERCENT.good),
        false => draft.evidence("host_executed_percent", best),
    };
    for (reason, _, name) in kinds {
        draft = draft.evidence(name, sum(reason).0 as f64);
    }
    draft.at_stake(best).link(View::Overview, "").fires()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{finding, fine, gpu_steps, kernel};
    use report::FindingSeverity::{Note, Warning};
    use trace::Trace;

    /// Builds steps of 1000 us in which the program calls back into Python for `length` us.
    fn calling_back(length: i64) -> Trace {
        gpu_steps(12, move |b, at| {
            kernel(b, "gemm", at + 1, at + 5, 900);
            let python = b.line("/host:CPU", "callbacks");
            b.event(python, "xla_ffi_python_gpu_callback", at + 100, length);
        })
    }

    #[test]
    fn fires_for_any_op_and_warns_above_its_limit() {
        assert_eq!(finding(calling_back(60), &RULE).severity, Warning);
        assert_eq!(finding(calling_back(45), &RULE).severity, Note);
        fine(gpu_steps(12, |b, at| kernel(b, "gemm", at + 1, at + 5, 900)), &RULE);
    }
}
