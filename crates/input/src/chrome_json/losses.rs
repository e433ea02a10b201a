//! Counts lost and unusual data during reading, and reports it once at the end.

use base::{Warning, WarningCode};

/// A kind of loss. The variants have the order of the warnings.
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

/// Number of losses of each kind, and the position of the first loss.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct JsonLosses {
    counts: [(u64, u64); KINDS],
}

impl JsonLosses {
    /// Counts a loss at `offset` bytes in the decompressed text.
    #[cold]
    pub(super) fn add(&mut self, loss: JsonLoss, offset: u64) {
        self.add_all(loss, 1, offset);
    }

    /// Counts `more` further losses. The first of them is at `offset` in the text.
    pub(super) fn add_all(&mut self, loss: JsonLoss, more: u64, offset: u64) {
        if let Some((count, first)) = self.counts.get_mut(loss as usize).filter(|_| more > 0) {
            // Some losses are found only later, when pairs are closed or times are placed, so the lowest position is the
            // first.
            *first = if *count == 0 { offset } else { offset.min(*first) };
            *count += more;
        }
    }

    /// Returns one warning for each kind that occurred.
    pub(super) fn warnings(&self) -> impl Iterator<Item = Warning> + '_ {
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
    let place = "The offset is the position of the first one in the decompressed text";
    match loss {
        JsonLoss::Unreadable => Warning::new(
            WarningCode::EventUnreadable,
            format!("The event list is malformed in {count} place(s). These parts were skipped, and reading continued at the next event. {place}."),
        )
        .with_remedy("Copy the file again from where it was captured. If the original has the same problem, capture again."),
        JsonLoss::TooLarge => Warning::new(
            WarningCode::EventTooLarge,
            format!("Skipped {events} larger than 16 MiB. {place}."),
        ),
        JsonLoss::NotANumber => Warning::new(
            WarningCode::TimeNotANumber,
            format!("Skipped {events} whose start or duration is not a number (NaN, null or missing). {place}."),
        ),
        JsonLoss::Untimed => Warning::new(
            WarningCode::UntimedEvents,
            format!("Skipped {events} with neither a start nor a duration (both are 0). {place}."),
        ),
        JsonLoss::OutOfRange => Warning::new(
            WarningCode::TimeOutOfRange,
            format!("Skipped {events} more than 106 days away from the rest of the capture. {place}."),
        ),
        JsonLoss::NegativeDuration => Warning::new(
            WarningCode::NegativeDuration,
            format!("Skipped {events} with a negative duration. {place}."),
        ),
        JsonLoss::UnmatchedBegin => Warning::new(
            WarningCode::UnmatchedBegin,
            format!("Skipped {events} without an end, since their duration is unknown. {place}."),
        ),
        JsonLoss::UnmatchedEnd => Warning::new(
            WarningCode::UnmatchedEnd,
            format!("Skipped {count} end(s) of events whose begin is not in the file. {place}."),
        ),
        JsonLoss::UnknownPhase => Warning::new(
            WarningCode::UnknownPhase,
            format!("Skipped {events} of an unknown kind. {place}."),
        ),
        JsonLoss::OverlappingPair => Warning::new(
            WarningCode::OverlappingPairs,
            format!(
                "{events} on a thread end before an event that began later. Each lasts from its begin to the next end with the same name. {place}."
            ),
        ),
        JsonLoss::TooMany => Warning::new(
            WarningCode::TooManyEvents,
            format!("Skipped {events} beyond the limit of 4,294,967,295 events per file."),
        ),
    }
}
