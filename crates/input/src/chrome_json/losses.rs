//! Counts lost and unusual data during reading, and reports it once at the end.

use base::{Warning, WarningCode};

/// A kind of loss, in the order of the warnings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum JsonLoss {
    Unreadable,
    TooLarge,
    NotANumber,
    Untimed,
    OutOfRange,
    NegativeDuration,
    UnmatchedBegin,
    UnmatchedEnd,
    UnknownPhase,
    TooMany,
    OverlappingPair,
}

const KINDS: usize = 11;

/// Number of losses of each kind, and the position of the first one.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct JsonLosses {
    counts: [(u64, u64); KINDS],
}

impl JsonLosses {
    /// Counts a loss at `offset` bytes in the decompressed text.
    #[cold]
    pub fn add(&mut self, loss: JsonLoss, offset: u64) {
        self.add_all(loss, 1, offset);
    }

    /// Counts several losses, the first of them at `offset`.
    pub fn add_all(&mut self, loss: JsonLoss, more: u64, offset: u64) {
        if let Some((count, first)) = self.counts.get_mut(loss as usize).filter(|_| more > 0) {
            // Pairs are closed and times are placed later than they are read, so the lowest position is the first.
            *first = if *count == 0 { offset } else { offset.min(*first) };
            *count += more;
        }
    }

    /// Returns one warning for each kind that occurred.
    pub fn warnings(&self) -> impl Iterator<Item = Warning> + '_ {
        let kinds = [
            JsonLoss::Unreadable,
            JsonLoss::TooLarge,
            JsonLoss::NotANumber,
            JsonLoss::Untimed,
            JsonLoss::OutOfRange,
            JsonLoss::NegativeDuration,
            JsonLoss::UnmatchedBegin,
            JsonLoss::UnmatchedEnd,
            JsonLoss::UnknownPhase,
            JsonLoss::TooMany,
            JsonLoss::OverlappingPair,
        ];
        kinds
            .into_iter()
            .zip(self.counts)
            .filter(|(_, (count, _))| *count > 0)
            .map(|(loss, (count, first))| describe(loss, count).with_offset(first).with_count(count))
    }
}

fn describe(loss: JsonLoss, count: u64) -> Warning {
    let events = if count == 1 { "1 event".to_owned() } else { format!("{count} events") };
    let place = "the offset is that of the first, in the unpacked text";
    match loss {
        JsonLoss::Unreadable => Warning::new(
            WarningCode::EventUnreadable,
            format!("The event list is malformed in {count} place(s): what stood there was left out, reading went on at the next event; {place}."),
        )
        .with_remedy("Copy the file again from where it was captured; if it is the same there, capture again."),
        JsonLoss::TooLarge => Warning::new(
            WarningCode::EventTooLarge,
            format!("{events} larger than 16 MiB: left out; {place}."),
        ),
        JsonLoss::NotANumber => Warning::new(
            WarningCode::TimeNotANumber,
            format!("{events} without a start or a duration that is a number (NaN, null or missing): left out; {place}."),
        ),
        JsonLoss::Untimed => Warning::new(
            WarningCode::UntimedEvents,
            format!("{events} with neither a start nor a duration (both are 0): left out; {place}."),
        ),
        JsonLoss::OutOfRange => Warning::new(
            WarningCode::TimeOutOfRange,
            format!("{events} more than 106 days from the rest of the capture: left out; {place}."),
        ),
        JsonLoss::NegativeDuration => Warning::new(
            WarningCode::NegativeDuration,
            format!("{events} with a negative duration: left out; {place}."),
        ),
        JsonLoss::UnmatchedBegin => Warning::new(
            WarningCode::UnmatchedBegin,
            format!("{events} that begin and never end: their duration is not known, so they were left out; {place}."),
        ),
        JsonLoss::UnmatchedEnd => Warning::new(
            WarningCode::UnmatchedEnd,
            format!("{count} end(s) of events whose begin is not in the file: left out; {place}."),
        ),
        JsonLoss::UnknownPhase => Warning::new(
            WarningCode::UnknownPhase,
            format!("{events} of a kind that is not a duration known here: left out; {place}."),
        ),
        JsonLoss::OverlappingPair => Warning::new(
            WarningCode::OverlappingPairs,
            format!(
                "{events} on a thread end while one that began later goes on: each has the time from its begin to the end of its name; {place}."
            ),
        ),
        JsonLoss::TooMany => Warning::new(
            WarningCode::TooManyEvents,
            format!("{events} beyond the limit of 4,294,967,295 events of one file: left out."),
        ),
    }
}
