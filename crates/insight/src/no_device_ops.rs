//! The capture contains no op of a device that crossprof supports.
//!
//! The capture contains events, but no op of a TPU, a GPU or XLA's CPU backend. Severity: note. Confidence: high. The
//! message lists what the capture contains instead: devices that crossprof has no rules for, host threads, other
//! processes. This finding replaces the list of rules that were skipped. Remedy: capture in the process that uses the
//! devices, while they compute.

use super::draft::Draft;
use super::numbers::Numbers;
use super::{Rule, Verdict};
use base::format;
use report::{Confidence, FindingSeverity, View};
use trace::Framework;

pub(super) static RULE: Rule =
    Rule { id: "no_device_ops", title: "No device op was recorded", ..Rule::checked_by(check) };

fn check(numbers: &Numbers<'_>) -> Verdict {
    if numbers.platform.is_some() || numbers.trace.events.is_empty() {
        return Verdict::Irrelevant;
    }
    let profile = numbers.profile;
    let others = profile.other_devices.len();
    let accelerators = profile.other_devices.iter().filter(|device| device.kind == "accelerator").count();
    let known = match (&profile.host_activity, accelerators, others) {
        (_, count @ 1.., _) => format!(
            "It contains {} that crossprof has no rules for. The report shows only how long they were busy, and with which \
             events.",
            if count == 1 { "a device".to_owned() } else { format!("{} devices", format::count(count as u64)) }
        ),
        (Some(host), ..) => format!(
            "It contains {} host threads, which were busy for {} of the capture.",
            format::count(host.num_threads),
            format::percent(host.busy_percent)
        ),
        (None, 0, 0) => "It contains no events of host threads either.".to_owned(),
        (None, 0, _) => format!("It contains the events of {} other processes.", format::count(others as u64)),
    };
    let message = format!("The profile contains no op that ran on a TPU, a GPU or XLA's CPU backend. {known}");
    let draft = Draft::new(FindingSeverity::Note, Confidence::High, "No device op was recorded", message)
        .remedy(&remedy(numbers))
        .evidence("other_devices", accelerators as f64)
        .evidence("host_threads", profile.host_activity.as_ref().map_or(0.0, |host| host.num_threads as f64));
    draft.link(View::Overview, "").fires()
}

fn remedy(numbers: &Numbers<'_>) -> String {
    let record = numbers.words().record_ops;
    let on_cpu = match numbers.trace.framework {
        Framework::Jax | Framework::Unknown => " On the CPU backend, JAX 0.7 and newer record each op.",
        Framework::TensorFlow | Framework::PyTorch => "",
    };
    format!("To see device ops, capture in the process that uses the devices. {record}{on_cpu}")
}
