//! Measures the number of launched ops that wait on a stream.
//!
//! ```text
//! calls     |      |  |
//! op starts    |          |   |
//! queue    0 1  0   1  2   1   0
//! ```
//!
//! If a queue is often empty, the host cannot keep up. A queue at its limit blocks the host.

use super::{CallIndex, scope_of};
use crate::device::devices::{Devices, GpuWork};
use base::{Ps, sort};
use trace::{EventColumn, LineKind, Platform, Trace, in_blocks};

/// Queue length at which CUDA blocks the calling thread. HTA uses the same limit.
pub(super) const QUEUE_LIMIT: u32 = 1024;

/// The queue of one stream.
#[derive(Clone, Debug, PartialEq)]
pub struct Queue {
    /// Index into [`Devices::used`].
    pub device: usize,
    /// Index of the stream's line in the trace.
    pub line: usize,
    /// Number of ops whose call is known.
    pub launches: u64,
    /// Maximum length of the queue, in ops.
    pub max: u32,
    /// Integral of the queue's length over time, in ops times picoseconds.
    area: f64,
    /// Time from the first launch call to the start of the last op.
    pub span: Ps,
    /// Time within the span during which no launched op waits.
    pub empty: Ps,
    /// Time during which at least [`QUEUE_LIMIT`] ops wait.
    pub blocked: Ps,
}

impl Queue {
    /// Returns the mean length over time, or `None` if the span has no length.
    pub fn mean(&self) -> Option<f64> {
        (self.span > Ps::ZERO).then(|| self.area / self.span.as_ps() as f64)
    }
}

/// Returns the queues of all GPU streams. A TPU's programs are queued by its runtime, which the trace does not show.
pub(super) fn queues(trace: &Trace, devices: &Devices, calls: &CallIndex) -> Vec<Queue> {
    if devices.platform != Some(Platform::Gpu) {
        return Vec::new();
    }
    let gpu_work = GpuWork::new(trace);
    let mut correlations = vec![Vec::new(); trace.lines.len()];
    trace.events.column(EventColumn::Correlation).for_each(|id, number| {
        let Some(event) = trace.events.get(id) else { return };
        let is_stream = trace.lines.get(event.line.index()).is_some_and(|line| line.kind == LineKind::DeviceOps);
        let is_op = is_stream && gpu_work.contains(event.args);
        if let Some(list) = correlations.get_mut(event.line.index()).filter(|_| is_op) {
            list.push((id, number));
        }
    });
    let mut found = Vec::new();
    for (index, device) in devices.used.iter().enumerate() {
        for (line, ..) in devices.by_line.lines_of(trace, device.plane) {
            let Some(ops) = correlations.get(line) else { continue };
            let (mut made, mut starts) = (Vec::with_capacity(ops.len()), Vec::with_capacity(ops.len()));
            in_blocks(ops, |&(id, number)| {
                let start = trace.events.time(id).map(|(start, _)| start);
                let call = calls.find(trace, scope_of(device), number);
                let counts = start.is_some_and(|start| device.counts(start)) && !trace.events.began_before(id);
                if let (true, Some(start), Some((_, call))) = (counts, start, call) {
                    // If an op starts before its call according to the clocks, it is treated as an op that did not wait.
                    made.push(call.start.as_ps());
                    starts.push(start.max(call.start).as_ps());
                }
            });
            found.extend(queue(made, starts).map(|queue| Queue { device: index, line, ..queue }));
        }
    }
    found
}

/// Builds the queue of ops whose calls were made at `made` and that started at `starts` (in picoseconds). No op may
/// start before its call was made.
fn queue(mut made: Vec<i64>, mut starts: Vec<i64>) -> Option<Queue> {
    // The length does not depend on how calls and starts are paired.
    sort::numbers(&mut made);
    sort::numbers(&mut starts);
    let (first, last) = (Ps::new(*made.first()?), Ps::new(*starts.last()?));
    let mut queue = Queue {
        device: 0,
        line: 0,
        launches: made.len() as u64,
        max: 0,
        area: 0.0,
        span: last - first,
        empty: Ps::ZERO,
        blocked: Ps::ZERO,
    };
    let (mut length, mut since) = (0u32, first);
    let mut made = made.into_iter().peekable();
    // At equal times calls come before starts, so that an op that starts at once is still counted.
    let mut change = |time: i64, change: i32| {
        let time = Ps::new(time);
        let lasted = time - since;
        queue.area += f64::from(length) * lasted.as_ps() as f64;
        queue.empty += if length == 0 { lasted } else { Ps::ZERO };
        queue.blocked += if length >= QUEUE_LIMIT { lasted } else { Ps::ZERO };
        length = length.saturating_add_signed(change);
        queue.max = queue.max.max(length);
        since = time;
    };
    in_blocks(&starts, |&start| {
        while let Some(call) = made.next_if(|&call| call <= start) {
            change(call, 1);
        }
        change(start, -1);
    });
    Some(queue)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(waits: &[(Ps, Ps)]) -> Option<Queue> {
        queue(waits.iter().map(|it| it.0.as_ps()).collect(), waits.iter().map(|it| it.1.as_ps()).collect())
    }

    #[test]
    fn the_length_is_weighted_by_time() {
        let us = |start: i64, end: i64| (Ps::new(start * 1_000_000), Ps::new(end * 1_000_000));
        let found = of(&[us(0, 4), us(2, 6), us(10, 10)]).unwrap();
        // The length is 1 for 2 us, 2 for 2 us, 1 for 2 us and 0 for 4 us.
        assert_eq!((found.max, found.launches, found.span), (2, 3, Ps::new(10_000_000)));
        assert_eq!(found.mean(), Some(0.8));
        assert_eq!((found.empty, found.blocked), (Ps::new(4_000_000), Ps::ZERO));
        assert_eq!(of(&[]), None);
    }

    #[test]
    fn a_full_queue_blocks_the_host() {
        let waits: Vec<(Ps, Ps)> = (0..1030).map(|i| (Ps::new(i), Ps::new(2_000 + i))).collect();
        let found = of(&waits).unwrap();
        // The caller is blocked from the 1024th call at 1023 until the start at 2006, after which 1023 of 1030 ops wait.
        assert_eq!((found.max, found.blocked), (1030, Ps::new(2_006 - 1_023)));
    }
}
