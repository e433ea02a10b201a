//! What rules about waiting devices ask first: whether devices wait at all, and whether the capture says what for.

use super::Verdict;
use super::draft::lacks;
use super::numbers::{Numbers, Window};
use metrics::StepPart;

/// The window, and the share of it in which devices are idle for the reason that `part` names, in percent.
///
/// # Errors
///
/// The verdict where devices are idle for less than `least_percent`, too little ran, or the capture does not say why they are,
/// for which the verdict is `lacking`.
pub(super) fn idle_share(
    numbers: &Numbers<'_>,
    part: StepPart,
    least_percent: f64,
    lacking: Verdict,
) -> Result<(Window, f64), Verdict> {
    let Some(window) = numbers.window_of_parts() else {
        return Err(lacks("too few device ops ran to measure what the devices wait for. Capture several steps."));
    };
    if window.idle_percent() < least_percent {
        return Err(Verdict::Fine);
    }
    let share = numbers.part_percent(part).ok_or(lacking)?;
    Ok((window, share))
}

/// Time that host threads spend on making input and on handing it to the devices, in microseconds, where devices wait for input.
///
/// # Errors
///
/// The verdict where devices do not wait for input, or the capture does not say.
pub(super) fn input_times_us(numbers: &Numbers<'_>) -> Result<(f64, f64), Verdict> {
    let Some(waits) = numbers.input_wait_percent() else {
        return Err(lacks(
            "too few device ops ran to measure whether the devices wait for input. Capture several \
            steps.",
        ));
    };
    if !waits.bound() {
        return Err(Verdict::Fine);
    }
    numbers.input_time_us().ok_or_else(|| numbers.lacks_host_events())
}
