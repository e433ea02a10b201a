//! Removes events whose absurd times would stretch the capture: events without times, and a few events that are far
//! away from all others.
//!
//! If a writer lacks the times of an event, it writes 0 as the start and the duration. Events without times do not
//! belong to a capture that begins later, even if there are many. An event far away from all others is removed only if
//! the gap is longer than an hour. No profile contains such a gap.
//!
//! ```text
//! starts    |                                                 |||| ||||| |||||
//!           1 event  <---- gap of over an hour and -------->   the others
//!                          10 times the others' span
//! ```
//!
//! At most one event in a thousand (or a single event) is treated as absurd. A file with two distant halves therefore
//! keeps both halves.

use base::Ps;
use trace::{Event, EventId, Events};

const HOUR: i64 = 3_600_000_000_000_000;
/// Maximum number of cuts at gaps between events. Further gaps stay.
const MAX_CUTS: usize = 8;

/// If the capture begins within this many picoseconds of zero, zero is a valid time, and events at zero are kept.
const BEGINS_AT_ZERO: i64 = 1_000_000_000;

/// The events with plausible times.
#[derive(Debug)]
pub(super) struct Plausible {
    /// The remaining events.
    pub events: Events,
    /// For each removed event, the index in `events` of the event that follows it, or one past the last event.
    pub left_out: Vec<EventId>,
    /// Number of removed events with neither a start nor a duration.
    pub untimed: u64,
}

/// Returns the events with plausible times, or `None` if all events have plausible times.
pub(super) fn plausible(events: &Events) -> Option<Plausible> {
    let has_time = |event: &Event| event.start != Ps::ZERO || event.duration != Ps::ZERO;
    let timed = || events.iter().filter(has_time);
    let (mut first, mut last, mut count) = (i64::MAX, i64::MIN, 0);
    timed().for_each(|event| {
        (first, last) = (first.min(event.start.as_ps()), last.max(event.end().as_ps()));
        count += 1;
    });
    if count == 0 {
        return None;
    }
    let untimed = if (-BEGINS_AT_ZERO..=BEGINS_AT_ZERO).contains(&first) { 0 } else { events.len() - count };
    let keep_untimed = untimed == 0;
    let with_time = |event: &Event| keep_untimed || has_time(event);
    if last.checked_sub(first).is_some_and(|span| span <= HOUR) {
        return (untimed > 0).then(|| filtered(events, untimed, with_time));
    }
    let allowed = (count / 1000).max(1);
    let (first, last) = plausible_starts(timed().map(|event| event.start.as_ps()).collect(), allowed);
    let longest = last.saturating_sub(first).saturating_mul(100).max(HOUR);
    let in_time = |event: &Event| !has_time(event) || (first..=last).contains(&event.start.as_ps());
    let lasting = timed().filter(|event| in_time(event) && event.duration > Ps::new(longest)).count();
    // If many events are long, they are normal for the file. If only a few events are long, their clock is broken.
    let longest = if lasting <= allowed && lasting < count { longest } else { i64::MAX };
    let keep = |event: &Event| with_time(event) && in_time(event) && event.duration <= Ps::new(longest);
    events.iter().any(|event| !keep(&event)).then(|| filtered(events, untimed, keep))
}

/// Returns the first and the last start that remain after the starts are cut at their largest gaps. A part is cut off
/// only if it has few events and is far away.
fn plausible_starts(mut starts: Vec<i64>, allowed: usize) -> (i64, i64) {
    starts.sort_unstable();
    let mut kept = starts.as_slice();
    let mut left = allowed;
    let span = |part: &[i64]| match (part.first(), part.last()) {
        (Some(first), Some(last)) => last.saturating_sub(*first),
        _ => 0,
    };
    for _ in 0..MAX_CUTS {
        let gaps = kept.windows(2).map(span).enumerate();
        let Some((at, gap)) = gaps.max_by_key(|&(at, gap)| (gap, std::cmp::Reverse(at))) else { break };
        let (before, after) = kept.split_at(at + 1);
        let (few, many) = if before.len() < after.len() { (before, after) } else { (after, before) };
        let is_far = gap > HOUR && gap / 10 > span(many);
        if !is_far || few.len() > left || few.len() == many.len() {
            break;
        }
        left -= few.len();
        kept = many;
    }
    (kept.first().copied().unwrap_or(i64::MIN), kept.last().copied().unwrap_or(i64::MAX))
}

fn filtered(events: &Events, untimed: usize, keep: impl Fn(&Event) -> bool) -> Plausible {
    let (mut kept, mut left_out) = (Events::default(), Vec::new());
    for id in events.ids() {
        match events.get(id).filter(&keep).and_then(|event| kept.push(event)) {
            Some(new) => kept.push_values(new, &events.values(id)),
            None => left_out.extend(u32::try_from(kept.len()).map(EventId::new)),
        }
    }
    Plausible { events: kept, left_out, untimed: untimed as u64 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use trace::EventColumn;

    /// `seconds` contains the start and the duration of each event.
    fn kept(seconds: &[(i64, i64)]) -> Option<(usize, u64)> {
        let mut events = Events::default();
        for (run, &(start, duration)) in (0..).zip(seconds) {
            let unit = 1_000_000_000_000;
            let id = events.push(Event {
                line: Default::default(),
                name: Default::default(),
                start: Ps::new(start.saturating_mul(unit)),
                duration: Ps::new(duration.saturating_mul(unit)),
                args: Default::default(),
            });
            events.push_value(id.unwrap(), EventColumn::RunId, run);
        }
        let Plausible { events, left_out, .. } = plausible(&events)?;
        assert_eq!(events.column(EventColumn::RunId).len(), events.len());
        Some((events.len(), left_out.len() as u64))
    }

    #[test]
    fn a_single_far_event_is_left_out_and_a_second_half_is_not() {
        assert_eq!(kept(&[(0, 1), (5, 1), (98, 1)]), None);
        assert_eq!(kept(&[(0, 1), (5, 1), (98, 1), (5_000_000, 1)]), Some((3, 1)));
        assert_eq!(kept(&[(-5_000_000, 1), (5, 1), (98, 1)]), Some((2, 1)));
        assert_eq!(kept(&[(0, 1), (5, 1), (98, 1), (2, 5_000_000)]), Some((3, 1)));
        assert_eq!(kept(&[(0, 1), (5, 1), (5_000_000, 1), (5_000_001, 1)]), None);
        assert_eq!(kept(&[(0, 1), (5_000_000, 1)]), None);
        assert_eq!(kept(&[(0, 5_000_000)]), None);
        assert_eq!(kept(&[]), None);
    }

    #[test]
    fn events_without_times_are_left_out_of_a_capture_that_begins_later() {
        let untimed = |count: usize, others: &[(i64, i64)]| kept(&[vec![(0, 0); count], others.to_vec()].concat());
        assert_eq!(untimed(50, &[(5, 1), (6, 1)]), Some((2, 50)));
        assert_eq!(untimed(50, &[(50_000, 1), (50_001, 1)]), Some((2, 50)));
        assert_eq!(untimed(2, &[(5, 1), (6, 1), (5_000_000, 1)]), Some((2, 3)));
        // Events without times stay if the capture begins at zero, or if there are no others.
        assert_eq!(untimed(2, &[(0, 1), (6, 1)]), None);
        assert_eq!(untimed(2, &[(0, 1), (1, 1), (5_000_000, 1)]), Some((4, 1)));
        assert_eq!(untimed(2, &[]), None);
    }
}
