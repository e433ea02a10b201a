//! The dominant gap: one gap that makes up most of the idle time. Findings describe this gap by its length and place,
//! not as a share of a step.

use super::draft::Draft;
use super::numbers::{Numbers, shown};
use base::format;
use report::{Gap, View};

/// A gap dominates if it takes more than this share of a device's idle time. Such a gap is longer than all other gaps
/// together.
const MOST: f64 = 0.5;

/// Returns the gap that makes up most of the idle time, if there is one.
pub(super) fn dominant<'a>(numbers: &Numbers<'a>) -> Option<&'a Gap> {
    let gap = numbers.profile.timeline_analysis.as_ref()?.longest_gaps.first()?;
    (share(numbers, gap)? > MOST).then_some(gap)
}

/// Returns a gap as a share of a device's idle time.
fn share(numbers: &Numbers<'_>, gap: &Gap) -> Option<f64> {
    let gaps = &numbers.profile.timeline_analysis.as_ref()?.gaps;
    let of_device = gaps.total_gap_time_us / numbers.context.analysis.devices.used.len().max(1) as f64;
    (of_device > 0.0).then(|| gap.duration_us / of_device)
}

/// Describes the dominant gap by its length, its start and the ops around it, as sentences that start with a space. Returns an
/// empty string if no gap dominates.
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
        " One gap of {} makes up {} of {of}. It begins {} after the start of the capture, {}.",
        format::time_us(gap.duration_us),
        format::percent((100.0 * share).min(100.0)),
        format::time_us(gap.start_us),
        place(gap)
    )
}

/// Names the ops around a gap. A gap at an edge of the window has an op on one side only, or on neither side.
pub(super) fn place(gap: &Gap) -> String {
    match (gap.after.as_str(), gap.before.as_str()) {
        ("", "") => "with no op on either side".to_owned(),
        ("", before) => format!("before {}", shown(before)),
        (after, "") => format!("after {}", shown(after)),
        (after, before) => format!("between {} and {}", shown(after), shown(before)),
    }
}

impl Draft {
    /// Links to the Devices page if one gap dominates the idle time, else to the Steps page.
    pub(super) fn link_to_idle(self, numbers: &Numbers<'_>) -> Draft {
        match dominant(numbers) {
            Some(gap) => self
                .evidence("longest_gap_us", gap.duration_us)
                .evidence("longest_gap_start_us", gap.start_us)
                .link(View::Devices, ""),
            None => self.link(View::Steps, ""),
        }
    }
}
