//! Arrangement of the tracks, as text that fits into a URL. The text says which tracks are hidden, narrow or pinned,
//! and in which order the tracks appear.

use std::fmt;

use crate::events::tracks::{Process, TrackId, hosts_fold};

/// Maximum number of moved tracks in a text. No user moves that many tracks by hand.
const MOST_MOVES: usize = 1_000;

/// Changes that the user made to the arrangement of the tracks.
///
/// In text form, each change is a letter with numbers: `t1` for a toggled process 1, `l0.2` for track 2 of process 0 with
/// narrow lanes, `h0.2` for a hidden track, `p0.2` for a pinned track, `m0.2.5` for a track that was moved to position 5.
/// Changes are separated by `-`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Arrangement {
    /// Processes that the user has folded or unfolded, so that they differ from the default.
    pub turned: Vec<u32>,
    /// Tracks with narrow lanes.
    pub narrow: Vec<TrackId>,
    /// Hidden tracks.
    pub hidden: Vec<TrackId>,
    /// Pinned tracks, which are also shown above all other tracks.
    pub pinned: Vec<TrackId>,
    /// Moved tracks, in the order of the moves. Each move contains the new position among the tracks of the process.
    pub moved: Vec<(TrackId, u32)>,
}

impl Arrangement {
    /// Parses a text. Skips changes that are not valid.
    pub fn parse(text: &str) -> Arrangement {
        let mut arrangement = Arrangement::default();
        for part in text.split('-') {
            let mut letters = part.chars();
            let letter = letters.next();
            let mut numbers = letters.as_str().split('.').map(|number| number.parse::<u32>().ok());
            let Some(process) = numbers.next().flatten() else { continue };
            let id = numbers.next().flatten().map(|track| TrackId { process, track });
            match (letter, id, numbers.next().flatten()) {
                (Some('t'), None, None) => arrangement.turned.push(process),
                (Some('l'), Some(id), None) => arrangement.narrow.push(id),
                (Some('h'), Some(id), None) => arrangement.hidden.push(id),
                (Some('p'), Some(id), None) => arrangement.pinned.push(id),
                (Some('m'), Some(id), Some(place)) if arrangement.moved.len() < MOST_MOVES => {
                    arrangement.moved.push((id, place));
                }
                _ => {}
            }
        }
        arrangement
    }

    /// Returns an arrangement that folds the processes for which `folds` returns true, and unfolds all others.
    pub fn folding(processes: &[Process], folds: &dyn Fn(&Process) -> bool) -> Arrangement {
        let hosts_fold = hosts_fold(processes);
        let turned = (0..).zip(processes).filter(|(_, of)| folds(of) != (hosts_fold && of.is_host));
        Arrangement { turned: turned.map(|(process, _)| process).collect(), ..Arrangement::default() }
    }

    /// Returns the tracks of a process in display order, including hidden ones.
    pub fn order(&self, process: u32, tracks: usize) -> Vec<u32> {
        let mut order: Vec<u32> = (0..u32::try_from(tracks).unwrap_or(u32::MAX)).collect();
        for (id, place) in self.moved.iter().filter(|(id, _)| id.process == process) {
            if let Some(from) = order.iter().position(|track| *track == id.track) {
                let track = order.remove(from);
                order.insert((*place as usize).min(order.len()), track);
            }
        }
        order
    }

    /// Moves a track up or down by one position among the visible tracks of its process. A pinned track moves among the
    /// pinned tracks.
    pub fn shift(&mut self, processes: &[Process], id: TrackId, is_up: bool) {
        let next = |at: usize| if is_up { at.checked_sub(1) } else { at.checked_add(1) };
        if let Some(at) = self.pinned.iter().position(|it| *it == id) {
            if let Some(to) = next(at).filter(|to| *to < self.pinned.len()) {
                self.pinned.swap(at, to);
            }
            return;
        }
        let tracks = processes.get(id.process as usize).map_or(0, |of| of.tracks.len());
        let of = |track: u32| TrackId { process: id.process, track };
        let shown = self.order(id.process, tracks).into_iter().map(of).filter(|id| !self.hidden.contains(id));
        let shown: Vec<TrackId> = shown.collect();
        let at = shown.iter().position(|it| *it == id);
        if let Some(target) = at.and_then(next).and_then(|to| shown.get(to)).copied() {
            self.move_to(processes, id, target);
        }
    }

    /// Moves a track to the position of another track of its process.
    pub fn move_to(&mut self, processes: &[Process], id: TrackId, target: TrackId) {
        let pinned = |id: TrackId| self.pinned.iter().position(|it| *it == id);
        if let (Some(from), Some(to)) = (pinned(id), pinned(target)) {
            let id = self.pinned.remove(from);
            self.pinned.insert(to, id);
            return;
        }
        let tracks = processes.get(id.process as usize).map_or(0, |of| of.tracks.len());
        let place_of =
            |moved: &Arrangement, track: u32| moved.order(id.process, tracks).iter().position(|it| *it == track);
        let place = place_of(self, target.track).and_then(|place| u32::try_from(place).ok());
        let Some(place) = place.filter(|_| id.process == target.process) else { return };
        // Consecutive moves of one track are merged into one.
        self.moved.pop_if(|(last, _)| *last == id);
        if place_of(self, id.track) != Some(place as usize) {
            self.moved.push((id, place));
        }
        if self.order(id.process, tracks).is_sorted() {
            self.moved.retain(|(moved, _)| moved.process != id.process);
        }
    }
}

/// Adds an item to a list, or removes the item if the list contains it.
pub fn turn<T: PartialEq>(list: &mut Vec<T>, item: T) {
    match list.iter().position(|known| *known == item) {
        Some(at) => drop(list.remove(at)),
        None => list.push(item),
    }
}

impl fmt::Display for Arrangement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut between = "";
        for process in &self.turned {
            write!(f, "{between}t{process}")?;
            between = "-";
        }
        for (letter, list) in [('l', &self.narrow), ('h', &self.hidden), ('p', &self.pinned)] {
            for TrackId { process, track } in list {
                write!(f, "{between}{letter}{process}.{track}")?;
                between = "-";
            }
        }
        for (TrackId { process, track }, place) in &self.moved {
            write!(f, "{between}m{process}.{track}.{place}")?;
            between = "-";
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::events::source::Origin;
    use crate::events::tracks::{Shows, Track};
    use proptest::prelude::*;
    use trace::LineId;

    fn id(process: u32, track: u32) -> TrackId {
        TrackId { process, track }
    }

    fn process(tracks: usize) -> Process {
        let shows = Shows::Events(Origin::Captured, LineId::default());
        let track = Track { name: "t".to_owned(), shows, lanes: 1, definition: None };
        Process { name: "p".to_owned(), tracks: vec![track; tracks], events: 1, is_host: false }
    }

    #[test]
    fn a_text_holds_every_change() {
        let arrangement = Arrangement {
            turned: vec![1],
            narrow: vec![id(0, 2)],
            hidden: vec![id(0, 3), id(4, 0)],
            pinned: vec![id(9, 9)],
            moved: vec![(id(0, 2), 5)],
        };
        assert_eq!(arrangement.to_string(), "t1-l0.2-h0.3-h4.0-p9.9-m0.2.5");
        assert_eq!(Arrangement::parse(&arrangement.to_string()), arrangement);
        assert_eq!(Arrangement::default().to_string(), "");
    }

    #[test]
    fn damaged_parts_are_left_out() {
        let arrangement = Arrangement::parse("h0.1-x-h-h0-h1.2.3-é4.4-t99999999999-m1.2-p0.-t3-");
        assert_eq!(arrangement.to_string(), "t3-h0.1");
    }

    #[test]
    fn tracks_move_past_those_that_are_shown() {
        let processes = [process(5)];
        let mut arrangement = Arrangement { hidden: vec![id(0, 2)], ..Arrangement::default() };
        arrangement.shift(&processes, id(0, 3), true);
        assert_eq!(arrangement.order(0, 5), [0, 3, 1, 2, 4]);
        arrangement.shift(&processes, id(0, 3), true);
        arrangement.shift(&processes, id(0, 3), true);
        assert_eq!((arrangement.order(0, 5), arrangement.moved.len()), (vec![3, 0, 1, 2, 4], 1));
        arrangement.move_to(&processes, id(0, 3), id(0, 2));
        assert_eq!(arrangement.moved, []);
        arrangement.move_to(&processes, id(0, 0), id(0, 4));
        assert_eq!(arrangement.order(0, 5), [1, 2, 3, 4, 0]);
        arrangement.move_to(&processes, id(0, 0), id(1, 4));
        arrangement.shift(&processes, id(7, 7), false);
        assert_eq!(arrangement.moved.len(), 1);
    }

    #[test]
    fn pinned_tracks_change_places() {
        let processes = [process(2)];
        let mut arrangement = Arrangement { pinned: vec![id(0, 0), id(0, 1)], ..Arrangement::default() };
        arrangement.shift(&processes, id(0, 0), false);
        arrangement.shift(&processes, id(0, 0), false);
        assert_eq!(arrangement.to_string(), "p0.1-p0.0");
        arrangement.move_to(&processes, id(0, 0), id(0, 1));
        assert_eq!(arrangement.to_string(), "p0.0-p0.1");
    }

    proptest! {
        #[test]
        fn any_text_is_an_arrangement_of_all_tracks(text in "([tlhpm][0-9.]{0,8}-?|.{0,3}){0,12}") {
            let arrangement = Arrangement::parse(&text);
            prop_assert_eq!(&Arrangement::parse(&arrangement.to_string()), &arrangement);
            let mut order = arrangement.order(0, 7);
            order.sort_unstable();
            prop_assert_eq!(order, (0..7).collect::<Vec<u32>>());
        }
    }
}
