//! Rules that cannot be checked if a capture was cut or ops were not recorded. Missing events make a device look slower, idle or
//! unused.

use super::Verdict;
use super::numbers::Numbers;
use base::{Cut, cut};

/// Rules that compare devices, or that look for missing devices or steps. Any cut invalidates them.
const NEED_THE_WHOLE: [&str; 5] =
    ["unused_visible_devices", "replicated_work", "uneven_devices", "straggler_device", "single_step"];

/// Rules about idle time and about overlap. They hold if the capture is complete up to some time, but not if events of some
/// devices, streams or threads are missing.
const NEED_ALL_LINES: [&str; 14] = [
    "data_loading",
    "input_bound",
    "host_processing",
    "host_overhead",
    "many_programs",
    "python_threads",
    "low_device_utilization",
    "tensor_core_idle",
    "idle_gaps",
    "short_mean_kernel",
    "gradient_synchronization",
    "unhidden_collectives",
    "collective_bound",
    "step_time_variation",
];

/// Rules about rates over device time, and about the ops that take most of it. They count ops that were not recorded as absent.
const NEED_ALL_OPS: [&str; 4] = ["memory_bound", "compute_bound", "dominant_op", "many_small_kernels"];

/// Returns the verdict of a rule, or `NotChecked` with the reason if the capture does not support it.
pub(super) fn judged(numbers: &Numbers<'_>, id: &str, verdict: Verdict) -> Verdict {
    if !matches!(verdict, Verdict::Fires(_) | Verdict::Fine) {
        return verdict;
    }
    let whole = NEED_THE_WHOLE.contains(&id);
    let sentence = match cut(&numbers.profile.warnings) {
        Some(Cut::Earliest) if whole => {
            "the file contains only the earliest part of the capture. Open the *.xplane.pb of the same run."
        }
        Some(Cut::Ops) if whole || NEED_ALL_LINES.contains(&id) || NEED_ALL_OPS.contains(&id) => {
            "the profiler did not record all device ops (see the warnings), and missing ops look like idle time. Capture fewer \
             steps, or record less."
        }
        Some(Cut::Anywhere) if whole || NEED_ALL_LINES.contains(&id) => {
            "events are missing from the capture, and missing events look like idle time. Copy the file again, or capture again."
        }
        _ => return verdict,
    };
    Verdict::NotChecked(sentence.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::RULES;

    #[test]
    fn the_lists_name_rules() {
        for id in NEED_THE_WHOLE.iter().chain(&NEED_ALL_LINES).chain(&NEED_ALL_OPS) {
            assert!(RULES.iter().any(|rule| rule.id == *id), "{id} is no rule");
        }
    }
}
