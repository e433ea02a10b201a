//! How event times follow the chip's clock: what an event time is later than the chip's, as a few steps over the capture.

use std::cmp::Reverse;

use base::sort;

/// Stretches that are kept: a capture has a few for each moment at which the profiler aligned the clocks.
const MOST: usize = 1 << 14;

/// Differences up to this (in ps) make no new stretch: clocks of about a nanosecond do not show them.
const TOLERANCE: u64 = 1_000;

/// A stretch of event time in which the event times are later than the chip's by one amount.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Knot {
    /// Event time at which the stretch begins, in ps.
    pub first: i64,
    /// Event time at which the stretch was seen last.
    pub last: i64,
    /// Event time less chip time.
    pub delta: i64,
    /// Ops that start in the stretch.
    pub ops: u64,
}

/// Ops that are kept as samples at most.
const MOST_SAMPLES: usize = 256;

/// The stretches of one line, while its ops go by.
#[derive(Clone, Debug)]
pub(super) struct Knots {
    list: Vec<Knot>,
    tolerance: u64,
    /// Start by the chip's clock and by how much its event is later, of one op in every `stride`.
    samples: Vec<(i64, i64)>,
    stride: u64,
    ops: u64,
    /// The latest end so far, and by how much its event time is later: known to matter when the next op starts after it.
    held: Option<(i64, i64)>,
}

impl Default for Knots {
    fn default() -> Self {
        Knots { list: Vec::new(), tolerance: TOLERANCE, samples: Vec::new(), stride: 1, ops: 0, held: None }
    }
}

impl Knots {
    /// Adds an op from `start` to `end` of event time, which are later than the chip's by `deltas`.
    #[inline]
    pub fn add(&mut self, [start, end]: [i64; 2], deltas: [i64; 2]) {
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

    /// No op follows.
    pub fn finish(&mut self) {
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

    /// Joins neighbours that differ by little, and from then on new ones, too.
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

    /// First and last event time.
    pub fn extent(&self) -> Option<(i64, i64)> {
        Some((self.list.first()?.first, self.list.iter().map(|knot| knot.last).max()?))
    }

    /// Start by the chip's clock and by how much its event is later, of ops at even distances in their order.
    pub fn samples(&self) -> &[(i64, i64)] {
        &self.samples
    }

    /// The stretches; in order once [`finish`](Knots::finish) was called.
    pub fn list(&self) -> &[Knot] {
        &self.list
    }

    /// A copy of the stretches, to map other events by.
    pub fn sorted(&self) -> Warp {
        Warp(self.list.clone())
    }
}

/// Order of knots: by event time, and where ops were squeezed into one, by chip time.
fn order(knot: &Knot) -> (i64, Reverse<i64>) {
    (knot.first, Reverse(knot.delta))
}

/// Maps event times of a device that carry no chip time to its chip's clock, through the ops around them.
///
/// ```text
/// event times   ...op a    )  .  [op b ...       before the end of a: as a; after the start of b: as b; between them, a
/// chip times    ...op a )    .  [op b ...        part of the way from one to the other
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Warp(pub Vec<Knot>);

impl Warp {
    /// Chip time of `start` and `end`, event times of one event. Where several ops start at one event time (they
    /// were squeezed), the event begins with the first of them and ends with the last.
    pub fn map(&self, start: i64, end: i64) -> (i64, i64) {
        let first = self.0.partition_point(|knot| knot.first < start);
        let is_tie = self.0.get(first).is_some_and(|knot| knot.first == start);
        let mapped_start = self.at(start, if is_tie { first + 1 } else { first });
        let mapped_end = self.at(end, self.0.partition_point(|knot| knot.first <= end));
        (mapped_start, mapped_end.max(mapped_start))
    }

    /// Chip time of `time`, which is not before the stretch that precedes `after`.
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

/// Into 64 bits; what is too large becomes the largest.
pub(super) fn narrow(value: i128) -> i64 {
    i64::try_from(value).unwrap_or(if value < 0 { i64::MIN } else { i64::MAX })
}
