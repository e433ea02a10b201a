//! What is in an area of the timeline, a range of time and some lines: exact sums over all events, of which the range cuts off what lies
//! outside.
//!
//! ```text
//! range            [             )
//! a        [----------)                    counts, with the part inside
//! b           [---------------------)      counts, with all of the range; self time: where a does not run
//! c                |                       length zero, at the start: counts, with 0
//! d                              |         length zero, at the end: does not count
//! ```
//!
//! An event counts where a part of it lies in the range; one of length zero where it lies in `[start, end)`. So ranges that touch add up
//! to the range that they make together: their times do, and the counts but for the events that the edges cut.
//!
//! Of which group an event is, is asked of its [kind](trace::Events::kinds), once for all events of the kind; then one walk adds them up, past the
//! stretches whose sums are known.

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

/// A part of the timeline.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Area {
    /// Time of the area, from its start up to and without its end; see [`Area::EVERYTHING`].
    pub range: Interval,
    /// Lines of the area, each once.
    pub lines: Vec<LineId>,
}

impl Area {
    /// A range that cuts no event and leaves none out.
    pub const EVERYTHING: Interval = Interval { start: Ps::new(i64::MIN), end: Ps::MAX };

    /// All events of a trace.
    pub fn everything(trace: &Trace) -> Area {
        Area { range: Area::EVERYTHING, lines: trace.line_ids().collect() }
    }
}

/// Count and times of some events, of each the part in the range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sums {
    /// Number of the events.
    pub count: u64,
    /// Sum of the events' durations.
    pub total: Ps,
    /// Sum of the events' self times: an instant of a line is self time of the latest started event that still runs.
    pub self_time: Ps,
    /// The shortest duration.
    pub min: Ps,
    /// The longest duration.
    pub max: Ps,
}

impl Sums {
    /// Sums of no event.
    pub const NONE: Sums = Sums { count: 0, total: Ps::ZERO, self_time: Ps::ZERO, min: Ps::MAX, max: Ps::ZERO };

    /// Adds an event, of which so much lies in the range; its self time comes extra.
    #[inline]
    fn add(&mut self, length: Ps) {
        self.count += 1;
        self.total += length;
        self.min = self.min.min(length);
        self.max = self.max.max(length);
    }

    /// Adds the sums of more events.
    fn add_all(&mut self, other: &Sums) {
        self.count += other.count;
        self.total += other.total;
        self.self_time += other.self_time;
        self.min = self.min.min(other.min);
        self.max = self.max.max(other.max);
    }

    /// Mean duration in microseconds; absent for no event.
    pub fn mean_us(&self) -> Option<f64> {
        (self.count > 0).then(|| self.total.as_us() / self.count as f64)
    }
}

/// The events of one group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Group {
    /// What the events have in common: a number of the [`Grouping`].
    pub number: u32,
    /// Sums of the events.
    pub sums: Sums,
}

/// The groups that have events in an area, in the order in which they are met. Linear in the events of the area, but for those of
/// stretches whose sums are made.
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

/// The groups that were met so far.
struct Gathered<'a> {
    grouping: &'a Grouping<'a>,
    groups: Vec<Group>,
    /// Place in `groups` by number.
    places: Vec<u32>,
}

impl Gathered<'_> {
    /// The place of a kind's group.
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
    /// The sums of the part are known.
    Sums(StretchSums<'a>),
    /// The sums of the part are not known.
    Events(EventsIn<'a>),
}

/// Calls `visit` with the parts of a range of a line, by time: no event is in two of them.
fn for_each_part(source: Source<'_>, line: LineId, range: Interval, mut visit: impl FnMut(Part<'_>)) {
    let mut from = range.start;
    let events = |from, to| Part::Events(EventsIn::new(source, line, Interval::new(from, to)));
    source.made.stretches.for_each_in(line, range, |time, stretch| {
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
