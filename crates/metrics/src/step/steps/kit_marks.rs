//! Reads the marks of the capture kit.
//!
//! `crossprof.capture` marks the end of the last step, after the devices have finished all work. Without this mark, the end
//! would be unknown if steps are short: the pauses between annotations are then significant, and no op shows the host's work
//! after the last annotation.
//!
//! `crossprof.trace` marks the start of the traced block of code. It marks the end of the block after the devices have
//! finished all work. If a program ran only once in the block, the block is the step. The run itself is not usable as
//! the step, because the run excludes the host's earlier work, and the run's end is not recorded.
//!
//! ```text
//! host    b      [PjitFunction(f))                 e         b begin, e end
//! device                   [=jit_f=========)
//! step     0--------------------------------------
//! ```

use std::collections::BTreeMap;

use super::Mark;
use super::annotations::Annotations;
use crate::device::devices::Devices;
use crate::host::host_work::for_each_named_on;
use base::{Ps, sort};
use trace::{Interval, Trace};

/// Names of the marks, as `python/crossprof/_trace.py` writes them.
const BEGIN: &str = "crossprof.begin";
const END: &str = "crossprof.end";
/// Name of the mark that `_capture.py` writes.
const END_OF_STEPS: &str = "crossprof.steps_end";

/// Returns the end of the last annotated step of each host, on the host's clock.
pub(super) fn ends_of_steps(trace: &Trace, devices: &Devices) -> BTreeMap<u16, Ps> {
    let mut ends = BTreeMap::new();
    for_each_named_on(trace, devices, &|name| name == END_OF_STEPS, &mut |host, event| {
        ends.insert(host, event.start);
    });
    ends
}

/// Returns the traced block as an annotation, or `None` if the trace lacks the block's marks.
pub(super) fn block(trace: &Trace, devices: &Devices) -> Option<Annotations> {
    let mut marks: BTreeMap<u16, (Option<Ps>, Option<Ps>)> = BTreeMap::new();
    for_each_named_on(trace, devices, &|name| [BEGIN, END].contains(&name), &mut |host, event| {
        let of_host = marks.entry(host).or_default();
        if trace.text(event.name) == BEGIN {
            of_host.0 = Some(event.end());
        } else {
            of_host.1 = Some(event.start);
        }
    });
    let annotation = |(host, (begin, end)): (u16, (Option<Ps>, Option<Ps>))| {
        let (begin, end) = begin.zip(end).filter(|(begin, end)| begin < end)?;
        Some((host, vec![Some(Mark { interval: Interval::new(begin, end), key: None })]))
    };
    let by_host = sort::map(marks.into_iter().filter_map(annotation));
    (!by_host.is_empty()).then(|| Annotations {
        name: "block".to_owned(),
        numbers: vec![0],
        ends: true,
        distinct_numbers: None,
        by_host,
    })
}

#[cfg(test)]
mod tests {
    use crate::device::devices::Devices;
    use crate::step::steps::{StepSource, Steps};
    use trace::TraceBuilder;

    /// Finds the steps of annotations that last 2 us each, with pauses of 2 us. `mark` is the time of the kit's mark.
    fn annotated(mark: Option<i64>) -> Steps {
        let mut b = TraceBuilder::new();
        let python = b.line("/host:CPU", "python");
        let ops = b.line("/device:TPU:0", "XLA Ops");
        for step in 0..3 {
            b.event(python, "train", 4 * step, 2).step_num(step);
            b.event(ops, "fusion", 4 * step, 1);
        }
        if let Some(at) = mark {
            b.event(python, "crossprof.steps_end", at, 0);
        }
        let trace = b.build();
        Steps::find(&trace, &Devices::of(&trace))
    }

    #[test]
    fn the_last_step_ends_where_the_kit_marks_it() {
        let last = |mark| annotated(mark).windows[0][2].expect("a step");
        assert!(last(None).open, "annotations pause");
        let marked = last(Some(14));
        assert_eq!((marked.open, marked.interval.length().as_us()), (false, 6.0));
        assert!(last(Some(3)).open, "a mark before the step belongs to another window");
    }

    /// Finds the steps of a block from 10 to 90 us. A program runs for 5 us at each of the times `runs`.
    fn steps(runs: &[i64]) -> Steps {
        let mut b = TraceBuilder::new();
        let python = b.line("/host:CPU", "python");
        let modules = b.line("/device:TPU:0", "XLA Modules");
        let ops = b.line("/device:TPU:0", "XLA Ops");
        b.event(python, "crossprof.begin", 9, 1);
        for &start in runs {
            b.event(modules, "jit_f(1)", start, 5);
            b.event(ops, "fusion", start, 5);
        }
        b.event(python, "crossprof.end", 90, 1);
        let trace = b.build();
        Steps::find(&trace, &Devices::of(&trace))
    }

    #[test]
    fn a_block_with_one_run_is_a_step_and_one_with_several_is_none() {
        let one = steps(&[40]);
        assert_eq!(
            (one.source, one.len(), one.marker.as_deref()),
            (StepSource::HostSpans, 1, Some("the recorded block"))
        );
        let window = one.windows[0][0].expect("a step");
        assert!(!window.open);
        assert_eq!((window.interval.start.as_us(), window.interval.end.as_us()), (10.0, 90.0));
        let several = steps(&[20, 40, 60, 80]);
        assert_eq!((several.source, several.len()), (StepSource::ModuleRuns, 4));
    }
}
