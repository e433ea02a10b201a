//! Sets of half-open time intervals: unions, intersections, gaps.
//!
//! Busy time is always the length of a union, so that the time of nested and concurrent events is never added twice:
//!
//! ```text
//! events   [----a----)     [--c--)
//!               [--b--)
//! union    [----------)    [-----)
//! gap                  ----
//! ```

use std::sync::{Arc, OnceLock};

use super::blocks::in_blocks;
use base::Ps;

/// `[start, end)`. Empty and reversed intervals have length 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Interval {
    /// First picosecond of the interval.
    pub start: Ps,
    /// First picosecond after the interval.
    pub end: Ps,
}

impl Interval {
    /// Creates `[start, end)`.
    pub fn new(start: Ps, end: Ps) -> Interval {
        Interval { start, end }
    }

    /// Returns the length of the interval, which is never negative.
    pub fn length(self) -> Ps {
        if self.end > self.start { self.end - self.start } else { Ps::ZERO }
    }

    /// Returns the part of the interval inside `window`, or `None` if no part is inside.
    pub fn clip(self, window: Interval) -> Option<Interval> {
        let clipped = Interval::new(self.start.max(window.start), self.end.min(window.end));
        (clipped.end > clipped.start).then_some(clipped)
    }
}

/// Sorted intervals that neither overlap nor touch. Clones are cheap because they share the intervals.
#[derive(Clone, Debug, Default)]
pub struct IntervalSet {
    kept: Arc<Kept>,
}

#[derive(Debug, Default)]
struct Kept {
    parts: Vec<Interval>,
    /// Total length of the parts. The length is computed once for all clones.
    length: OnceLock<Ps>,
}

impl PartialEq for IntervalSet {
    fn eq(&self, other: &IntervalSet) -> bool {
        self.parts() == other.parts()
    }
}

impl Eq for IntervalSet {}

impl IntervalSet {
    fn of_parts(parts: Vec<Interval>) -> IntervalSet {
        IntervalSet { kept: Arc::new(Kept { parts, length: OnceLock::new() }) }
    }

    /// Returns the union of intervals in any order. Omits empty intervals, and joins intervals that touch.
    pub fn union_of(intervals: impl IntoIterator<Item = Interval>) -> IntervalSet {
        let mut union = Union::default();
        intervals.into_iter().for_each(|interval| union.add(interval));
        union.finish()
    }

    /// Returns the parts of the set, in order.
    pub fn parts(&self) -> &[Interval] {
        &self.kept.parts
    }

    /// Returns true if the set is empty.
    pub fn is_empty(&self) -> bool {
        self.parts().is_empty()
    }

    /// Returns the total time that the set covers.
    pub fn length(&self) -> Ps {
        let add_up = || {
            let mut length = Ps::ZERO;
            in_blocks(self.parts(), |part| length += part.length());
            length
        };
        *self.kept.length.get_or_init(add_up)
    }

    /// Returns the time from the first start to the last end, or `None` if the set is empty.
    pub fn span(&self) -> Option<Interval> {
        Some(Interval::new(self.parts().first()?.start, self.parts().last()?.end))
    }

    /// Returns true if the set covers the instant `time`.
    pub fn contains(&self, time: Ps) -> bool {
        let parts = self.parts();
        let after = parts.partition_point(|part| part.start <= time);
        after.checked_sub(1).and_then(|at| parts.get(at)).is_some_and(|part| part.end > time)
    }

    /// Returns the time that the set covers inside `window`.
    pub fn length_within(&self, window: Interval) -> Ps {
        let mut length = Ps::ZERO;
        in_blocks(self.overlapping(window), |part| length += part.clip(window).map_or(Ps::ZERO, Interval::length));
        length
    }

    /// Returns the set restricted to `window`.
    pub fn clip(&self, window: Interval) -> IntervalSet {
        IntervalSet::of_parts(self.overlapping(window).iter().filter_map(|part| part.clip(window)).collect())
    }

    /// Returns the time that both sets cover.
    pub fn intersection(&self, other: &IntervalSet) -> IntervalSet {
        let (mut a, mut b) = (self.parts().iter().peekable(), other.parts().iter().peekable());
        let mut parts = Vec::new();
        while let (Some(&&x), Some(&&y)) = (a.peek(), b.peek()) {
            parts.extend(x.clip(y));
            if x.end <= y.end {
                a.next();
            } else {
                b.next();
            }
        }
        IntervalSet::of_parts(parts)
    }

    /// Returns the time that either set covers.
    pub fn union(&self, other: &IntervalSet) -> IntervalSet {
        if self.is_empty() || other.is_empty() {
            return if self.is_empty() { other.clone() } else { self.clone() };
        }
        let (mut a, mut b) = (self.parts().iter().peekable(), other.parts().iter().peekable());
        let in_order = std::iter::from_fn(|| match (a.peek(), b.peek()) {
            (Some(x), Some(y)) if x.start > y.start => b.next(),
            (Some(_), _) => a.next(),
            (None, _) => b.next(),
        });
        IntervalSet::union_of(in_order.copied())
    }

    /// Returns the time that this set covers and `other` does not.
    pub fn difference(&self, other: &IntervalSet) -> IntervalSet {
        if other.is_empty() {
            return self.clone();
        }
        let mut parts = Vec::new();
        let mut holes = other.parts();
        in_blocks(self.parts(), |&part| {
            let mut start = part.start;
            while let Some((hole, rest)) = holes.split_first().filter(|(hole, _)| hole.start < part.end) {
                if hole.start > start {
                    parts.push(Interval::new(start, hole.start));
                }
                start = start.max(hole.end);
                // A hole that extends past this part may extend into the next one.
                if hole.end > part.end {
                    break;
                }
                holes = rest;
            }
            if start < part.end {
                parts.push(Interval::new(start, part.end));
            }
        });
        IntervalSet::of_parts(parts)
    }

    /// Returns the parts of `window` that the set does not cover, including the parts at the edges of `window`.
    pub fn gaps(&self, window: Interval) -> Vec<Interval> {
        IntervalSet::union_of([window]).difference(&self.clip(window)).parts().to_vec()
    }

    fn overlapping(&self, window: Interval) -> &[Interval] {
        let first = self.parts().partition_point(|part| part.end <= window.start);
        let rest = self.parts().get(first..).unwrap_or_default();
        // Most windows are short, so the search for the end starts near the start of the window.
        let mut reach = 4;
        while rest.get(reach).is_some_and(|part| part.start < window.end) {
            reach *= 4;
        }
        let rest = rest.get(..reach).unwrap_or(rest);
        rest.get(..rest.partition_point(|part| part.start < window.end)).unwrap_or_default()
    }
}

/// Builds the union of intervals that are added one at a time.
#[derive(Debug)]
pub struct Union {
    /// Parts that are complete.
    parts: Vec<Interval>,
    /// Total length of the parts.
    length: Ps,
    /// Part that may still grow. This part is empty before the first interval is added.
    last: Interval,
    /// All intervals from the first interval that is out of order.
    unsorted: Vec<Interval>,
}

impl Default for Union {
    fn default() -> Self {
        let last = Interval::new(Ps::new(i64::MIN), Ps::new(i64::MIN));
        Union { parts: Vec::new(), length: Ps::ZERO, last, unsorted: Vec::new() }
    }
}

impl Union {
    /// Creates a union with room for `parts` parts. Unused room costs nothing, whereas a union that grows step by step
    /// copies all its parts.
    pub fn with_room(parts: usize) -> Union {
        Union { parts: Vec::with_capacity(parts), ..Union::default() }
    }

    /// Adds an interval. An empty interval has no effect. The function is never inlined: see [`blocks`](super::blocks).
    #[inline(never)]
    pub fn add(&mut self, interval: Interval) {
        self.add_all(std::iter::once(interval));
    }

    /// Adds the intervals of one block.
    #[inline(always)]
    pub fn add_all(&mut self, intervals: impl Iterator<Item = Interval>) {
        // Local copies stay in registers during the loop.
        let (mut last, mut length, mut is_sorted) = (self.last, self.length, self.unsorted.is_empty());
        for interval in intervals.filter(|interval| interval.end > interval.start) {
            // True while the intervals are sorted. Events of one line usually are, so they need no sort.
            is_sorted &= interval.start >= last.start;
            if !is_sorted {
                self.unsorted.push(interval);
            } else if interval.start <= last.end {
                last.end = last.end.max(interval.end);
            } else {
                if last.end > last.start {
                    length += last.end - last.start;
                    self.parts.push(last);
                }
                last = interval;
            }
        }
        (self.last, self.length) = (last, length);
    }

    /// Returns the finished set.
    pub fn finish(self) -> IntervalSet {
        let Union { mut parts, mut length, last, mut unsorted } = self;
        if last.end > last.start {
            length += last.end - last.start;
            parts.push(last);
        }
        if unsorted.is_empty() {
            parts.shrink_to_fit();
            return IntervalSet { kept: Arc::new(Kept { parts, length: OnceLock::from(length) }) };
        }
        unsorted.append(&mut parts);
        unsorted.sort_unstable();
        IntervalSet::union_of(unsorted)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(parts: &[(i64, i64)]) -> IntervalSet {
        IntervalSet::union_of(parts.iter().map(|&(s, e)| Interval::new(Ps::new(s), Ps::new(e))))
    }

    #[test]
    fn union_joins_overlaps_in_any_order() {
        assert_eq!(set(&[(5, 9), (0, 4), (3, 5), (20, 20), (30, 25)]).parts().len(), 1);
        assert_eq!(set(&[(10, 12), (0, 4)]).length(), Ps::new(6));
        let in_order = set(&[(0, 4), (1, 2), (3, 6), (6, 7), (9, 10)]);
        assert_eq!(
            (in_order.length(), in_order.clip(Interval::new(Ps::new(-1), Ps::new(99))).length()),
            (Ps::new(8), Ps::new(8))
        );
        assert_eq!(set(&[(0, 10), (2, 3), (2, 4), (11, 12)]).length(), Ps::new(11));
    }

    #[test]
    fn intersection_difference_and_gaps_partition_the_window() {
        let (a, b) = (set(&[(0, 10), (20, 30)]), set(&[(5, 25)]));
        assert_eq!(a.intersection(&b), set(&[(5, 10), (20, 25)]));
        assert_eq!(a.difference(&b), set(&[(0, 5), (25, 30)]));
        assert_eq!(a.union(&b), set(&[(0, 30)]));
        assert_eq!(set(&[(0, 1), (4, 5)]).union(&set(&[(2, 3), (9, 10)])).parts().len(), 4);
        let window = Interval::new(Ps::new(-5), Ps::new(40));
        let gaps: Ps = a.gaps(window).into_iter().map(Interval::length).sum();
        assert_eq!(gaps + a.length_within(window), window.length());
        assert_eq!(a.length_within(Interval::new(Ps::new(8), Ps::new(22))), Ps::new(4));
    }
}
