//! Warns about device clocks if the times of events differ widely from the times on the chips' own clocks.

use crate::device::devices::{Device, Devices};
use base::{Ps, Warning, WarningCode, format};
use trace::ChipClock;

/// Minimum difference between the two times that is reported. We chose this limit because smaller differences are
/// shorter than a step.
const WARPED: Ps = Ps::new(1_000_000_000);

/// Returns the warnings about the clocks of the devices in use.
pub(crate) fn warnings(devices: &Devices) -> Vec<Warning> {
    let clocks: Vec<(&Device, ChipClock)> =
        devices.used.iter().filter_map(|device| Some((device, device.clock?))).collect();
    let mut warnings = Vec::new();
    let warped: Vec<&(&Device, ChipClock)> = clocks.iter().filter(|(_, clock)| clock.off_max >= WARPED).collect();
    if let Some((worst, clock)) = warped.iter().max_by_key(|(_, clock)| clock.off_max) {
        let time = |time: Ps| format::time_us(time.as_us());
        let placed = clocks.iter().map(|(_, clock)| clock.uncertainty).max().unwrap_or_default();
        let message = format!(
            "The event times of {} of {} {} differ from the chips' own clocks by up to {} (95th percentile {}, both \
             on {}): the profiler realigned them with the host's clock during the capture. Device times in this \
             report come from the chips' own clocks, aligned with the host's clock to within {}. Other tools may show \
             the event times.",
            warped.len(),
            devices.used.len(),
            if devices.used.len() == 1 { "device" } else { "devices" },
            time(clock.off_max),
            time(clock.off_p95),
            worst.name,
            time(placed),
        );
        let affected = clocks.iter().filter(|(_, clock)| clock.off_max >= WARPED).map(|(_, clock)| clock.events).sum();
        warnings.push(Warning::new(WarningCode::EventTimesWarped, message).with_count(affected));
    }
    let refused: u64 = clocks.iter().map(|(_, clock)| clock.refused).sum();
    if refused > 0 {
        let message = format!(
            "{refused} event(s) have chip clock times that do not follow the earlier ones: the clock was reset, or \
             the values are damaged. Their event times, which the profiler aligned with the host's clock, are used \
             instead."
        );
        warnings.push(
            Warning::new(WarningCode::ChipClockBroken, message)
                .with_remedy("Capture again. Across the break, compare only durations.")
                .with_count(refused),
        );
    }
    warnings
}
