//! Findings that a capture does not support once it was cut, or where ops were not recorded: what is missing looks like a device that is slower, idle
//! or unused.

use super::Verdict;
use super::numbers::Numbers;
use base::{Cut, cut};

/// Rules that compare devices, or look for what is not there: any cut takes their ground away.
const NEED_THE_WHOLE: [&str; 3] = ["unused_visible_devices", "straggler_device", "single_step"];

/// Rules about time in which nothing is seen, and about what hides what: they hold in what is there up to a moment, but not where events of
/// some devices, streams or threads are missing.
const NEED_ALL_LINES: [&str; 12] = [
    "data_loading",
    "input_bound",
    "host_processing",
    "host_overhead",
    "low_device_utilization",
    "tensor_core_idle",
    "idle_gaps",
    "short_mean_kernel",
    "gradient_synchronization",
    "unhidden_collectives",
    "collective_bound",
    "step_time_variation",
];

/// Rules about rates over the time of the devices, and about what takes most of it: they count ops that were not recorded as none.
const NEED_ALL_OPS: [&str; 4] = ["memory_bound", "compute_bound", "dominant_op", "many_small_kernels"];

/// The verdict of a rule, or why it is not judged.
pub(super) fn judged(numbers: &Numbers<'_>, id: &str, verdict: Verdict) -> Verdict {
    if !matches!(verdict, Verdict::Fires(_) | Verdict::Fine) {
        return verdict;
    }
    let whole = NEED_THE_WHOLE.contains(&id);
    let sentence = match cut(&numbers.profile.warnings) {
        Some(Cut::Earliest) if whole => {
            "the file holds only the earliest part of the capture: what devices did later is missing. Open the *.xplane.pb of the same run."
        }
        Some(Cut::Ops) if whole || NEED_ALL_LINES.contains(&id) || NEED_ALL_OPS.contains(&id) => {
            "the profiler did not record all device ops (see the warnings), and what is missing looks like a device that does nothing. \
             Capture fewer steps, or record less."
        }
        Some(Cut::Anywhere) if whole || NEED_ALL_LINES.contains(&id) => {
            "events are missing from the capture, and what is missing looks like a device that does nothing. Copy the file again, or capture again."
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
