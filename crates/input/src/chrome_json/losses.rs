//! What was lost on the way, counted while reading and told once at the end.

use base::{Warning, WarningCode};

/// A kind of loss; the order is that of the warnings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Loss {
    Unreadable,
    TooLarge,
    NotANumber,
    OutOfRange,
    NegativeDuration,
    UnmatchedBegin,
    UnmatchedEnd,
    UnknownPhase,
    TooMany,
}

const KINDS: usize = 9;

/// Number of each loss and where it happened first.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Losses {
    counts: [(u64, u64); KINDS],
}

impl Losses {
    /// Counts a loss at `offset` bytes of the unpacked text.
    #[cold]
    pub fn add(&mut self, loss: Loss, offset: u64) {
        if let Some((count, first)) = self.counts.get_mut(loss as usize) {
            // Pairs are closed, and times placed, later than they are read: the first place is the lowest.
            *first = if *count == 0 { offset } else { offset.min(*first) };
            *count += 1;
        }
    }

    /// One warning for each kind that occurred.
    pub fn warnings(&self) -> impl Iterator<Item = Warning> + '_ {
        let kinds = [
            Loss::Unreadable,
            Loss::TooLarge,
            Loss::NotANumber,
            Loss::OutOfRange,
            Loss::NegativeDuration,
            Loss::UnmatchedBegin,
            Loss::UnmatchedEnd,
            Loss::UnknownPhase,
            Loss::TooMany,
        ];
        kinds
            .into_iter()
            .zip(self.counts)
            .filter(|(_, (count, _))| *count > 0)
            .map(|(loss, (count, first))| describe(loss, count).with_offset(first).with_count(count))
    }
}

fn describe(loss: Loss, count: u64) -> Warning {
    let events = if count == 1 { "1 event".to_owned() } else { format!("{count} events") };
    let place = "the offset is that of the first, in the unpacked text";
    match loss {
        Loss::Unreadable => Warning::new(
            WarningCode::EventUnreadable,
            format!("The event list is malformed in {count} place(s): what stood there was left out, reading went on at the next event; {place}."),
        )
        .with_remedy("Copy the file again from where it was captured; if it is the same there, capture again."),
        Loss::TooLarge => Warning::new(
            WarningCode::EventTooLarge,
            format!("{events} larger than 16 MiB: left out; {place}."),
        ),
        Loss::NotANumber => Warning::new(
            WarningCode::TimeNotANumber,
            format!("{events} without a start or a duration that is a number (NaN, null or missing): left out; {place}."),
        ),
        Loss::OutOfRange => Warning::new(
            WarningCode::TimeOutOfRange,
            format!("{events} more than 106 days from the rest of the capture: left out; {place}."),
        ),
        Loss::NegativeDuration => Warning::new(
            WarningCode::NegativeDuration,
            format!("{events} with a negative duration: left out; {place}."),
        ),
        Loss::UnmatchedBegin => Warning::new(
            WarningCode::UnmatchedBegin,
            format!("{events} that begin and never end: their duration is not known, so they were left out; {place}."),
        ),
        Loss::UnmatchedEnd => Warning::new(
            WarningCode::UnmatchedEnd,
            format!("{count} end(s) of events whose begin is not in the file: left out; {place}."),
        ),
        Loss::UnknownPhase => Warning::new(
            WarningCode::UnknownPhase,
            format!("{events} of a kind that is not a duration known here: left out; {place}."),
        ),
        Loss::TooMany => Warning::new(
            WarningCode::TooManyEvents,
            format!("{events} beyond the limit of 4,294,967,295 events of one file: left out."),
        ),
    }
}
