//! Moves the rows of devices onto the devices' clocks once these clocks are known.

use rustc_hash::FxHashMap;

use super::knots::Warp;
use super::track::Track;
use crate::{EventId, Trace};
use base::Ps;

/// Changes that the rows of one plane still need.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Unplaced {
    /// Index of the plane.
    pub plane: u32,
    /// Shift added to chip times, in picoseconds.
    pub shift: i64,
    /// Mapping from event times to chip times, for events without a chip time. If the mapping has no stretches, event
    /// times stay unchanged.
    pub warp: Warp,
    /// Lines of the plane whose events have chip times.
    pub lines: Vec<UnplacedLine>,
}

/// A line whose events have chip times.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct UnplacedLine {
    /// Index of the line.
    pub line: u32,
    /// The line's rows before this event contain event times.
    pub first: EventId,
    /// Later rows that contain event times, in ascending order.
    pub without: Vec<EventId>,
}

impl Unplaced {
    pub(super) fn new(plane: usize, shift: i64, warp: Warp, tracks: Vec<Track>) -> Unplaced {
        let line = |track: Track| UnplacedLine { line: track.line.0, first: track.first, without: track.without };
        Unplaced {
            plane: u32::try_from(plane).unwrap_or(u32::MAX),
            shift,
            warp,
            lines: tracks.into_iter().map(line).collect(),
        }
    }

    /// Maps the event times of an event. Returns the start and duration in the time of the trace.
    fn map(&self, start: Ps, duration: Ps) -> (Ps, Ps) {
        if self.warp.0.is_empty() {
            return (start, duration);
        }
        let (start, end) = self.warp.map(start.as_ps(), (start + duration).as_ps());
        (Ps::new(start.saturating_add(self.shift)), Ps::new(end.saturating_sub(start)))
    }
}

/// Change that rows of one kind need.
#[derive(Clone, Copy)]
enum Change {
    /// The rows stay as they are.
    None,
    /// All rows contain event times. The number is the index of the rows' plane among the unplaced planes.
    Map(usize),
    /// The rows contain chip times, except for the rows that the line lists.
    Shift(usize, usize),
}

impl Trace {
    /// Moves rows onto the clocks that [`settle_clocks`](Trace::settle_clocks) found. The time is linear in the number
    /// of rows. Does nothing if no device has its own clock.
    pub(crate) fn place_rows(&mut self) {
        let unplaced = std::mem::take(&mut self.clocks.unplaced);
        if unplaced.is_empty() {
            return;
        }
        // Iterates in reverse, so that the first entry of a plane is kept.
        let places: FxHashMap<u32, usize> = unplaced.iter().enumerate().rev().map(|(at, it)| (it.plane, at)).collect();
        let of_line: Vec<Change> = (0u32..)
            .zip(&self.lines)
            .map(|(index, line)| {
                let Some(&plane) = places.get(&line.plane.0) else { return Change::None };
                let lines = unplaced.get(plane).map_or(&[][..], |it| &it.lines);
                lines.iter().position(|it| it.line == index).map_or(Change::Map(plane), |at| Change::Shift(plane, at))
            })
            .collect();
        let kinds = self.events.kinds().iter();
        let changes: Vec<Change> =
            kinds.map(|kind| of_line.get(kind.line.index()).copied().unwrap_or(Change::None)).collect();
        // Number of rows without a chip time so far, for each line.
        let mut passed: Vec<Vec<usize>> = unplaced.iter().map(|it| vec![0; it.lines.len()]).collect();
        self.events.change_times(|id, kind, (start, duration)| {
            let (plane, line) = match changes.get(kind) {
                None | Some(Change::None) => return None,
                Some(&Change::Map(plane)) => return Some(unplaced.get(plane)?.map(start, duration)),
                Some(&Change::Shift(plane, line)) => (plane, line),
            };
            let of = unplaced.get(plane)?;
            let line_of = of.lines.get(line)?;
            let next = passed.get_mut(plane)?.get_mut(line)?;
            let is_without = line_of.without.get(*next) == Some(&id);
            *next += usize::from(is_without);
            if is_without || id < line_of.first {
                return Some(of.map(start, duration));
            }
            Some((Ps::new(start.as_ps().saturating_add(of.shift)), duration))
        });
    }
}
