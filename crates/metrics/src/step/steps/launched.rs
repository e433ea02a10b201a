//! Assigns device work to the step in which the host launched it, regardless of when a device runs it.
//!
//! A device runs behind its host, so the work of step 4 may still be running when the host annotates step 5:
//!
//! ```text
//! host     [train 4      ][train 5      ][train 6      ]
//!           L L L          L L L          L L L              launches
//! stream 1             [4 )[4 )[5 )[5 )[6 )[6 )              the stream that does most of the work
//! stream 2   [copy 4)     [copy 5)      [copy 6)             runs ahead of it
//! step                 4-------5-------6------
//! ```
//!
//! A step begins on a device with its first op. That op may run ahead while ops of earlier steps are still running, as
//! a copy does before the computation. The step then begins with its first op on the line that does most of the work,
//! because ops of one line run in the order of their launches.
//!
//! If the first ops on a line have no known launch, these ops were launched before the capture, and belong to no step.
//! Other ops without a launch belong to the step in whose window they start.

use super::{Mark, StepWindow, align::Aligned, graphs::Graphs};
use crate::device::devices::{Device, Devices};
use base::Ps;
use trace::{EventId, Interval, Trace, in_blocks};

/// The ops that the host launched in one step.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Launched {
    /// Number of ops.
    pub ops: u64,
    /// Time during which at least one of the ops runs.
    pub work: Ps,
    /// Start of the first op on the device's clock. Ignores ops that run ahead while earlier steps are still running.
    /// Meaningless if there are no ops.
    pub first: Ps,
    /// End of the last op.
    pub last: Ps,
    /// Number of graphs (CUDA, HIP) that the host launched.
    pub graph_launches: u32,
    /// Number of the ops that these graphs started.
    pub graph_ops: u32,
}

impl Launched {
    /// Adds an op. Callers add ops in the order of their starts.
    fn add(&mut self, op: Interval) {
        if self.ops == 0 {
            (self.first, self.last) = (op.start, op.start);
        }
        self.ops += 1;
        self.work += (op.end - op.start.max(self.last)).max(Ps::ZERO);
        self.last = self.last.max(op.end);
    }
}

/// For each event of a device, the step in which the host launched it.
#[derive(Debug)]
pub(super) struct Owners {
    /// For each event, the step plus one, or 0 for no step.
    step_of: Vec<u32>,
}

impl Owners {
    pub(super) fn new(trace: &Trace) -> Owners {
        Owners { step_of: vec![0; trace.events.len()] }
    }

    pub(super) fn set(&mut self, id: EventId, step: u32) {
        if let Some(slot) = self.step_of.get_mut(id.get() as usize) {
            *slot = step.saturating_add(1);
        }
    }

    fn step(&self, id: EventId) -> Option<usize> {
        self.step_of.get(id.get() as usize)?.checked_sub(1).map(|step| step as usize)
    }

    /// Returns the marks of every device in use. `None` if fewer than half of the `count` steps have an op.
    pub(super) fn marks(&self, trace: &Trace, devices: &Devices, count: usize) -> Option<Aligned> {
        let marks: Aligned = devices.used.iter().map(|device| self.marks_of(trace, device, count)).collect();
        let tied =
            (0..count).filter(|&step| marks.iter().any(|row| row.get(step).is_some_and(Option::is_some))).count();
        (tied > 0 && tied * 2 >= count).then_some(marks)
    }

    fn marks_of(&self, trace: &Trace, device: &Device, count: usize) -> Vec<Option<Mark>> {
        let mut time_of_line = vec![Ps::ZERO; trace.lines.len()];
        self.for_each(trace, device, |_, line, op| {
            if let Some(time) = time_of_line.get_mut(line) {
                *time += op.length();
            }
        });
        let first_on_line = self.first_on_lines(trace, device);
        // If several lines have the same time, the first is used.
        let lines = time_of_line.iter().enumerate().rev();
        let main = lines.max_by_key(|(_, time)| **time).map_or(0, |(line, _)| line);
        let mut steps: Vec<(Launched, Option<Ps>)> = vec![Default::default(); count];
        self.for_each(trace, device, |step, line, op| {
            let Some((launched, on_main)) = steps.get_mut(step) else { return };
            launched.add(op);
            if line == main {
                on_main.get_or_insert(op.start);
            }
        });
        let mut ended = self.ended_before(trace, device, &first_on_line);
        let mut mark = |(launched, on_main): (Launched, Option<Ps>)| {
            if launched.ops == 0 {
                return None;
            }
            let start = if launched.first >= ended { launched.first } else { on_main.unwrap_or(launched.first) };
            ended = ended.max(launched.last);
            Some(Mark { interval: Interval::new(start, launched.last.max(start)), key: None })
        };
        steps.into_iter().map(&mut mark).collect()
    }

    /// Returns, for each line, the start of the first op that belongs to a step. For a line without such ops, returns
    /// `i64::MIN`, because it is unknown which ops of the line were launched before the capture.
    fn first_on_lines(&self, trace: &Trace, device: &Device) -> Vec<Ps> {
        let mut first = vec![Ps::new(i64::MIN); trace.lines.len()];
        self.for_each(trace, device, |_, line, op| {
            if let Some(slot) = first.get_mut(line).filter(|slot| **slot == Ps::new(i64::MIN)) {
                *slot = op.start;
            }
        });
        first
    }

    /// Returns the end of the ops that were launched before the capture.
    fn ended_before(&self, trace: &Trace, device: &Device, first_on_line: &[Ps]) -> Ps {
        let mut ended = Ps::new(i64::MIN);
        in_blocks(&device.ops, |&id| {
            let Some(event) = trace.events.get(id).filter(|_| self.step(id).is_none()) else { return };
            if first_on_line.get(event.line.index()).is_some_and(|&first| event.start < first) {
                ended = ended.max(event.end());
            }
        });
        ended
    }

    /// Calls `visit` with the step, line and time of every op of `device` that belongs to a step, in the order in which
    /// the ops start.
    fn for_each(&self, trace: &Trace, device: &Device, mut visit: impl FnMut(usize, usize, Interval)) {
        in_blocks(&device.ops, |&id| {
            let Some(step) = self.step(id) else { return };
            if let Some(event) = trace.events.get(id) {
                visit(step, event.line.index(), Interval::new(event.start, event.end()));
            }
        });
    }

    /// Sets the launched ops in the windows of a device. `marks` come from [`Owners::marks`]. Returns the number of ops
    /// that were assigned to a step only by their time.
    pub(super) fn note(
        &self,
        trace: &Trace,
        device: &Device,
        graphs: &Graphs,
        marks: &[Option<Mark>],
        windows: &mut [Option<StepWindow>],
    ) -> u64 {
        let mut launched = vec![Launched::default(); windows.len()];
        let first_on_line = self.first_on_lines(trace, device);
        let mut by_start: Vec<(Interval, usize)> =
            windows.iter().zip(0usize..).filter_map(|(window, step)| Some(((*window)?.interval, step))).collect();
        base::sort::sort_by_key(&mut by_start, |(window, _)| *window);
        let (mut next, mut by_time) = (0, 0);
        let mut graphs = graphs.of_device(trace, device);
        in_blocks(&device.ops, |&id| {
            let Some(event) = trace.events.get(id) else { return };
            let start = event.start;
            while by_start.get(next).is_some_and(|(window, _)| window.end <= start) {
                next += 1;
            }
            let step = self.step(id).or_else(|| {
                let is_later = first_on_line.get(event.line.index()).is_some_and(|&first| start >= first);
                let (_, step) = by_start.get(next).filter(|(window, _)| is_later && window.start <= start)?;
                by_time += 1;
                Some(*step)
            });
            if let Some(launched) = step.and_then(|step| launched.get_mut(step)) {
                launched.add(Interval::new(start, event.end()));
                if let Some(is_first) = graphs.first_of_launch(id, &event) {
                    launched.graph_ops = launched.graph_ops.saturating_add(1);
                    launched.graph_launches = launched.graph_launches.saturating_add(u32::from(is_first));
                }
            }
        });
        for ((window, mut launched), mark) in windows.iter_mut().zip(launched).zip(marks) {
            launched.first = mark.map_or(launched.first, |mark| mark.interval.start);
            if let Some(window) = window {
                window.launched = Some(launched);
            }
        }
        by_time
    }
}
