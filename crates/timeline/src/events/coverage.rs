//! Computes for each pixel of a lane how long the lane is busy, and which event covers most of the pixel.
//!
//! ```text
//! events    [=========a=========)  [b)[c)  [d)   [e)
//! pixels   |       |       |       |       |       |
//! marks     part a  whole a part b  part c  part e          a part has the exact busy time of its pixel
//!                           (50 %)  (80 %)  (30 %)          and the event that covers most of it
//! ```
//!
//! The busy times of all marks add up to the busy time of the lane in the range, at every zoom level.

use base::Ps;
use trace::{Interval, Trace};

use crate::events::lane::Lane;

/// Pixel columns that divide a range of time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Columns {
    /// Start of each column, then the end of the last column.
    edges: Vec<Ps>,
}

impl Columns {
    /// Divides `range` into `count` columns of the same length, up to rounding to whole picoseconds. Creates fewer
    /// columns if the range has fewer picoseconds.
    pub fn new(range: Interval, count: u32) -> Columns {
        let length = i128::from(range.length().as_ps());
        let count = u32::try_from(length).unwrap_or(u32::MAX).min(count).max(1);
        // A fraction of a 64-bit length also fits into 64 bits.
        let offset = |column: u32| (length * i128::from(column) / i128::from(count)) as i64;
        Columns { edges: (0..=count).map(|column| range.start + Ps::new(offset(column))).collect() }
    }

    /// Returns the number of columns.
    pub fn len(&self) -> usize {
        self.edges.len().saturating_sub(1)
    }

    /// Returns false, because there is always a column.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the time range of a column.
    pub fn time(&self, column: usize) -> Option<Interval> {
        Some(Interval::new(*self.edges.get(column)?, *self.edges.get(column + 1)?))
    }

    /// Returns the time from the start of the first column to the end of the last column.
    pub fn range(&self) -> Interval {
        let at = |edge: Option<&Ps>| edge.copied().unwrap_or(Ps::ZERO);
        Interval::new(at(self.edges.first()), at(self.edges.last()))
    }

    /// Returns the last column that starts at or before `time`, or the first column if all columns start later.
    pub fn column_at(&self, time: Ps) -> usize {
        let after = self.edges.partition_point(|edge| *edge <= time);
        after.saturating_sub(1).min(self.len().saturating_sub(1))
    }
}

/// A mark in the picture of a lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mark {
    /// Adjacent columns that one event covers completely.
    Whole {
        /// Position of the event in the lane.
        place: usize,
        /// Index of the first column.
        first: usize,
        /// Index after the last column.
        end: usize,
    },
    /// A column that is busy for only part of its time, or with several events.
    Part {
        /// The column.
        column: usize,
        /// Time within the column during which the lane is busy.
        busy: Ps,
        /// Position of the event that covers most of the column.
        longest: usize,
        /// Number of events in the column.
        events: usize,
    },
}

/// Calls `visit` with the marks of a lane from left to right. The running time depends on the number of busy columns,
/// and hardly on the number of events in the columns.
pub fn for_each_mark(trace: &Trace, lane: &Lane, columns: &Columns, mut visit: impl FnMut(Mark)) {
    let range = columns.range();
    let mut place = lane.first_from(trace, range.start);
    let mut column = 0;
    while let Some(time) = lane.time(trace, place).filter(|time| time.start < range.end) {
        column = column.max(columns.column_at(time.start));
        let Some(pixel) = columns.time(column) else { return };
        if time.start <= pixel.start && time.end >= pixel.end {
            let last = columns.column_at(time.end);
            let end = if columns.time(last).is_some_and(|pixel| pixel.end <= time.end) { last + 1 } else { last };
            let end = end.max(column + 1);
            visit(Mark::Whole { place, first: column, end });
            column = end;
            place += usize::from(columns.time(end).is_none_or(|next| next.start >= time.end));
            if column >= columns.len() {
                return;
            }
            continue;
        }
        let end = lane.first_starting_at(trace, place + 1, pixel.end);
        // The last of these events may continue in the next column.
        let goes_on = lane.time(trace, end - 1).is_some_and(|time| time.end > pixel.end);
        let past = if goes_on { end - 1 } else { end };
        let busy = lane.covered_until(trace, past, pixel.end) - covered_before(lane, trace, place, pixel.start);
        visit(Mark::Part { column, busy, longest: longest(lane, trace, place, end, pixel), events: end - place });
        column += 1;
        if column >= columns.len() {
            return;
        }
        place = past;
    }
}

/// Returns how long the lane is busy before `time`. The event at `place` must be the first that ends after `time`.
fn covered_before(lane: &Lane, trace: &Trace, place: usize, time: Ps) -> Ps {
    let before = lane.covered_before(trace, place);
    lane.time(trace, place).map_or(before, |at| before + Interval::new(at.start, at.end.min(time)).length())
}

/// Returns the event that covers most of a pixel. The events of the pixel are at the positions from `first` to `end -
/// 1`. Only the first and the last of these events can extend beyond the pixel.
fn longest(lane: &Lane, trace: &Trace, first: usize, end: usize, pixel: Interval) -> usize {
    let inside =
        |place: usize| lane.time(trace, place).and_then(|at| at.clip(pixel)).map_or(Ps::ZERO, Interval::length);
    let candidates = [Some(first), lane.longest_of(trace, first + 1, end - 1), Some(end - 1)];
    let best = |a: usize, b: usize| if inside(b) > inside(a) { b } else { a };
    candidates.into_iter().flatten().reduce(best).unwrap_or(first)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Lanes;
    use proptest::prelude::*;
    use trace::{ByLine, TraceBuilder};

    /// Creates the lanes of a trace with event times in picoseconds. Times in microseconds would require wider columns.
    fn lanes(events: &[(i64, i64)]) -> (Trace, Lanes, ByLine) {
        let mut b = TraceBuilder::new();
        let line = b.line("/host:CPU", "python");
        events.iter().for_each(|_| drop(b.event(line, "f", 0, 0)));
        let mut trace = b.build();
        let line = trace.events.iter().next().map(|event| event.line).unwrap_or_default();
        let name = trace.strings.intern("f");
        trace.events = trace::Events::default();
        for &(start, length) in events {
            let (start, duration) = (Ps::new(start), Ps::new(length));
            trace.events.push(trace::Event { line, name, start, duration, args: trace::ArgsId::NONE });
        }
        let by_line = ByLine::new(&trace);
        let lanes = Lanes::new(trace.lines.len());
        (trace, lanes, by_line)
    }

    proptest! {
        #[test]
        fn marks_add_up_to_the_busy_time_and_show_every_event(
            events in prop::collection::vec((0i64..3_000, prop_oneof![Just(0i64), 0i64..20, 0i64..900]), 1..120),
            start in -50i64..3_000, length in 1i64..3_000, count in 1u32..60,
        ) {
            let (trace, lanes, by_line) = lanes(&events);
            let range = Interval::new(Ps::new(start), Ps::new(start + length));
            let columns = Columns::new(range, count);
            let line = trace.events.iter().next().unwrap().line;
            for lane in lanes.of_line(&trace, &by_line, line) {
                let mut busy = vec![Ps::ZERO; columns.len()];
                let mut seen = vec![0; columns.len()];
                let mut at = 0;
                for_each_mark(&trace, lane, &columns, |mark| match mark {
                    Mark::Whole { place, first, end } => {
                        assert!(first >= at && end > first);
                        at = end;
                        let time = lane.time(&trace, place).unwrap();
                        for column in first..end {
                            let pixel = columns.time(column).unwrap();
                            assert_eq!(time.clip(pixel), Some(pixel));
                            busy[column] = pixel.length();
                            seen[column] = 1;
                        }
                    }
                    Mark::Part { column, busy: length, longest, events } => {
                        assert!(column >= at);
                        at = column + 1;
                        busy[column] = length;
                        seen[column] = events;
                        let pixel = columns.time(column).unwrap();
                        let inside = |place: usize| lane.time(&trace, place).unwrap().clip(pixel).map_or(Ps::ZERO, Interval::length);
                        assert_eq!(inside(longest), (0..lane.len()).map(inside).max().unwrap());
                    }
                });
                for column in 0..columns.len() {
                    let pixel = columns.time(column).unwrap();
                    let times = (0..lane.len()).filter_map(|place| lane.time(&trace, place));
                    let here = |time: &Interval| time.clip(pixel).is_some() || (time.start >= pixel.start && time.start < pixel.end);
                    let there: Vec<Interval> = times.filter(here).collect();
                    let expected: Ps = there.iter().filter_map(|time| time.clip(pixel)).map(Interval::length).sum();
                    prop_assert_eq!(busy[column], expected, "column {}", column);
                    prop_assert_eq!(seen[column], there.len(), "column {}", column);
                }
            }
        }
    }
}
