//! The one gap that is most of the idle time, where there is one: it is looked at by itself, not as a share of a step.

use super::draft::Draft;
use super::numbers::{Numbers, shown};
use base::format;
use report::Gap;

/// Share of a device's idle time from which one gap is most of it (ours: more than all others together).
const MOST: f64 = 0.5;

/// The gap that is most of the idle time.
pub(super) fn dominant<'a>(numbers: &Numbers<'a>) -> Option<&'a Gap> {
    let gap = numbers.profile.timeline_analysis.as_ref()?.longest_gaps.first()?;
    (share(numbers, gap)? > MOST).then_some(gap)
}

/// A gap as a share of the idle time of a device.
fn share(numbers: &Numbers<'_>, gap: &Gap) -> Option<f64> {
    let gaps = &numbers.profile.timeline_analysis.as_ref()?.gaps;
    let of_device = gaps.total_gap_time_us / numbers.context.analysis.devices.used.len().max(1) as f64;
    (of_device > 0.0).then(|| gap.duration_us / of_device)
}

/// How long the gap is that is most of the idle time, when it begins and between which ops, as a sentence with a blank before it;
/// empty where no gap is.
pub(super) fn sentence(numbers: &Numbers<'_>) -> String {
    let Some((gap, share)) = dominant(numbers).and_then(|gap| Some((gap, share(numbers, gap)?))) else {
        return String::new();
    };
    let of = if numbers.context.analysis.devices.used.len() > 1 {
        format!("the idle time of {}", shown(&gap.device_name))
    } else {
        "the idle time".to_owned()
    };
    format!(
        " One gap of {} is {} of {of}: it begins {} after the start of the capture and {}.",
        format::time_us(gap.duration_us),
        format::percent((100.0 * share).min(100.0)),
        format::time_us(gap.start_us),
        place(gap)
    )
}

/// Between which ops a gap is; one at an edge of the window has an op on one side, or none.
pub(super) fn place(gap: &Gap) -> String {
    match (gap.after.as_str(), gap.before.as_str()) {
        ("", "") => "has no op on either side".to_owned(),
        ("", before) => format!("comes before {}", shown(before)),
        (after, "") => format!("comes after {}", shown(after)),
        (after, before) => format!("lies between {} and {}", shown(after), shown(before)),
    }
}

impl Draft {
    /// Where the idle time is: the gap that is most of it, else the parts of the steps.
    pub(super) fn link_to_idle(self, numbers: &Numbers<'_>) -> Draft {
        match dominant(numbers) {
            Some(gap) => self
                .evidence("longest_gap_us", gap.duration_us)
                .evidence("longest_gap_start_us", gap.start_us)
                .link("devices", ""),
            None => self.link("steps", ""),
        }
    }
}
