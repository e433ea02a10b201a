//! Converts marks to windows: a step lasts until the next step starts.

use super::Mark;
use super::launched::Launched;
use super::measure::ops_starting_in;
use crate::device::devices::Device;
use base::{Ps, sort};
use trace::{Interval, Trace};

/// The time of one step on one device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StepWindow {
    /// Time from the start of the step to the next step's start.
    pub interval: Interval,
    /// True if the end of the step is unknown. The interval then ends with the step's own mark.
    pub open: bool,
    /// Ops that the host launched in the step, regardless of when they ran. `None` if device work cannot be connected
    /// with launches.
    pub launched: Option<Launched>,
    /// The step's annotation on the host, on the device's clock.
    pub annotation: Option<Interval>,
}

impl StepWindow {
    /// Creates a window whose ops are known only by their times.
    pub fn new(interval: Interval, open: bool) -> StepWindow {
        StepWindow { interval, open, launched: None, annotation: None }
    }

    /// Returns the number of ops of the step: the ops that the host launched in it or, if launches are unknown, the ops
    /// that start in it.
    pub fn num_ops(&self, trace: &Trace, device: &Device) -> u64 {
        self.launched.map_or_else(|| ops_starting_in(trace, device, self.interval), |launched| launched.ops)
    }

    /// Returns the time during which at least one op of the step runs. Uses the ops that the host launched in the step or, if
    /// launches are unknown, the ops in its window.
    pub fn device_work(&self, device: &Device) -> Ps {
        self.launched.map_or_else(|| device.busy.length_within(self.interval), |launched| launched.work)
    }

    /// Returns the time by which the device runs behind the host: from the start of the annotation to the first op that
    /// was launched in the step. Ignores ops that run ahead while earlier steps are still running. Returns `None` if
    /// the annotation or the launches are unknown, or if the host and device clocks disagree.
    pub fn lag(&self) -> Option<Ps> {
        let (launched, annotation) = (self.launched.filter(|it| it.ops > 0)?, self.annotation?);
        Some(launched.first - annotation.start).filter(|&lag| lag >= Ps::ZERO)
    }
}

/// The windows of one device, sorted by their starts.
#[derive(Clone, Debug, Default)]
pub struct SortedWindows(Vec<(Interval, u32)>);

impl SortedWindows {
    /// Sorts the windows of a device: `windows[step]`.
    pub fn new(windows: &[Option<StepWindow>]) -> SortedWindows {
        let mut sorted: Vec<(Interval, u32)> =
            windows.iter().zip(0u32..).filter_map(|(window, step)| Some((window.as_ref()?.interval, step))).collect();
        sort::sort_by_key(&mut sorted, |(interval, step)| (interval.start, *step));
        SortedWindows(sorted)
    }

    /// Returns the step whose window contains `time`.
    pub fn at(&self, time: Ps) -> Option<u32> {
        let later = self.0.partition_point(|(interval, _)| interval.start <= time);
        let (interval, step) = self.0.get(later.checked_sub(1)?)?;
        (time < interval.end).then_some(*step)
    }
}

/// Returns the windows of one device's marks (`marks[step]`). If the next step is missing on this device, or does not
/// start later, the window stays open.
///
/// ```text
/// marks    [==0==]     [==1==]            [==3==]
/// windows  [----0-----)[--1--)            [--3--)
///            closed      open (2 missing)   open (last)
/// ```
pub(super) fn start_to_start(marks: &[Option<Mark>]) -> Vec<Option<StepWindow>> {
    let window = |step: usize| {
        let mark = marks.get(step).copied().flatten()?;
        let start = mark.interval.start;
        let next = marks.get(step + 1).copied().flatten().map(|next| next.interval.start);
        Some(match next.filter(|&next| next > start) {
            Some(next) => StepWindow::new(Interval::new(start, next), false),
            None => StepWindow::new(mark.interval, true),
        })
    };
    (0..marks.len()).map(window).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::Ps;

    #[test]
    fn a_step_lasts_until_the_next_start() {
        let interval = |start, end| Interval::new(Ps::new(start), Ps::new(end));
        let mark = |start, end| Some(Mark { interval: interval(start, end), key: None });
        let window = |start, end, open| Some(StepWindow::new(interval(start, end), open));
        assert_eq!(
            start_to_start(&[mark(0, 5), mark(10, 15), None, mark(30, 35)]),
            [window(0, 10, false), window(10, 15, true), None, window(30, 35, true)]
        );
        let sorted = SortedWindows::new(&[window(10, 15, true), None, window(0, 10, false)]);
        assert_eq!(
            [-1, 0, 9, 10, 14, 15].map(|at| sorted.at(Ps::new(at))),
            [None, Some(2), Some(2), Some(0), Some(0), None]
        );
        // A next step that starts earlier cannot end a step.
        assert_eq!(start_to_start(&[mark(5, 8), mark(5, 9)])[0], window(5, 8, true));
    }
}
