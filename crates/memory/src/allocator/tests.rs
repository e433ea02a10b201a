#![allow(clippy::indexing_slicing, clippy::unwrap_used)]

use base::Ps;
use trace::{Trace, TraceBuilder};

use super::{Activity, allocators, xprof};

/// `(is allocation, time in microseconds, address, bytes, bytes in use after it)`.
type Step = (bool, i64, i64, i64, i64);

fn trace(steps: &[Step]) -> Trace {
    let mut b = TraceBuilder::new();
    let line = b.line("/host:CPU", "python");
    for &(is_allocation, time, address, bytes, in_use) in steps {
        let name = if is_allocation { "MemoryAllocation" } else { "MemoryDeallocation" };
        let allocator = b.trace_mut().strings.intern("GPU_0_bfc");
        let mut event = b.event(line, name, time, 0).args(|args| args.allocator_name = allocator);
        for (column, value) in [
            (trace::EventColumn::InUseBytes, in_use),
            (trace::EventColumn::AvailableBytes, 1000 - in_use),
            (trace::EventColumn::AllocationBytes, bytes),
            (trace::EventColumn::RequestedBytes, bytes),
            (trace::EventColumn::Address, address),
            (trace::EventColumn::Fragmentation, f64::NAN.to_bits().cast_signed()),
        ] {
            event = event.value(column, value);
        }
    }
    b.build()
}

#[test]
fn what_is_alive_at_the_peak_and_what_was_before() {
    // 100 bytes are in use before the capture. 60 of them are released during the capture.
    let trace = trace(&[
        (true, 10, 1, 50, 150),
        (true, 20, 2, 50, 200),
        (false, 30, 9, 60, 140),
        (true, 40, 3, 60, 200),
        (false, 50, 1, 50, 150),
    ]);
    let found = allocators(&trace, Ps::ZERO);
    assert_eq!((found.len(), found[0].name.as_str(), found[0].events.len()), (1, "GPU_0_bfc", 5));
    let allocator = &found[0];
    assert_eq!(
        (allocator.peak(), allocator.capacity_bytes(1), allocator.releases_of_older()),
        (Some(1), Some(1000), 1)
    );
    let contents = allocator.contents(1);
    assert_eq!(contents.alive.iter().map(|it| (it.event, it.count)).collect::<Vec<_>>(), [(0, 2)], "two of one size");
    assert_eq!((contents.before_capture_bytes, contents.reserved_bytes), (100, 0));
    assert_eq!(allocator.events[0].fragmentation, None, "the pool is full");
    // XProf takes the last of the two peaks.
    assert_eq!(xprof::peak(allocator), Some(3));
    let listed = xprof::listed(allocator);
    assert_eq!(listed.alive.iter().map(|it| (it.event, it.count)).collect::<Vec<_>>(), [(3, 1), (0, 2)]);
    assert_eq!((listed.unused_preallocated_bytes, listed.stack_bytes), (Some(40), None));
    assert_eq!(allocator.contents(3).before_capture_bytes, 40);
}

#[test]
fn odd_orders_are_read() {
    let trace = trace(&[
        (false, 5, 7, i64::MAX, 0),
        (true, 6, 7, -1, i64::MAX),
        (true, 7, 7, i64::MAX, 5),
        (false, 8, 8, 1, 0),
    ]);
    let allocator = allocators(&trace, Ps::ZERO).remove(0);
    assert_eq!((allocator.peak(), allocator.releases_of_older()), (Some(1), 2));
    assert_eq!(allocator.events[1].allocation_bytes, None, "no size");
    assert_eq!(allocator.contents(1).before_capture_bytes, i64::MAX.cast_unsigned());
    assert_eq!(allocator.contents(2).alive.len(), 1, "the later of two at one address");
    assert_eq!(allocator.contents(99), super::Contents::default());
    assert_eq!(allocator.events[3].activity, Activity::Release);
    assert!(allocators(&Trace::default(), Ps::ZERO).is_empty());
}
