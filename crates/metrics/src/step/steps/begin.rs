//! Finds the start of a step on a device. The start is the time when the device begins to wait for the step, not the
//! start of its first op.
//!
//! The device waits between the last op of one step and the first op of the next. After the host has begun the next
//! step, the device waits for the dispatch, the input or the compilation of that step. A step therefore begins when the
//! host begins it, but never before the end of the previous step's last op and never after the start of its own first
//! op:
//!
//! ```text
//! host     [train 4)[train 5: compile           )[train 6)
//! device      [=4=)                         [=5=)   [=6=)
//! step      4------' 5---------------------------' 6------
//!
//! host     [train 0)[train 1)[train 2)                        runs ahead of the device
//! device      [=====0=====)[=====1=====)[=====2=====)
//! step      0--------------1------------2------------
//! ```
//!
//! If no annotation shows when the host began a step, the step begins with the call that compiled while the device
//! waited.

use std::collections::BTreeMap;

use super::Mark;
use crate::device::devices::{Device, Devices, interval};
use crate::host::host_work::{HostWork, for_each_named_on};
use base::Ps;
use facts::host_spans;
use trace::{Interval, IntervalSet, Trace};

/// Moves the starts of one device's marks to the times when its host begins the steps (`annotated`, one entry per
/// step). If earlier work is still running when the annotation of the first step begins, the step begins after that
/// work.
///
/// If the next annotation begins while the device still waits for the step, another thread feeds the device, and the
/// next annotation is not used.
pub(super) fn with_annotations(marks: &mut [Option<Mark>], annotated: &[Option<Mark>], busy: &IntervalSet) {
    let begins: Vec<Option<Ps>> = annotated.iter().map(|mark| mark.map(|mark| mark.interval.start)).collect();
    for_each_wait(marks, |step, ended, first| {
        let waits_from =
            ended.or_else(|| ended_before(busy, first)).map_or(Ps::new(i64::MIN), |ended| ended.min(first));
        let begin = begins.get(step).copied().flatten()?.max(waits_from);
        let next = begins.iter().skip(step + 1).flatten().next();
        (begin <= first && next.is_none_or(|&next| next <= begin || next >= first)).then_some(begin)
    });
}

/// Moves the start of each mark of a device back to the first call that compiled while the device ran nothing before
/// the mark. `busy` contains the device's busy times, and `calls` must be sorted by time. The first step is unchanged,
/// because the trace does not show when it began.
pub(super) fn with_compilation(marks: &mut [Option<Mark>], calls: &[Compiled], busy: &IntervalSet) {
    for_each_wait(marks, |_, ended, first| {
        let waits_from = ended?.max(ended_before(busy, first)?);
        let next = calls.partition_point(|call| call.compiling.end <= waits_from);
        let call = calls.get(next).filter(|call| call.compiling.end <= first)?;
        Some(call.begins.max(waits_from))
    });
}

/// Returns the end of the device's last op before `time`.
fn ended_before(busy: &IntervalSet, time: Ps) -> Option<Ps> {
    let before = busy.parts().partition_point(|part| part.start < time);
    before.checked_sub(1).and_then(|last| busy.parts().get(last)).map(|part| part.end)
}

/// Calls `begin` for every mark, with the end of all earlier marks and the start of this mark. Moves the start of the
/// mark to the time that `begin` returns, unless that time is later.
fn for_each_wait(marks: &mut [Option<Mark>], begin: impl Fn(usize, Option<Ps>, Ps) -> Option<Ps>) {
    let mut ended: Option<Ps> = None;
    for (step, slot) in marks.iter_mut().enumerate() {
        let Some(mark) = slot else { continue };
        let (first, last) = (mark.interval.start, mark.interval.end);
        if let Some(begin) = begin(step, ended, first).filter(|&begin| begin < first) {
            mark.interval = Interval::new(begin, last);
        }
        ended = Some(ended.map_or(last, |ended| ended.max(last)));
    }
}

/// A compilation, and the call that caused it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Compiled {
    /// Time during which XLA compiles the program.
    pub compiling: Interval,
    /// Start of the outermost launch (`PjitFunction(f)`) around the compilation, or of the compilation itself if there
    /// is no launch.
    pub begins: Ps,
}

impl Compiled {
    pub(super) fn on_device(self, device: &Device) -> Compiled {
        Compiled { compiling: device.interval_from_host(self.compiling), begins: device.time_from_host(self.begins) }
    }
}

/// Returns the compilations of each host on the host's clock, sorted by time.
pub(super) fn compilations(trace: &Trace, devices: &Devices) -> BTreeMap<u16, Vec<Compiled>> {
    let mut spans: BTreeMap<u16, Vec<Interval>> = BTreeMap::new();
    for_each_named_on(trace, devices, &|name| host_spans::is(HostWork::Compile, name), &mut |host, event| {
        spans.entry(host).or_default().push(interval(event));
    });
    let compiled = |span: &Interval| Compiled { compiling: *span, begins: span.start };
    let mut hosts: BTreeMap<u16, Vec<Compiled>> = BTreeMap::new();
    for (host, spans) in spans {
        hosts.insert(host, IntervalSet::union_of(spans).parts().iter().map(compiled).collect());
    }
    if hosts.is_empty() {
        return hosts;
    }
    for_each_named_on(trace, devices, &|name| host_spans::is(HostWork::Launch, name), &mut |host, event| {
        let Some(compiled) = hosts.get_mut(&host) else { return };
        // A call compiles the programs whose compilation begins inside the call. There are only a few compilations but many
        // calls.
        let first = compiled.partition_point(|it| it.compiling.start < event.start);
        for it in compiled.iter_mut().skip(first).take_while(|it| it.compiling.start < event.end()) {
            it.begins = it.begins.min(event.start);
        }
    });
    hosts
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mark(start: i64, end: i64) -> Option<Mark> {
        Some(Mark { interval: Interval::new(Ps::new(start), Ps::new(end)), key: None })
    }

    fn starts(marks: &[Option<Mark>]) -> Vec<Option<i64>> {
        marks.iter().map(|mark| mark.map(|mark| mark.interval.start.as_ps())).collect()
    }

    fn busy(parts: &[(i64, i64)]) -> IntervalSet {
        IntervalSet::union_of(parts.iter().map(|&(start, end)| Interval::new(Ps::new(start), Ps::new(end))))
    }

    #[test]
    fn a_step_begins_with_its_annotation_or_when_the_one_before_it_has_ended() {
        let mut marks = [mark(15, 20), mark(40, 60), mark(60, 90), None, mark(120, 130)];
        // Annotation 2 begins while step 1 still runs. No work belongs to annotation 3.
        let annotated = [mark(10, 30), mark(30, 62), mark(50, 80), mark(95, 96), mark(100, 140)];
        with_annotations(&mut marks, &annotated, &busy(&[]));
        assert_eq!(starts(&marks), [Some(10), Some(30), Some(60), None, Some(100)]);
        // Work that was launched before the first annotation still runs inside that annotation.
        let mut marks = [mark(15, 20), mark(40, 60)];
        with_annotations(&mut marks, &annotated[..2], &busy(&[(0, 12), (15, 20), (40, 60)]));
        assert_eq!(starts(&marks), [Some(12), Some(30)]);
    }

    #[test]
    fn annotations_of_another_thread_move_nothing() {
        // The host has finished step 1 when this device begins step 0.
        let mut marks = [mark(650, 660), mark(670, 680)];
        with_annotations(&mut marks, &[mark(0, 20), mark(20, 40)], &busy(&[]));
        assert_eq!(starts(&marks), [Some(650), Some(660)]);
        // The clocks disagree: the annotations come after the ops.
        let mut marks = [mark(10, 20), mark(30, 40)];
        with_annotations(&mut marks, &[mark(25, 26), mark(45, 46)], &busy(&[]));
        assert_eq!(starts(&marks), [Some(10), Some(30)]);
    }

    #[test]
    fn compilation_belongs_to_the_step_that_waited_for_it() {
        let call = |begins, start, end| Compiled {
            compiling: Interval::new(Ps::new(start), Ps::new(end)),
            begins: Ps::new(begins),
        };
        let calls = [call(0, 1, 5), call(21, 25, 50), call(70, 75, 95), call(100, 110, 115), call(131, 132, 133)];
        let mut marks = [mark(10, 20), mark(60, 80), mark(90, 100), mark(120, 130), mark(140, 150)];
        let runs = busy(&[(10, 20), (60, 80), (90, 100), (120, 130), (135, 136), (140, 150)]);
        with_compilation(&mut marks, &calls, &runs);
        // The third call still compiles when step 2 begins, and the fifth call belongs to the op at 135. Neither call delayed
        // the step.
        assert_eq!(starts(&marks), [Some(10), Some(21), Some(90), Some(100), Some(140)]);
    }
}
