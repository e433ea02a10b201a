//! Stores event time minus chip time over the capture, as a step function with only a few steps.

use std::cmp::Reverse;

use base::sort;

/// Maximum number of stretches of a line. Each alignment of the clocks by the profiler adds only a few stretches.
const MOST: usize = 1 << 14;

/// Maximum change in the difference between the clocks (in ps) that starts no new stretch. Clocks with a resolution of
/// about a nanosecond cannot show smaller changes.
const TOLERANCE: u64 = 1_000;

/// A stretch of event time during which event times and chip times differ by a constant amount.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Knot {
    /// Event time at which the stretch begins, in ps.
    pub first: i64,
    /// Last event time in the stretch so far, in ps.
    pub last: i64,
    /// Event time minus chip time, in ps.
    pub delta: i64,
    /// Number of ops that start in the stretch.
    pub ops: u64,
}

/// Maximum number of ops that are kept as samples.
const MOST_SAMPLES: usize = 256;

/// Stretches of one line, built op by op.
#[derive(Clone, Debug)]
pub(super) struct Knots {
    list: Vec<Knot>,
    tolerance: u64,
    /// One sample for every `stride` ops. Each sample has the op's start on the chip's clock, and event time minus chip
    /// time.
    samples: Vec<(i64, i64)>,
    stride: u64,
    ops: u64,
    /// Latest event time so far at which an op ended, with event time minus chip time. This end becomes a stretch only
    /// when the next op starts after it.
    held: Option<(i64, i64)>,
}

impl Default for Knots {
    fn default() -> Self {
        Knots { list: Vec::new(), tolerance: TOLERANCE, samples: Vec::new(), stride: 1, ops: 0, held: None }
    }
}

impl Knots {
    /// Adds an op that runs from `start` to `end` in event time. `deltas` contains event time minus chip time at the
    /// start and at the end of the op.
    #[inline]
    pub(super) fn add(&mut self, [start, end]: [i64; 2], deltas: [i64; 2]) {
        let [at_start, at_end] = deltas;
        if let Some((held, delta)) = self.held.filter(|&(held, _)| held <= start) {
            self.push(held, delta, 0);
            self.held = None;
        }
        self.push(start, at_start, 1);
        if self.ops.is_multiple_of(self.stride) {
            self.sample(start.saturating_sub(at_start), at_start);
        }
        self.ops += 1;
        if self.held.is_none_or(|(held, _)| held <= end) {
            self.held = Some((end, at_end));
        }
    }

    /// Completes the stretches after the last op.
    pub(super) fn finish(&mut self) {
        if let Some((held, delta)) = self.held.take() {
            self.push(held, delta, 0);
        }
        self.in_order();
    }

    #[inline(never)]
    fn in_order(&mut self) {
        sort::sort_by_key(&mut self.list, order);
    }

    fn sample(&mut self, chip: i64, late: i64) {
        self.samples.push((chip, late));
        if self.samples.len() > MOST_SAMPLES {
            self.stride *= 2;
            let mut nth = 0;
            self.samples.retain(|_| {
                nth += 1;
                nth % 2 == 1
            });
        }
    }

    #[inline]
    fn push(&mut self, at: i64, delta: i64, ops: u64) {
        if let Some(last) = self.list.last_mut()
            && at >= last.last
            && delta.abs_diff(last.delta) <= self.tolerance
        {
            (last.last, last.ops) = (at, last.ops + ops);
            return;
        }
        self.list.push(Knot { first: at, last: at, delta, ops });
        if self.list.len() >= MOST {
            self.thin();
        }
    }

    /// Merges adjacent stretches with similar differences, and raises the tolerance for later stretches.
    #[cold]
    fn thin(&mut self) {
        self.in_order();
        while self.list.len() > MOST / 2 {
            self.tolerance = self.tolerance.saturating_mul(2);
            let tolerance = self.tolerance;
            self.list.dedup_by(|next, kept| {
                let joins = next.delta.abs_diff(kept.delta) <= tolerance;
                if joins {
                    (kept.last, kept.ops) = (kept.last.max(next.last), kept.ops + next.ops);
                }
                joins
            });
        }
    }

    /// Returns the first and the last event time.
    pub(super) fn extent(&self) -> Option<(i64, i64)> {
        Some((self.list.first()?.first, self.list.iter().map(|knot| knot.last).max()?))
    }

    /// Returns the samples of ops at regular distances. Each sample has the op's start on the chip's clock, and event
    /// time minus chip time.
    pub(super) fn samples(&self) -> &[(i64, i64)] {
        &self.samples
    }

    /// Returns the stretches, which are sorted after a call of [`finish`](Knots::finish).
    pub(super) fn list(&self) -> &[Knot] {
        &self.list
    }

    /// Returns a copy of the stretches, with which other events can be mapped.
    pub(super) fn sorted(&self) -> Warp {
        Warp(self.list.clone())
    }
}

/// Sort key of a stretch. Stretches are sorted by event time. Chip time decides between stretches with the same event
/// time, which occur where the profiler squeezed ops together.
fn order(knot: &Knot) -> (i64, Reverse<i64>) {
    (knot.first, Reverse(knot.delta))
}

/// Maps event times to the chip's clock, for events without a chip time. The mapping uses the ops before and after each
/// event.
///
/// ```text
/// event times   ...op a    )  .  [op b ...       before the end of a: as a; after the start of b: as b; between them, a
/// chip times    ...op a )    .  [op b ...        part of the way from one to the other
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Warp(pub Vec<Knot>);

impl Warp {
    /// Returns the chip times of `start` and `end`, the event times of one event. If the profiler squeezed several ops
    /// into one event time, the event begins with the first of these ops and ends with the last.
    pub(crate) fn map(&self, start: i64, end: i64) -> (i64, i64) {
        let first = self.0.partition_point(|knot| knot.first < start);
        let is_tie = self.0.get(first).is_some_and(|knot| knot.first == start);
        let mapped_start = self.at(start, if is_tie { first + 1 } else { first });
        let mapped_end = self.at(end, self.0.partition_point(|knot| knot.first <= end));
        (mapped_start, mapped_end.max(mapped_start))
    }

    /// Returns the chip time at the event time `time`. `time` must not precede the stretch before `after`.
    fn at(&self, time: i64, after: usize) -> i64 {
        let next = self.0.get(after);
        let Some(knot) = after.checked_sub(1).and_then(|before| self.0.get(before)) else {
            return time.saturating_sub(next.map_or(0, |knot| knot.delta));
        };
        match next {
            Some(next) if time > knot.last && next.first > knot.last => {
                let (way, of) =
                    (i128::from(time) - i128::from(knot.last), i128::from(next.first) - i128::from(knot.last));
                let change = (i128::from(next.delta) - i128::from(knot.delta)) * way / of.max(1);
                time.saturating_sub(knot.delta.saturating_add(narrow(change)))
            }
            _ => time.saturating_sub(knot.delta),
        }
    }
}

/// Converts a number to 64 bits, with saturation.
pub(super) fn narrow(value: i128) -> i64 {
    i64::try_from(value).unwrap_or(if value < 0 { i64::MIN } else { i64::MAX })
}
