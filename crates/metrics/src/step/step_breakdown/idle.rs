//! Finds the causes of a device's idle time.
//!
//! A gap is the time between the end of one op and the start of the next, over all streams of a device. The cause of a
//! gap follows from the time when the next op was launched:
//!
//! ```text
//! device   [op 1     )                       [op 2   )        launched late: the host delayed it
//! host        [compile       )  [launch 2)
//! cause               CCCCCCCHHHHHHHHHHHHHHHH                 compile, then host_bound
//!
//! device   [op 1     )  [op 2   )                             launched in time: kernel_wait if short, otherwise other
//! host      [launch 2)
//!
//! device   [op 1     )                       [op 2   )        launched late, then delayed by something else
//! host           [launch 2)
//! cause               HHHHHOOOOOOOOOOOOOOOOOO                 host_bound until the call ends, then other
//! ```
//!
//! Compilation and input explain idle time only before the launch, because later work of the host cannot have delayed
//! the op. If the trace lacks the launch, compilation and input explain the time that they cover, and the remaining
//! time is assigned to `other`. Causes that the device itself records (waits for other devices) take precedence.

use super::launch_times::{DeviceLaunches, Launch};
use crate::device::devices::{Device, Devices};
use crate::host::host_threads::{HostRole, HostTime};
use crate::step::step_part::{Parts, StepPart};
use base::Ps;
use trace::{Interval, IntervalSet, LineKind, Trace};

/// Maximum length of a gap that is treated as the cost of switching ops, if the next op was launched in time. Longer gaps have
/// a cause that the trace does not record, such as an event of another stream.
pub(super) const LONGEST_KERNEL_WAIT: Ps = Ps::new(10_000_000);

/// If an op was launched late, the time from its call to its start is due to the launch up to this limit. If the time is
/// longer, the op waited for something else, such as work of another stream.
const LONGEST_START: Ps = Ps::new(1_000_000_000);

/// Events of a TPU's `XLA TraceMe` line during which a program waits for the other chips or for its inputs before it
/// runs.
const BARRIERS: [&str; 2] = ["barrier-cores", "dependency-wait"];

/// Times that explain why a device is idle. The times of different causes do not overlap.
#[derive(Debug, Default)]
pub(super) struct Causes {
    barrier: IntervalSet,
    compile: IntervalSet,
    input: IntervalSet,
}

impl Causes {
    /// Finds the causes for `device`. `host` contains the activities of the device's host.
    pub(super) fn new(trace: &Trace, devices: &Devices, device: &Device, host: Option<&HostTime>) -> Causes {
        let barrier = barriers(trace, devices, device);
        let compile =
            host.and_then(|host| host.role(HostRole::Compile)).map(|set| device.set_from_host(set)).unwrap_or_default();
        let input = host.map(|host| device.set_from_host(&host.held_by_input)).unwrap_or_default();
        Causes {
            input: input.difference(&compile).difference(&barrier),
            compile: compile.difference(&barrier),
            barrier,
        }
    }

    /// Returns true if no gap can have one of these causes.
    pub(super) fn is_empty(&self) -> bool {
        self.barrier.is_empty() && self.compile.is_empty() && self.input.is_empty()
    }

    /// Adds the causes of the part of `gap` that is inside `window`.
    pub(super) fn add(&self, parts: &mut Parts, gap: Interval, launch: Launch, window: Interval) {
        let Some(inside) = gap.clip(window) else { return };
        let unlaunched = match launch {
            Launch::Unknown => inside,
            Launch::At(call) if call.start > gap.start => Interval::new(inside.start, inside.end.min(call.start)),
            Launch::At(_) | Launch::Before => Interval::new(inside.start, inside.start),
        };
        let rest = match launch {
            Launch::Unknown => StepPart::OtherIdle,
            Launch::At(call) if call.start > gap.start => StepPart::HostBound,
            _ if gap.length() <= LONGEST_KERNEL_WAIT => StepPart::KernelWait,
            _ => StepPart::OtherIdle,
        };
        let mut left = inside.length();
        for (part, set, of) in [
            (StepPart::Barrier, &self.barrier, inside),
            (StepPart::Compile, &self.compile, unlaunched),
            (StepPart::InputBound, &self.input, unlaunched),
        ] {
            if set.is_empty() {
                continue;
            }
            let time = set.length_within(of);
            parts.add(part, time);
            left = left - time;
        }
        let delayed = delayed(gap, launch).and_then(|part| part.clip(inside)).map_or(Ps::ZERO, |part| {
            let barrier = self.barrier.length_within(part);
            part.length() - barrier
        });
        parts.add(StepPart::OtherIdle, delayed);
        parts.add(rest, left - delayed);
    }
}

/// Returns the last part of a gap before an op that was launched late. During this part, the op did not start although
/// its call had ended long before.
fn delayed(gap: Interval, launch: Launch) -> Option<Interval> {
    let Launch::At(call) = launch else { return None };
    let is_late = call.start > gap.start;
    (is_late && gap.end - call.end > LONGEST_START).then(|| Interval::new(call.end, gap.end))
}

fn barriers(trace: &Trace, devices: &Devices, device: &Device) -> IntervalSet {
    let lines = devices.by_line.lines_of(trace, device.plane);
    let marks = lines.filter(|(_, line, _)| line.kind == LineKind::Other && trace.text(line.name) == "XLA TraceMe");
    let events = marks.flat_map(|(.., events)| events.iter()).filter_map(|id| trace.events.get(id));
    IntervalSet::union_of(
        events
            .filter(|event| BARRIERS.contains(&trace.text(event.name)))
            .map(|event| Interval::new(event.start, event.end())),
    )
}

/// The gaps of a device, with the launch that ended each gap. Callers must process windows in the order of their
/// starts.
pub(super) struct Gaps<'a> {
    busy: &'a [Interval],
    launches: DeviceLaunches<'a>,
    causes: Causes,
    /// True if the cause of every gap is unknown.
    unexplained: bool,
    /// The first busy interval that ends after the last window's start.
    next: usize,
    /// The launch of the last requested gap. Two windows may share a gap.
    last: Option<(Interval, Launch)>,
}

impl<'a> Gaps<'a> {
    pub(super) fn new(device: &'a Device, launches: DeviceLaunches<'a>, causes: Causes) -> Gaps<'a> {
        let unexplained = launches.is_empty() && causes.is_empty();
        Gaps { busy: device.busy.parts(), launches, causes, unexplained, next: 0, last: None }
    }

    /// Adds the causes of all idle time inside `window`. `idle` is the length of this idle time.
    pub(super) fn add(&mut self, parts: &mut Parts, window: Interval, idle: Ps) {
        if self.unexplained || idle == Ps::ZERO {
            parts.add(StepPart::OtherIdle, idle);
            return;
        }
        while self.busy.get(self.next).is_some_and(|part| part.end <= window.start) {
            self.next += 1;
        }
        let mut at = self.next;
        loop {
            let before = at.checked_sub(1).and_then(|before| self.busy.get(before));
            let after = self.busy.get(at);
            let gap = Interval::new(
                before.map_or(Ps::new(i64::MIN), |part| part.end),
                after.map_or(Ps::MAX, |part| part.start),
            );
            if gap.start >= window.end {
                return;
            }
            self.add_gap(parts, gap, window);
            if after.is_none() {
                return;
            }
            at += 1;
        }
    }

    /// Adds the causes of one gap. The code is a separate function because there may be millions of gaps: see
    /// [`in_blocks`](trace::in_blocks).
    #[inline(never)]
    fn add_gap(&mut self, parts: &mut Parts, gap: Interval, window: Interval) {
        if gap.clip(window).is_some() {
            let launch = self.launch(gap);
            self.causes.add(parts, gap, launch, window);
        }
    }

    /// Returns the launch that ended a gap. No launch ended the gap after the last op.
    fn launch(&mut self, gap: Interval) -> Launch {
        if gap.end == Ps::MAX {
            return Launch::Unknown;
        }
        match self.last {
            Some((last, launch)) if last == gap => launch,
            _ => {
                let launch = self.launches.after(gap);
                self.last = Some((gap, launch));
                launch
            }
        }
    }
}
