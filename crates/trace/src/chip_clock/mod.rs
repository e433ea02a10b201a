//! Puts the events of each device onto one clock. For a TPU, this is the clock of the chip that ran the events.
//!
//! The profiler records two times for each op of a TPU. The chip time comes from the chip's own counter
//! (`device_offset_ps`, `device_duration_ps`). The event time is the time that the profiler has aligned with the host's
//! clock. The profiler may repeat the alignment during the capture. Between two alignments, event times are early or
//! late by up to hundreds of milliseconds, and ops around an alignment are stretched or squeezed.
//!
//! ```text
//! chip    [a  )[b  )[c  )[d  )[e  )[f  )     actual execution
//! event   [a  )[b         )[c  )[d )|[f  )   stretched b, late c and d, squeezed e
//! row     [a  )[b  )[c  )[d  )[e  )[f  )     the chip's times, all shifted to the host's clock
//! ```
//!
//! For this reason, rows contain chip times while a file is decoded (`Trace::push_event`). At the end of the file, all
//! rows of a plane are moved by the same shift (`Trace::settle_clocks`). This shift comes from the straight line that
//! fits the event times best (`fit`). Events of the plane that have no chip time (programs, marks) are mapped with the
//! help of the ops around them (`knots`). [`ChipClock`] records how far the event times are from the straight line, for
//! comparisons between a device and the host.

mod fit;
mod knots;
mod place;
mod track;

#[cfg(test)]
mod tests;

pub(crate) use knots::{Knot, Warp};
pub(crate) use place::{Unplaced, UnplacedLine};

use std::collections::BTreeMap;

use super::classify::{self, PlaneKind};
use super::{Event, EventId, LineId, Trace};
use base::Ps;
use fit::Line;
use knots::Knots;
use track::Track;

/// Alignment of a device's clock with the host's clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChipClock {
    /// Shift that converts chip times to the times of the trace, in picoseconds.
    pub shift: Ps,
    /// Drift: time that the host's clock gains on the chip's clock, in units of 2^-40 of the elapsed time. Zero if no drift
    /// is measurable.
    pub drift: i64,
    /// Time in the trace at which the clocks of device and host agree exactly. Before and after this time, the drift
    /// separates the clocks.
    pub reference: Ps,
    /// Uncertainty of the shift: half the width of the band that contains the event times used to compute the shift.
    pub uncertainty: Ps,
    /// Number of events that use their chip time.
    pub events: u64,
    /// Number of events whose chip time does not continue the preceding chip times. Either the chip's clock was reset,
    /// or the value is damaged.
    pub refused: u64,
    /// How far event times are from the aligned chip times: the 95th percentile over the starts of ops.
    pub off_p95: Ps,
    /// Maximum distance between an event time and the aligned chip time.
    pub off_max: Ps,
}

impl ChipClock {
    /// Converts a time on the device's clock to the host's clock.
    pub fn to_host(&self, time: Ps) -> Ps {
        time + Ps::new(fit::gain(self.drift, (time - self.reference).as_ps()))
    }

    /// Converts a time on the host's clock to the device's clock.
    pub fn time_from_host(&self, time: Ps) -> Ps {
        if self.drift == 0 {
            return time;
        }
        let since = i128::from((time - self.reference).as_ps());
        let since = (since << fit::DRIFT_BITS) / ((1 << fit::DRIFT_BITS) + i128::from(self.drift));
        self.reference + Ps::new(knots::narrow(since))
    }

    /// Returns the drift in parts per million.
    pub fn drift_ppm(&self) -> f64 {
        self.drift as f64 * 1e6 / (1i64 << fit::DRIFT_BITS) as f64
    }

    /// Returns the clock of a trace whose events were moved later by `shift`.
    pub(super) fn moved(self, shift: Ps) -> ChipClock {
        ChipClock { shift: self.shift + shift, reference: self.reference + shift, ..self }
    }
}

/// Time of an event on its chip's clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChipTime {
    /// Start of the event, counted from the zero of the chip's clock.
    pub start: Ps,
    /// Duration on the chip's clock. If it is `None`, the event's own duration is used.
    pub duration: Option<Ps>,
}

/// State of the chips' clocks while a trace is decoded, and the changes that the trace's rows still need.
#[derive(Clone, Debug, Default)]
pub struct ChipClocks {
    /// For each line, one plus its index in `tracks`, or zero for a line without chip times.
    of_line: Vec<u32>,
    tracks: Vec<Track>,
    /// Changes that rows still need if they were passed on before the clocks were settled.
    pub(super) unplaced: Vec<Unplaced>,
}

impl ChipClocks {
    /// Returns the number of lines that have had chip times so far.
    pub fn lines(&self) -> usize {
        self.tracks.len()
    }

    /// Returns true if any event of `line` so far had a chip time.
    #[inline]
    pub fn has(&self, line: LineId) -> bool {
        self.of_line.get(line.index()).is_some_and(|&place| place > 0)
    }

    fn track(&mut self, line: LineId) -> Option<&mut Track> {
        let place = self.of_line.get(line.index())?.checked_sub(1)?;
        self.tracks.get_mut(place as usize)
    }

    fn begin(&mut self, line: LineId, first: EventId) {
        if self.of_line.len() <= line.index() {
            self.of_line.resize(line.index() + 1, 0);
        }
        self.tracks.push(Track::new(line, first));
        if let Some(place) = self.of_line.get_mut(line.index()) {
            *place = u32::try_from(self.tracks.len()).unwrap_or(0);
        }
    }
}

impl Trace {
    /// Appends an event. `chip` is the time of the event on the chip's clock, if the file records this time. Returns
    /// `None` if the trace already has 2^32 - 1 events.
    #[inline]
    pub fn push_event(&mut self, event: Event, chip: Option<ChipTime>) -> Option<EventId> {
        let line = event.line;
        if chip.is_none() && !self.clocks.has(line) {
            return self.events.push(event);
        }
        let id = u32::try_from(self.events.len()).map(EventId).ok()?;
        if chip.is_some() && !self.clocks.has(line) {
            self.clocks.begin(line, id);
        }
        let Trace { clocks, events, .. } = self;
        let (start, duration) = match (clocks.track(line), chip) {
            (Some(track), Some(chip)) => track.add(events, id, (event.start, event.duration), chip),
            (Some(track), None) => {
                track.add_without(events, id);
                (event.start, event.duration)
            }
            (None, _) => (event.start, event.duration),
        };
        events.push(Event { start, duration, ..event })
    }

    /// Puts all events of each device onto one clock. Call this function after the last event was pushed. Rows that
    /// were already taken out of the trace are moved later. The trace that receives them calls
    /// [`place_rows`](Trace::place_rows).
    pub fn settle_clocks(&mut self) {
        let ChipClocks { mut tracks, .. } = std::mem::take(&mut self.clocks);
        let mut by_plane: BTreeMap<usize, Vec<Track>> = BTreeMap::new();
        for track in &mut tracks {
            track.settle(&mut self.events);
        }
        for track in tracks.into_iter().filter(|track| track.clocked > 0) {
            let Some(line) = self.lines.get(track.line.index()) else { continue };
            by_plane.entry(line.plane.index()).or_default().push(track);
        }
        // All planes have the same reference, so that drift moves devices relative to the host, but not to each other.
        let extents = by_plane.values().flatten().filter_map(|track| track.knots.extent());
        let extent = extents.reduce(|(start, end), other| (start.min(other.0), end.max(other.1)));
        let Some((start, end)) = extent else { return };
        let middle = start + end.saturating_sub(start) / 2;
        for (plane, tracks) in by_plane {
            let Some(unplaced) = self.settle_plane(plane, tracks, middle) else { continue };
            self.clocks.unplaced.push(unplaced);
        }
        if !self.events.has_taken() {
            self.place_rows();
        }
    }

    fn settle_plane(&mut self, index: usize, tracks: Vec<Track>, middle: i64) -> Option<Unplaced> {
        let plane = self.planes.get_mut(index)?;
        // The line with the most ops determines the clock. If several lines have the most, the first one does.
        let main = tracks.iter().rev().max_by_key(|track| track.clocked)?;
        let Line { shift, drift, reference, uncertainty } = fit::line(main.knots.samples(), middle);
        let (off_p95, off_max) = fit::distances(&main.knots, shift, drift, reference);
        plane.clock = Some(ChipClock {
            shift: Ps::new(shift),
            drift,
            reference: Ps::new(reference.saturating_add(shift)),
            uncertainty: Ps::new(uncertainty),
            events: tracks.iter().map(|track| track.clocked).sum(),
            refused: tracks.iter().map(|track| track.refused).sum(),
            off_p95: Ps::new(off_p95),
            off_max: Ps::new(off_max),
        });
        let text = self.strings.get(plane.name);
        let kind = if plane.kind == PlaneKind::Other { classify::plane_kind(text) } else { plane.kind };
        let is_device = matches!(kind, PlaneKind::Device { .. } | PlaneKind::SparseCore { .. });
        let knots = if is_device { main.knots.sorted() } else { Knots::default().sorted() };
        Some(Unplaced::new(index, shift, knots, tracks))
    }
}
