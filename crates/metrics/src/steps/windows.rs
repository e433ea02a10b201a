//! From marks to windows: a step lasts until the next one starts.

use super::Mark;
use trace::Interval;

/// The time of one step on one device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StepWindow {
    /// From the start of the step to the next step's start.
    pub interval: Interval,
    /// Whether no next step ended this one: it lasts to the end of its own mark, and its true length is unknown.
    pub open: bool,
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
            Some(next) => StepWindow { interval: Interval::new(start, next), open: false },
            None => StepWindow { interval: mark.interval, open: true },
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
        let window = |start, end, open| Some(StepWindow { interval: interval(start, end), open });
        assert_eq!(
            start_to_start(&[mark(0, 5), mark(10, 15), None, mark(30, 35)]),
            [window(0, 10, false), window(10, 15, true), None, window(30, 35, true)]
        );
        // A successor that starts earlier cannot end a step.
        assert_eq!(start_to_start(&[mark(5, 8), mark(5, 9)])[0], window(5, 8, true));
    }
}
