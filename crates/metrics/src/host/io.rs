//! Measures the input pipeline on the host.
//!
//! Reads spans that input pipelines record (tf.data, Grain, PyTorch's DataLoader, infeed) or that users add around their own
//! pipelines. `facts/host_spans.csv` lists the names. Among the Python tracer's frames, only `__next__` of known pipelines is
//! included. Nested spans are not counted twice, because the result is a union. Copies to the device are not input; see
//! [`transfers`](crate::op::transfers).

use crate::device::devices::Devices;
use crate::host::host_work::{HostWork, host_spans};
use report::IoOperations;
use trace::{Interval, Trace};

/// Builds the input section for the `window` of all hosts. Returns `None` if the capture has no span of an input
/// pipeline, because a pipeline may have run without recording spans.
pub fn io_operations(trace: &Trace, devices: &Devices, window: Interval) -> Option<IoOperations> {
    let spans = host_spans(trace, devices, HostWork::Input);
    let time = spans.union.length_within(window);
    let share = 100.0 * time.as_ps() as f64 / window.length().as_ps().max(1) as f64;
    (!spans.outermost.is_empty()).then(|| IoOperations {
        io_event_count: spans.outermost.iter().filter(|&&start| start >= window.start && start <= window.end).count()
            as u64,
        io_total_time_us: time.as_us(),
        io_percent: share.clamp(0.0, 100.0),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use trace::TraceBuilder;

    #[test]
    fn input_is_the_union_of_its_spans() {
        let mut b = TraceBuilder::new();
        let python = b.line("/host:CPU", "python");
        let worker = b.line("/host:CPU", "tf_data/1");
        b.event(python, "train", 0, 1000);
        b.event(python, "IteratorGetNext", 0, 100);
        b.event(worker, "Iterator::Prefetch", 50, 100);
        b.event(worker, "Iterator::Prefetch::Map", 60, 20);
        b.event(python, "$dataloader.py:701 __next__", 500, 50);
        let trace = b.build();
        let devices = Devices::of(&trace);
        let found = io_operations(&trace, &devices, devices.capture.unwrap()).unwrap();
        assert_eq!((found.io_event_count, found.io_total_time_us, found.io_percent), (3, 200.0, 20.0));
    }

    #[test]
    fn no_span_is_not_no_input() {
        let mut b = TraceBuilder::new();
        let python = b.line("/host:CPU", "python");
        b.event(python, "train", 0, 1000);
        let trace = b.build();
        let devices = Devices::of(&trace);
        assert_eq!(io_operations(&trace, &devices, devices.capture.unwrap()), None);
    }
}
