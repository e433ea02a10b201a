//! Time range of a step, and the choice of a representative step.

use metrics::{Context, Device};
use trace::Interval;

/// Returns the time from the first start of a step on any device to the last end of the step on any device. Returns `None`
/// if no device ran the step.
pub fn step_range(context: Context<'_>, step: usize) -> Option<Interval> {
    let windows = context.analysis.steps.windows.iter();
    let windows = windows.filter_map(|windows| windows.get(step).copied().flatten()).map(|window| window.interval);
    windows.reduce(|a, b| Interval::new(a.start.min(b.start), a.end.max(b.end)))
}

/// Returns the first device that is at least half as busy during the step as the busiest device, and the time range of
/// the step on that device. This rule selects the same device in different runs of a program. Returns `None` if no
/// device ran the step.
pub(crate) fn busy_device(context: Context<'_>, step: usize) -> Option<(&Device, Interval)> {
    let devices = context.analysis.captured.used.iter().zip(&context.analysis.steps.windows);
    let ran = devices.filter_map(|(device, windows)| Some((device, windows.get(step).copied()??.interval)));
    let ran: Vec<_> = ran.map(|(device, time)| (device, time, device.busy.length_within(time).as_ps())).collect();
    let busiest = ran.iter().map(|(_, _, busy)| *busy).max()?;
    let first = ran.into_iter().find(|(_, time, busy)| *busy >= busiest / 2 && time.length() > base::Ps::ZERO);
    first.map(|(device, time, _)| (device, time))
}

/// Returns the index of the counted step with the median duration. If two steps are in the middle, returns the shorter
/// step.
pub fn median_step(context: Context<'_>) -> Option<usize> {
    let counted = context.profile.steps.iter().filter(|step| step.counted);
    let mut steps: Vec<(f64, u64)> = counted.map(|step| (step.duration_us, step.index)).collect();
    base::sort::sort_by(&mut steps, |a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    let (_, index) = steps.get(steps.len().checked_sub(1)? / 2)?;
    usize::try_from(*index).ok()
}
