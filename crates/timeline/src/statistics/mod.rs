//! Statistics of an area of the timeline. An area is a range of time on some lines. Sums are exact and cover the parts
//! of all events inside the range.
//!
//! ```text
//! range            [             )
//! a        [----------)                    included, with the part inside
//! b           [---------------------)      included, with the whole range; self time: after a has ended
//! c                |                       length zero, at the start: included, with 0
//! d                              |         length zero, at the end: not included
//! ```
//!
//! The statistics include an event if part of it is in the range, and an event of length zero if it is in `[start,
//! end)`. The times of adjacent ranges therefore add up to the time of the combined range. The counts also add up,
//! apart from events that cross an edge.
//!
//! The group of an event depends only on its [kind](trace::Events::kinds), so it is looked up once per kind. One pass
//! over the events then adds up the times, and skips stretches whose sums are known.

mod counters;
mod events_in;
mod grouping;
mod listed;
mod quantiles;
mod stretches;
#[cfg(test)]
mod tests;

pub use counters::{CounterValues, counter_in};
pub use events_in::EventsIn;
pub use grouping::{GroupBy, Grouping};
pub use listed::{ListedEvent, events};
pub use quantiles::percentiles_of;
pub(crate) use stretches::{Limits, Stretches};

use base::Ps;
use metrics::SelfTime;
use trace::{Interval, LineId, Trace};

use crate::Source;
use stretches::StretchSums;

/// A range of time on some lines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Area {
    /// Half-open range of time. [`Area::EVERYTHING`] is a range without limits.
    pub range: Interval,
    /// Lines of the area, without duplicates.
    pub lines: Vec<LineId>,
}

impl Area {
    /// Range that contains every event completely.
    pub const EVERYTHING: Interval = Interval { start: Ps::new(i64::MIN), end: Ps::MAX };

    /// Returns the area with all events of a trace.
    pub fn everything(trace: &Trace) -> Area {
        Area { range: Area::EVERYTHING, lines: trace.line_ids().collect() }
    }
}

/// Count and times of the events in an area. The times are clipped to the range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sums {
    /// Number of events.
    pub count: u64,
    /// Sum of the durations.
    pub total: Ps,
    /// Sum of the self times. Each instant of a line belongs to only one event: the running event that started last.
    pub self_time: Ps,
    /// The shortest duration.
    pub min: Ps,
    /// The longest duration.
    pub max: Ps,
}

impl Sums {
    /// Sums for an empty list of events.
    pub const NONE: Sums = Sums { count: 0, total: Ps::ZERO, self_time: Ps::ZERO, min: Ps::MAX, max: Ps::ZERO };

    /// Adds an event with its length inside the range. The caller adds the event's self time separately.
    #[inline]
    fn add(&mut self, length: Ps) {
        self.count += 1;
        self.total += length;
        self.min = self.min.min(length);
        self.max = self.max.max(length);
    }

    fn add_all(&mut self, other: &Sums) {
        self.count += other.count;
        self.total += other.total;
        self.self_time += other.self_time;
        self.min = self.min.min(other.min);
        self.max = self.max.max(other.max);
    }

    /// Returns the mean duration in microseconds, or `None` if there are no events.
    pub fn mean_us(&self) -> Option<f64> {
        (self.count > 0).then(|| self.total.as_us() / self.count as f64)
    }
}

/// Events of one group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Group {
    /// Number of the group in its [`Grouping`].
    pub number: u32,
    /// Sums of the events.
    pub sums: Sums,
}

/// Returns the groups with events in an area, in the order of their first event. The running time is linear in the
/// number of the area's events outside of stretches with known sums.
pub fn groups(source: Source<'_>, area: &Area, grouping: &Grouping) -> Vec<Group> {
    let mut found = Gathered { grouping, groups: Vec::new(), places: vec![u32::MAX; grouping.len()] };
    for &line in &area.lines {
        for_each_part(source, line, area.range, |part| match part {
            Part::Sums(stretch) => stretch.sums.iter().for_each(|(kind, sums)| found.add_all(*kind as usize, sums)),
            Part::Events(events) => {
                let mut running = SelfTime::default();
                events.for_each(|kind, inside| {
                    let Some(place) = found.place(kind) else { return };
                    found.groups.get_mut(place).into_iter().for_each(|group| group.sums.add(inside.length()));
                    running.start(place, inside, &mut |place, own| found.give(place, own));
                });
                running.finish(&mut |place, own| found.give(place, own));
            }
        });
    }
    found.groups
}

/// Groups found so far.
struct Gathered<'a> {
    grouping: &'a Grouping<'a>,
    groups: Vec<Group>,
    /// Position of each group in `groups`, by group number.
    places: Vec<u32>,
}

impl Gathered<'_> {
    /// Returns the position in `groups` of the group to which a kind belongs. Adds the group if it is new.
    #[inline]
    fn place(&mut self, kind: usize) -> Option<usize> {
        let number = *self.grouping.of_kinds().get(kind)?;
        let place = self.places.get_mut(number as usize)?;
        if *place == u32::MAX {
            *place = self.groups.len() as u32;
            self.groups.push(Group { number, sums: Sums::NONE });
        }
        Some(*place as usize)
    }

    fn add_all(&mut self, kind: usize, sums: &Sums) {
        let place = self.place(kind);
        place.and_then(|place| self.groups.get_mut(place)).into_iter().for_each(|group| group.sums.add_all(sums));
    }

    #[inline]
    fn give(&mut self, place: usize, own: Interval) {
        self.groups.get_mut(place).into_iter().for_each(|group| group.sums.self_time += own.length());
    }
}

/// A part of the area on one line.
enum Part<'a> {
    /// A stretch with known sums.
    Sums(StretchSums<'a>),
    /// Events without known sums.
    Events(EventsIn<'a>),
}

/// Calls `visit` with the parts of a range of a line, in order of time. Each event is in one part only.
fn for_each_part(source: Source<'_>, line: LineId, range: Interval, mut visit: impl FnMut(Part<'_>)) {
    let mut from = range.start;
    let events = |from, to| Part::Events(EventsIn::new(source, line, Interval::new(from, to)));
    source.caches.stretches.for_each_in(line, range, |time, stretch| {
        if from < time.start {
            visit(events(from, time.start));
        }
        visit(Part::Sums(stretch));
        from = time.end;
    });
    if from == range.start || from < range.end {
        visit(events(from, range.end));
    }
}
