//! One line of a device while its events are decoded: which of them are kept on the chip's clock.

use super::knots::Knots;
use super::{ChipTime, LineId};
use crate::{EventId, Events};
use base::{Ps, sort};

/// Events that together decide by what the two clocks differ: one damaged value among the first decides nothing.
const VOTERS: usize = 15;

/// By how much the difference of the clocks may change from one event to the next (ours: 10 times the largest seen). More is a chip
/// whose clock was reset, or a damaged value.
const MOST_CHANGE: u64 = 2_000_000_000_000;

/// See the module.
#[derive(Clone, Debug)]
pub(super) struct Track {
    pub line: LineId,
    /// Event with the first chip time. Rows of the line before it hold event times.
    pub first: EventId,
    /// Later ones that hold event times, ascending.
    pub without: Vec<EventId>,
    /// Events that hold chip times.
    pub clocked: u64,
    /// Events whose chip time was not used.
    pub refused: u64,
    pub knots: Knots,
    waiting: Vec<Waiting>,
    /// Event time less chip time of the latest op; `None` while events wait.
    latest: Option<i64>,
}

/// An event that waits for the decision; its row holds the event's time.
#[derive(Clone, Copy, Debug)]
struct Waiting {
    id: EventId,
    event: (Ps, Ps),
    /// `None` where it has no chip time that could be used.
    chip: Option<(Ps, Ps)>,
    /// Whether the file gives it one.
    is_given: bool,
}

impl Track {
    pub fn new(line: LineId, first: EventId) -> Track {
        Track {
            line,
            first,
            without: Vec::new(),
            clocked: 0,
            refused: 0,
            knots: Knots::default(),
            waiting: Vec::new(),
            latest: None,
        }
    }

    /// Takes the event `id`, with start and duration of its event time and of its chip, and returns those that its row is to hold.
    #[inline]
    pub fn add(&mut self, events: &mut Events, id: EventId, event: (Ps, Ps), chip: ChipTime) -> (Ps, Ps) {
        let chip = fitting((chip.start, chip.duration.unwrap_or(event.1)));
        if self.latest.is_none() {
            if self.waiting.len() < VOTERS {
                self.waiting.push(Waiting { id, event, chip, is_given: true });
                return event;
            }
            self.settle_waiting(events);
        }
        match chip.filter(|chip| self.continues(event, *chip)) {
            Some(chip) => {
                self.accept(event, chip);
                chip
            }
            None => {
                self.refused += 1;
                self.without.push(id);
                event
            }
        }
    }

    /// Takes an event without a chip time.
    pub fn add_without(&mut self, events: &mut Events, id: EventId) {
        if self.latest.is_none() && self.waiting.len() >= VOTERS {
            self.settle_waiting(events);
        }
        if self.latest.is_some() {
            self.without.push(id);
        } else {
            // In the list of those without, it may not come before those that wait.
            self.waiting.push(Waiting { id, event: (Ps::ZERO, Ps::ZERO), chip: None, is_given: false });
        }
    }

    /// All events were taken.
    pub fn settle(&mut self, events: &mut Events) {
        self.settle_waiting(events);
        self.knots.finish();
    }

    fn settle_waiting(&mut self, events: &mut Events) {
        let waiting = std::mem::take(&mut self.waiting);
        let mut deltas: Vec<i64> =
            waiting.iter().filter_map(|it| it.event.0.as_ps().checked_sub(it.chip?.0.as_ps())).collect();
        sort::numbers(&mut deltas);
        if let Some(&middle) = deltas.get(deltas.len() / 2) {
            self.latest = Some(middle);
        }
        for Waiting { id, event, chip, is_given } in waiting {
            let chip = chip.filter(|chip| self.continues(event, *chip));
            // A row that was handed over already keeps its event time.
            match chip.filter(|chip| events.set_time(id, chip.0, chip.1)) {
                Some(chip) => self.accept(event, chip),
                None => {
                    self.refused += u64::from(is_given);
                    self.without.push(id);
                }
            }
        }
    }

    /// Whether a chip's time follows those before.
    #[inline]
    fn continues(&self, event: (Ps, Ps), chip: (Ps, Ps)) -> bool {
        let delta = event.0.as_ps().checked_sub(chip.0.as_ps());
        self.latest.zip(delta).is_some_and(|(latest, delta)| latest.abs_diff(delta) <= MOST_CHANGE)
    }

    #[inline]
    fn accept(&mut self, event: (Ps, Ps), chip: (Ps, Ps)) {
        let (start, end) = (event.0, event.0 + event.1);
        let deltas = [(start - chip.0).as_ps(), (end - (chip.0 + chip.1)).as_ps()];
        self.clocked += 1;
        self.latest = Some(deltas[0]);
        self.knots.add([start.as_ps(), end.as_ps()], deltas);
    }
}

/// Start and duration where both are possible.
fn fitting(chip: (Ps, Ps)) -> Option<(Ps, Ps)> {
    let (start, duration) = chip;
    (duration >= Ps::ZERO && start.as_ps().checked_add(duration.as_ps()).is_some()).then_some(chip)
}
