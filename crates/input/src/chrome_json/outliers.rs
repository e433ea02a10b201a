//! One absurd timestamp or duration must not stretch the capture: a handful of events that lie far from all others are
//! left out.
//!
//! Far is judged only where the events cover more than an hour, which no profile does:
//!
//! ```text
//! starts    |                                                 |||| ||||| |||||
//!           1 event  <---- gap over an hour and over ----->   the others
//!                          10 times the others' span
//! ```
//!
//! At most one event in a thousand (or a single one) is taken for absurd, so a file with two halves keeps both.

use base::Ps;
use trace::{Event, EventId, Events};

const HOUR: i64 = 3_600_000_000_000_000;
/// Cuts after which the rest is kept as it is.
const MAX_CUTS: usize = 8;

/// The events that are left, and for each of the absurd ones the event that has its place, also behind the last; `None` where all are
/// plausible.
pub(super) fn without_outliers(events: &Events) -> Option<(Events, Vec<EventId>)> {
    let all = || events.iter();
    let first = all().map(|event| event.start.as_ps()).min()?;
    let last = all().map(|event| event.end().as_ps()).max()?;
    if last.checked_sub(first).is_some_and(|span| span <= HOUR) {
        return None;
    }
    let allowed = (events.len() / 1000).max(1);
    let (first, last) = plausible_starts(all().map(|event| event.start.as_ps()).collect(), allowed);
    let longest = last.saturating_sub(first).saturating_mul(100).max(HOUR);
    let in_time = |event: &Event| (first..=last).contains(&event.start.as_ps());
    let lasting = all().filter(|event| in_time(event) && event.duration > Ps::new(longest)).count();
    // Many long events are what the file is about; a few are a broken clock.
    let longest = if lasting <= allowed && lasting < events.len() { longest } else { i64::MAX };
    let keep = |event: &Event| in_time(event) && event.duration <= Ps::new(longest);
    all().any(|event| !keep(&event)).then(|| filtered(events, keep))
}

/// First and last start after cutting off what lies behind the largest gap, as long as it is little and far.
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

fn filtered(events: &Events, keep: impl Fn(&Event) -> bool) -> (Events, Vec<EventId>) {
    let (mut kept, mut left_out) = (Events::default(), Vec::new());
    for id in events.ids() {
        match events.get(id).filter(&keep).and_then(|event| kept.push(event)) {
            Some(new) => kept.push_values(new, &events.values(id)),
            None => left_out.extend(u32::try_from(kept.len()).map(EventId::new)),
        }
    }
    (kept, left_out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use trace::EventColumn;

    /// Events of `(start, duration)` in seconds.
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
        let (events, removed) = without_outliers(&events)?;
        assert_eq!(events.column(EventColumn::RunId).len(), events.len());
        Some((events.len(), removed.len() as u64))
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
}
