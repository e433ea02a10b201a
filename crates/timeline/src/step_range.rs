//! When a step is, and which step stands for all.

use metrics::{Context, Device};
use trace::Interval;

/// From the first start of the step with this index on any device to its last end; none where no device ran it.
pub fn step_range(context: Context<'_>, step: usize) -> Option<Interval> {
    let windows = context.analysis.steps.windows.iter();
    let windows = windows.filter_map(|windows| windows.get(step).copied().flatten()).map(|window| window.interval);
    windows.reduce(|a, b| Interval::new(a.start.min(b.start), a.end.max(b.end)))
}

/// The first device that is at least half as busy as the busiest in the step with this index, and when the step is on
/// it: the same device in runs of one program. `None` where no device ran the step.
pub(crate) fn busy_device(context: Context<'_>, step: usize) -> Option<(&Device, Interval)> {
    let devices = context.analysis.captured.used.iter().zip(&context.analysis.steps.windows);
    let ran = devices.filter_map(|(device, windows)| Some((device, windows.get(step).copied()??.interval)));
    let ran: Vec<_> = ran.map(|(device, time)| (device, time, device.busy.length_within(time).as_ps())).collect();
    let busiest = ran.iter().map(|(_, _, busy)| *busy).max()?;
    let first = ran.into_iter().find(|(_, time, busy)| *busy >= busiest / 2 && time.length() > base::Ps::ZERO);
    first.map(|(device, time, _)| (device, time))
}

/// The index of the step that stands for all: of the counted ones that with the median duration, of two such the shorter one.
pub fn median_step(context: Context<'_>) -> Option<usize> {
    let counted = context.profile.steps.iter().filter(|step| step.counted);
    let mut steps: Vec<(f64, u64)> = counted.map(|step| (step.duration_us, step.index)).collect();
    base::sort::sort_by(&mut steps, |a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    let (_, index) = steps.get(steps.len().checked_sub(1)? / 2)?;
    usize::try_from(*index).ok()
}
