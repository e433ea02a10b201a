//! Ops run on the host although the program has an accelerator.

use super::draft::{Draft, lacks};
use super::numbers::Numbers;
use super::{Rule, Verdict};
use base::format;
use metrics::HostReason;
use report::{Confidence, FindingSeverity};
use trace::Platform;

pub(super) const RULE: Rule = Rule { id: "host_executed_ops", title: "Ops that run on the host", check };

/// Share of the devices' active time from which the finding is a warning (as in `debug_print`).
const WARNING_PERCENT: f64 = 5.0;

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
    let severity = if best < WARNING_PERCENT { FindingSeverity::Note } else { FindingSeverity::Warning };
    let is_warning = severity == FindingSeverity::Warning;
    let mut draft = Draft::new(severity, Confidence::Medium, "Some ops run on the host", message)
        .remedy(
            "Run the whole step on the device: use no pure_callback or io_callback inside it, no compute_on(\"device_host\") for \
             work that an accelerator can do, and no function that is jitted with backend=\"cpu\" or whose inputs are on a CPU \
             device (check .devices() of its inputs).",
        );
    draft = match is_warning {
        true => draft.passed("host_executed_percent", best, WARNING_PERCENT),
        false => draft.evidence("host_executed_percent", best),
    };
    for (reason, _, name) in kinds {
        draft = draft.evidence(name, sum(reason).0 as f64);
    }
    draft.at_stake(best).link("overview", "").fires()
}
