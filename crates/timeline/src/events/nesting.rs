//! Computes how the events of a line are nested, and in which lane each event is drawn.
//!
//! An event is *nested* in the event that contains it completely. If several events contain an event, its parent is the
//! one that starts last. A nested event is drawn below its parent, in the first lane that is free for its whole
//! duration. Events that overlap without nesting are therefore in separate lanes, and no event hides another:
//!
//! ```text
//! lane 0   [a---------------)   [e----)
//! lane 1     [b-----)  [d--)             b and d are nested in a
//! lane 2       [c-------)                c extends past b: it is nested in a only, and b's lane is not free
//! ```

use base::Ps;
use trace::Interval;

/// Nesting depth and lane of an event.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Place {
    /// Nesting depth. The depth is 0 at the top level, and otherwise one more than the parent's depth.
    pub depth: u32,
    /// Lane in which the event is drawn. Lane 0 is at the top.
    pub lane: u32,
}

/// An event that may contain later events.
#[derive(Clone, Copy, Debug)]
struct Open {
    end: Ps,
    place: Place,
}

/// Assigns places to the events of a line, in linear time. Callers must add the events by ascending start. Among events
/// with the same start, they must add the longest first. If events overlap without nesting, the search for a free lane
/// takes time that is logarithmic in the number of lanes.
#[derive(Clone, Debug, Default)]
pub struct Nesting {
    /// Open events, by descending end. An event is removed when a later event ends after it. From then on, the later
    /// event contains every event that the removed event could contain.
    open: Vec<Open>,
    lanes: FreeLanes,
}

impl Nesting {
    /// Assigns a place to the next event and returns the place.
    pub fn place(&mut self, event: Interval) -> Place {
        while self.open.last().is_some_and(|open| open.end <= event.start || open.end < event.end) {
            self.open.pop();
        }
        let place = match self.open.last() {
            Some(open) => Place { depth: open.place.depth + 1, lane: open.place.lane + 1 },
            None => Place::default(),
        };
        let lane = self.lanes.take(place.lane as usize, event);
        let place = Place { lane: u32::try_from(lane).unwrap_or(u32::MAX), ..place };
        self.open.push(Open { end: event.end, place });
        place
    }
}

/// Times at which the lanes become free, stored as a tournament tree. In the tree, entry `i` is the minimum of the
/// entries `2 i` and `2 i + 1`. The second half of the entries contains the times of the lanes.
#[derive(Clone, Debug, Default)]
struct FreeLanes {
    tree: Vec<Ps>,
}

impl FreeLanes {
    /// Returns the first lane, from lane `from` on, that is free when the event starts. Reserves that lane for the
    /// event.
    fn take(&mut self, from: usize, event: Interval) -> usize {
        let lane = loop {
            match self.first_free(from, event.start) {
                Some(lane) => break lane,
                None => self.grow(),
            }
        };
        let mut node = self.size() + lane;
        self.tree.get_mut(node).into_iter().for_each(|free| *free = event.end);
        while node > 1 {
            node /= 2;
            let earliest = self.at(2 * node).min(self.at(2 * node + 1));
            self.tree.get_mut(node).into_iter().for_each(|free| *free = earliest);
        }
        lane
    }

    /// Returns the number of lanes for which the tree has room.
    fn size(&self) -> usize {
        self.tree.len() / 2
    }

    fn at(&self, node: usize) -> Ps {
        self.tree.get(node).copied().unwrap_or(Ps::MAX)
    }

    fn grow(&mut self) {
        let lanes = self.tree.get(self.size()..).unwrap_or_default().to_vec();
        let size = (2 * lanes.len()).max(4);
        self.tree = vec![Ps::new(i64::MIN); 2 * size];
        self.tree.iter_mut().skip(size).zip(&lanes).for_each(|(slot, free)| *slot = *free);
        for node in (1..size).rev() {
            let earliest = self.at(2 * node).min(self.at(2 * node + 1));
            self.tree.get_mut(node).into_iter().for_each(|free| *free = earliest);
        }
    }

    /// Climbs from the leaf `from` to the first subtree on the right that has a free lane, then descends in it.
    fn first_free(&self, from: usize, start: Ps) -> Option<usize> {
        let size = self.size();
        if from >= size {
            return None;
        }
        let mut node = size + from;
        while self.at(node) > start {
            // Moves from a right child, or from a fully searched left subtree, to the next subtree on the right.
            while node % 2 == 1 {
                node /= 2;
            }
            if node == 0 {
                return None;
            }
            node += 1;
        }
        while node < size {
            node *= 2;
            if self.at(node) > start {
                node += 1;
            }
        }
        Some(node - size)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn places(events: &[(i64, i64)]) -> Vec<(u32, u32)> {
        let mut nesting = Nesting::default();
        let place = |&(start, end): &(i64, i64)| nesting.place(Interval::new(Ps::new(start), Ps::new(end)));
        events.iter().map(place).map(|place| (place.depth, place.lane)).collect()
    }

    #[test]
    fn nested_events_go_down_and_overlapping_ones_aside() {
        let [a, b, c, d, e] = [(0, 20), (2, 9), (4, 12), (13, 17), (25, 30)];
        assert_eq!(places(&[a, b, c, d, e]), [(0, 0), (1, 1), (1, 2), (1, 1), (0, 0)]);
    }

    #[test]
    fn moments_share_a_lane_and_are_nested_in_what_runs() {
        assert_eq!(places(&[(5, 5), (5, 5), (5, 9), (7, 7), (9, 9)]), [(0, 0), (0, 0), (0, 0), (1, 1), (0, 0)]);
    }

    #[test]
    fn a_line_may_have_thousands_of_lanes() {
        let nested: Vec<(i64, i64)> = (0..10_000).map(|at| (at, 30_000 - at)).collect();
        assert_eq!(places(&nested).last(), Some(&(9_999, 9_999)));
        let staggered: Vec<(i64, i64)> = (0..10_000).map(|at| (at, 30_000 + at)).collect();
        assert_eq!(places(&staggered).last(), Some(&(0, 9_999)));
    }

    proptest! {
        #[test]
        fn no_event_hides_another_and_depth_counts_those_around(lengths in prop::collection::vec((0i64..40, 0i64..20), 1..60)) {
            let mut events: Vec<(i64, i64)> = lengths.iter().map(|&(start, length)| (start, start + length)).collect();
            events.sort_by_key(|&(start, end)| (start, -end));
            let found = places(&events);
            for (at, (event, place)) in events.iter().zip(&found).enumerate() {
                let before = || events.iter().zip(&found).take(at);
                // If two events have the same interval, the later is nested in the earlier. An event of length 0 is not
                // nested in an event that ends at the same time.
                let holds = |outer: &(i64, i64)| outer.1 >= event.1 && outer.1 > event.0;
                // The parent is the latest event that contains this event.
                let depth = before().rfind(|(outer, _)| holds(outer)).map_or(0, |(_, around)| around.0 + 1);
                prop_assert_eq!(place.0, depth);
                let hidden = before().any(|(other, there)| there.1 == place.1 && other.1 > event.0 && other.0 < event.1);
                prop_assert!(!hidden);
                let innermost = before().rfind(|(outer, _)| holds(outer));
                prop_assert!(innermost.is_none_or(|(_, around)| around.1 < place.1));
            }
        }
    }
}
