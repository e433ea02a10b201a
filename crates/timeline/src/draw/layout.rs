//! Positions of the rows of a timeline. Each process has a heading, and its tracks are below the heading unless the
//! process is folded.

use std::collections::BTreeSet;
use std::ops::Range;

use crate::events::tracks::{Process, Shows, TrackId, hosts_fold};
use crate::state::arrangement::Arrangement;

/// Height of a heading, in CSS pixels.
pub(crate) const HEADING_HEIGHT: u32 = 24;
/// Height of a lane, in CSS pixels.
pub(crate) const LANE_HEIGHT: u32 = 18;
/// Height of a lane in a narrow track, in CSS pixels. The lane is too low for text.
pub(crate) const NARROW_HEIGHT: u32 = 6;
/// Height of the row of a counter, in CSS pixels.
pub(crate) const COUNTER_HEIGHT: u32 = 36;
/// Space below a track, in CSS pixels.
pub(crate) const TRACK_GAP: u32 = 5;

/// One row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Row {
    /// Upper edge of the row, in CSS pixels.
    pub top: u32,
    /// Height of the row, in CSS pixels.
    pub height: u32,
    /// Content of the row.
    pub content: RowContent,
}

/// Content of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowContent {
    /// Heading with the name of a process.
    Heading {
        /// Index of the process.
        process: u32,
        /// True if the tracks of the process are hidden.
        folded: bool,
    },
    /// A track.
    Track {
        /// The track in the row.
        id: TrackId,
        /// Height of a lane, in CSS pixels.
        lane_height: u32,
        /// True for the additional row of a pinned track, which is above all other rows.
        pinned: bool,
    },
}

impl Row {
    /// Returns the lower edge of the row, in CSS pixels.
    pub fn bottom(&self) -> u32 {
        self.top.saturating_add(self.height)
    }
}

/// Rows of a timeline from top to bottom.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Layout {
    /// Rows, by ascending upper edge.
    pub rows: Vec<Row>,
    /// Total height of all rows, in CSS pixels.
    pub height: u32,
}

impl Layout {
    /// Lays out the rows of these processes.
    pub fn new(processes: &[Process], arrangement: &Arrangement) -> Layout {
        let mut layout = Layout::default();
        for &id in &arrangement.pinned {
            layout.track(processes, arrangement, id, true);
        }
        let hosts_fold = hosts_fold(processes);
        let turned: BTreeSet<u32> = arrangement.turned.iter().copied().collect();
        let hidden: BTreeSet<TrackId> = arrangement.hidden.iter().copied().collect();
        for (process, of) in (0..).zip(processes) {
            let ids = arrangement.order(process, of.tracks.len()).into_iter().map(|track| TrackId { process, track });
            let shown: Vec<TrackId> = ids.filter(|id| !hidden.contains(id)).collect();
            if shown.is_empty() {
                continue;
            }
            let folded = (hosts_fold && of.is_host) != turned.contains(&process);
            layout.push(HEADING_HEIGHT, RowContent::Heading { process, folded });
            if !folded {
                shown.into_iter().for_each(|id| layout.track(processes, arrangement, id, false));
            }
        }
        layout
    }

    fn track(&mut self, processes: &[Process], arrangement: &Arrangement, id: TrackId, pinned: bool) {
        let process = processes.get(id.process as usize);
        let Some(track) = process.and_then(|process| process.tracks.get(id.track as usize)) else { return };
        let lane_height = match track.shows {
            Shows::Counter(..) => COUNTER_HEIGHT,
            Shows::Events(..) | Shows::Scopes(..) if arrangement.narrow.contains(&id) => NARROW_HEIGHT,
            Shows::Events(..) | Shows::Scopes(..) => LANE_HEIGHT,
        };
        // The name of a track needs the height of a line of text.
        let height = lane_height.saturating_mul(track.lanes).max(LANE_HEIGHT).saturating_add(TRACK_GAP);
        self.push(height, RowContent::Track { id, lane_height, pinned });
    }

    fn push(&mut self, height: u32, content: RowContent) {
        self.rows.push(Row { top: self.height, height, content });
        self.height = self.height.saturating_add(height);
    }

    /// Returns the rows that are visible in a vertical range, in CSS pixels.
    pub fn visible(&self, seen: Range<u32>) -> &[Row] {
        let first = self.rows.partition_point(|row| row.bottom() <= seen.start);
        let end = self.rows.partition_point(|row| row.top < seen.end);
        self.rows.get(first..end).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::events::source::Origin;
    use crate::events::tracks::Track;
    use trace::LineId;

    fn process(is_host: bool, lanes: &[u32]) -> Process {
        let track = |&lanes: &u32| Track {
            name: "t".to_owned(),
            shows: Shows::Events(Origin::Captured, LineId::default()),
            lanes,
            definition: None,
        };
        Process { name: "p".to_owned(), tracks: lanes.iter().map(track).collect(), events: 1, is_host }
    }

    #[test]
    fn rows_follow_each_other_and_those_in_sight_are_found() {
        let layout = Layout::new(&[process(false, &[1, 3]), process(true, &[2])], &Arrangement::default());
        let heights: Vec<u32> = layout.rows.iter().map(|row| row.height).collect();
        assert_eq!(heights, [24, 23, 59, 24, 41]);
        assert!(layout.rows.windows(2).all(|pair| pair[0].bottom() == pair[1].top));
        assert_eq!(layout.visible(23..48).len(), 3);
        assert_eq!(layout.visible(24..47).len(), 1);
        assert!(layout.visible(500..600).is_empty());
    }

    #[test]
    fn many_threads_of_a_host_are_folded_below_devices() {
        let processes = [process(false, &[1]), process(true, &[1; 100])];
        assert_eq!(Layout::new(&processes, &Arrangement::default()).rows.len(), 3);
        let turned = Arrangement { turned: vec![1], ..Arrangement::default() };
        assert_eq!(Layout::new(&processes, &turned).rows.len(), 103);
        assert_eq!(Layout::new(&processes[1..], &Arrangement::default()).rows.len(), 101);
    }

    #[test]
    fn thousands_of_processes_are_laid_out_in_linear_time() {
        let processes: Vec<Process> = (0..60_000).map(|at| process(at > 0, &[1])).collect();
        let start = std::time::Instant::now();
        let arrangement = Arrangement::folding(&processes, &|_| false);
        assert_eq!(arrangement.turned.len(), 59_999);
        assert_eq!(Layout::new(&processes, &arrangement).rows.len(), 120_000);
        // An earlier version took minutes.
        assert!(start.elapsed() < std::time::Duration::from_secs(10), "{:?}", start.elapsed());
    }

    #[test]
    fn tracks_are_pinned_hidden_and_narrowed() {
        let id = TrackId { process: 0, track: 1 };
        let arrangement =
            Arrangement { narrow: vec![id], hidden: vec![id], pinned: vec![id], ..Arrangement::default() };
        let layout = Layout::new(&[process(false, &[1, 30])], &arrangement);
        let pinned = RowContent::Track { id, lane_height: NARROW_HEIGHT, pinned: true };
        assert_eq!(layout.rows.first().map(|row| (row.content, row.height)), Some((pinned, 185)));
        assert_eq!(layout.rows.len(), 3);
    }
}
