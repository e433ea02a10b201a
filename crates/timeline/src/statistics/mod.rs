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
//! Of which group an event is, is asked of its [kind](trace::Events::kinds), once for all events of the kind; then one walk adds them up.

mod counters;
mod events_in;
mod grouping;
mod listed;
#[cfg(test)]
mod tests;

pub use counters::{CounterValues, counter_in};
pub use events_in::EventsIn;
pub use grouping::{GroupBy, Grouping};
pub use listed::{ListedEvent, events};

use base::Ps;
use metrics::{Percentiles, SelfTime, percentiles};
use trace::{Interval, LineId, Trace};

use crate::Source;

/// A part of the timeline.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Area {
    /// From its start up to and without its end; see [`Area::EVERYTHING`].
    pub range: Interval,
    /// Its lines, each once.
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
    /// How many.
    pub count: u64,
    /// Sum of their durations.
    pub total: Ps,
    /// Sum of their self times: an instant of a line is self time of the latest started event that still runs.
    pub self_time: Ps,
    /// The shortest duration.
    pub min: Ps,
    /// The longest duration.
    pub max: Ps,
}

impl Sums {
    /// Of no event.
    pub const NONE: Sums = Sums { count: 0, total: Ps::ZERO, self_time: Ps::ZERO, min: Ps::MAX, max: Ps::ZERO };

    /// Mean duration in microseconds; absent for no event.
    pub fn mean_us(&self) -> Option<f64> {
        (self.count > 0).then(|| self.total.as_us() / self.count as f64)
    }
}

/// The events of one group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Group {
    /// What they have in common: a number of the [`Grouping`].
    pub number: u32,
    /// Their sums.
    pub sums: Sums,
}

/// The groups that have events in an area, in the order in which they are met. Linear in the events of the area.
pub fn groups(source: Source<'_>, area: &Area, grouping: &Grouping) -> Vec<Group> {
    let mut groups: Vec<Group> = Vec::new();
    let mut places: Vec<u32> = vec![u32::MAX; grouping.len()];
    for &line in &area.lines {
        let mut running = SelfTime::default();
        EventsIn::new(source, line, area.range).for_each(|kind, inside| {
            let Some(&number) = grouping.of_kinds().get(kind) else { return };
            let Some(place) = places.get_mut(number as usize) else { return };
            if *place == u32::MAX {
                *place = groups.len() as u32;
                groups.push(Group { number, sums: Sums::NONE });
            }
            let (place, length) = (*place as usize, inside.length());
            if let Some(Group { sums, .. }) = groups.get_mut(place) {
                sums.count += 1;
                sums.total += length;
                sums.min = sums.min.min(length);
                sums.max = sums.max.max(length);
            }
            running.start(place, inside, &mut |place, own| give(&mut groups, place, own));
        });
        running.finish(&mut |place, own| give(&mut groups, place, own));
    }
    groups
}

#[inline]
fn give(groups: &mut [Group], place: usize, own: Interval) {
    groups.get_mut(place).into_iter().for_each(|group| group.sums.self_time += own.length());
}

/// Median and 95th percentile of each of these groups, which [`groups`] found in the area. Linear in the events of the area; takes 8 bytes
/// for each event of the groups.
pub fn percentiles_of(source: Source<'_>, area: &Area, grouping: &Grouping, groups: &[Group]) -> Vec<Percentiles> {
    // The durations of a group stand beside one another: `next` is the place of its next one.
    let mut next: Vec<usize> = Vec::with_capacity(groups.len());
    let mut places: Vec<u32> = vec![u32::MAX; grouping.len()];
    let mut count = 0;
    for (place, group) in (0..).zip(groups) {
        next.push(count);
        count += usize::try_from(group.sums.count).unwrap_or_default();
        places.get_mut(group.number as usize).into_iter().for_each(|slot| *slot = place);
    }
    let place = |number: &u32| places.get(*number as usize).copied().unwrap_or(u32::MAX);
    let of_kinds: Vec<u32> = grouping.of_kinds().iter().map(place).collect();
    let mut durations = vec![Ps::ZERO; count];
    for &line in &area.lines {
        EventsIn::new(source, line, area.range).for_each(|kind, inside| {
            let group = of_kinds.get(kind).map_or(usize::MAX, |&group| group as usize);
            let Some(next) = next.get_mut(group) else { return };
            durations.get_mut(*next).into_iter().for_each(|slot| *slot = inside.length());
            *next += 1;
        });
    }
    let mut rest = durations.as_mut_slice();
    let of_group = |group: &Group| {
        let count = usize::try_from(group.sums.count).unwrap_or_default().min(rest.len());
        let (own, others) = std::mem::take(&mut rest).split_at_mut(count);
        rest = others;
        percentiles(own).unwrap_or(Percentiles { median_us: 0.0, p95: Ps::ZERO })
    };
    groups.iter().map(of_group).collect()
}
