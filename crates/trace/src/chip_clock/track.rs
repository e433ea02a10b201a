//! Collects the chip times of one line of a device. Decides which events of the line use the chip's clock.

use super::knots::Knots;
use super::{ChipTime, LineId};
use crate::{EventId, Events};
use base::{Ps, sort};

/// Number of events at the start of a line that together determine the difference between the clocks. One damaged value
/// then has no effect.
const VOTERS: usize = 15;

/// Maximum change in the difference between the clocks from one event to the next. The limit is 10 times the largest
/// measured change. A larger change means that the chip's clock was reset or that the value is damaged.
const MOST_CHANGE: u64 = 2_000_000_000_000;

/// Chip times of one line while the line is decoded. See the [module](self).
#[derive(Clone, Debug)]
pub(super) struct Track {
    pub line: LineId,
    /// First event with a chip time. Earlier rows of the line contain event times.
    pub first: EventId,
    /// Later events whose rows contain event times, in ascending order.
    pub without: Vec<EventId>,
    /// Number of events whose rows contain chip times.
    pub clocked: u64,
    /// Number of events whose chip time was not used.
    pub refused: u64,
    pub knots: Knots,
    waiting: Vec<Waiting>,
    /// Event time minus chip time of the latest op. `None` while events wait until their clock is decided.
    latest: Option<i64>,
}

/// An event that waits until its clock is decided. The row of a waiting event contains the event time.
#[derive(Clone, Copy, Debug)]
struct Waiting {
    id: EventId,
    event: (Ps, Ps),
    /// Chip time as start and duration. `None` if the event has no usable chip time.
    chip: Option<(Ps, Ps)>,
    /// True if the file contains a chip time for the event.
    is_given: bool,
}

impl Track {
    pub(super) fn new(line: LineId, first: EventId) -> Track {
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

    /// Adds the event `id` with its start and duration in event time and in chip time. Returns the time that the
    /// event's row must contain.
    #[inline]
    pub(super) fn add(&mut self, events: &mut Events, id: EventId, event: (Ps, Ps), chip: ChipTime) -> (Ps, Ps) {
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

    /// Adds an event without a chip time.
    pub(super) fn add_without(&mut self, events: &mut Events, id: EventId) {
        if self.latest.is_none() && self.waiting.len() >= VOTERS {
            self.settle_waiting(events);
        }
        if self.latest.is_some() {
            self.without.push(id);
        } else {
            // The list of events without chip times is ascending, so this event cannot precede the events that wait.
            self.waiting.push(Waiting { id, event: (Ps::ZERO, Ps::ZERO), chip: None, is_given: false });
        }
    }

    /// Decides the clock of the events that still wait, after all events were added.
    pub(super) fn settle(&mut self, events: &mut Events) {
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
            // A row that was already passed on keeps its event time.
            match chip.filter(|chip| events.set_time(id, chip.0, chip.1)) {
                Some(chip) => self.accept(event, chip),
                None => {
                    self.refused += u64::from(is_given);
                    self.without.push(id);
                }
            }
        }
    }

    /// Returns true if a chip time continues the preceding chip times.
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

/// Returns the start and the duration if both values are possible.
fn fitting(chip: (Ps, Ps)) -> Option<(Ps, Ps)> {
    let (start, duration) = chip;
    (duration >= Ps::ZERO && start.as_ps().checked_add(duration.as_ps()).is_some()).then_some(chip)
}
