//! From marks to windows: a step lasts until the next one starts.

use super::Mark;
use super::launched::Launched;
use super::measure::ops_starting_in;
use crate::devices::Device;
use base::Ps;
use trace::{Interval, Trace};

/// The time of one step on one device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StepWindow {
    /// From the start of the step to the next step's start.
    pub interval: Interval,
    /// True if nothing shows where the step ends: it lasts to the end of its own mark, and its true length is unknown.
    pub open: bool,
    /// What the host launched in the step, whenever it ran; absent where nothing ties device work to launches.
    pub launched: Option<Launched>,
    /// The step's annotation on the host, by the device's clock.
    pub annotation: Option<Interval>,
}

impl StepWindow {
    /// A window that nothing but time ties to the device.
    pub fn new(interval: Interval, open: bool) -> StepWindow {
        StepWindow { interval, open, launched: None, annotation: None }
    }

    /// Number of ops of the step: those that the host launched in it, else those that start in it.
    pub fn num_ops(&self, trace: &Trace, device: &Device) -> u64 {
        self.launched.map_or_else(|| ops_starting_in(trace, device, self.interval), |launched| launched.ops)
    }

    /// Time in which at least one op of the step runs: of those that the host launched in it, else of those in its window.
    pub fn device_work(&self, device: &Device) -> Ps {
        self.launched.map_or_else(|| device.busy.length_within(self.interval), |launched| launched.work)
    }

    /// How far the device runs behind the host: from the start of the annotation to the first op that was launched in it, without those that run
    /// ahead while earlier steps still run; absent where either is unknown, and where the clocks
    /// of host and device contradict each other.
    pub fn lag(&self) -> Option<Ps> {
        let (launched, annotation) = (self.launched.filter(|it| it.ops > 0)?, self.annotation?);
        Some(launched.first - annotation.start).filter(|&lag| lag >= Ps::ZERO)
    }
}

/// Windows of one device's marks (`marks[step]`). A step whose successor is missing on this device, or does not start
/// after it, stays open.
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
        // A successor that starts earlier cannot end a step.
        assert_eq!(start_to_start(&[mark(5, 8), mark(5, 9)])[0], window(5, 8, true));
    }
}
