//! Checks that rules about waiting devices share: whether devices wait at all, and whether the capture contains the
//! reason.

use super::Verdict;
use super::draft::lacks;
use super::numbers::{Numbers, Window};
use metrics::StepPart;

/// Returns the window, and the share of it during which devices are idle for the reason that `part` names, in percent.
///
/// # Errors
///
/// Returns a verdict if devices are idle for less than `least_percent`, or if too few ops ran. Returns `lacking` if the
/// capture does not contain the reason.
pub(super) fn idle_share(
    numbers: &Numbers<'_>,
    part: StepPart,
    least_percent: f64,
    lacking: Verdict,
) -> Result<(Window, f64), Verdict> {
    let Some(window) = numbers.window_of_parts() else {
        return Err(lacks("too few device ops ran to measure why devices wait. Capture several steps."));
    };
    if window.idle_percent() < least_percent {
        return Err(Verdict::Fine);
    }
    let share = numbers.part_percent(part).ok_or(lacking)?;
    Ok((window, share))
}

/// Returns the time that host threads spend on preparing input, and on transferring it to the devices, in microseconds.
///
/// # Errors
///
/// Returns a verdict if devices do not wait for input, or if the capture lacks the events to measure it.
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
