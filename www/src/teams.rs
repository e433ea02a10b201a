//! The workers of each load, by its number.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use crate::connection::Connection;
use crate::protocol::Place;
use crate::protocol::files::FileEntry;

/// What whoever asks an ended worker hears.
pub const ENDED: &str = "The worker of this run was ended. Open its files again.";

/// A file to load.
#[derive(Clone, Debug)]
pub struct Source {
    /// What is known of it.
    pub entry: FileEntry,
    /// The bytes, by reference: only a worker reads them.
    pub blob: web_sys::Blob,
}

/// The workers of one load.
pub struct Team {
    /// The two that read, until the analyst has the runs: one unpacks, the other decodes.
    pub readers: Option<[Connection; 2]>,
    /// The one that has the runs.
    pub analyst: Rc<Connection>,
    /// Files that are not read, because another of the same host is.
    pub left_out: Vec<Source>,
}

thread_local! {
    static TEAMS: RefCell<BTreeMap<u32, Team>> = const { RefCell::new(BTreeMap::new()) };
}

/// The workers of a load are at work.
pub fn add(load: u32, team: Team) {
    TEAMS.with_borrow_mut(|teams| teams.insert(load, team));
}

/// The analyst of a load; nothing where it was ended.
pub fn analyst(load: u32) -> Option<Rc<Connection>> {
    TEAMS.with_borrow(|teams| teams.get(&load).map(|team| team.analyst.clone()))
}

/// Forgets what was asked of the analysts of all other loads for a place.
pub fn cancel_others(load: u32, place: Place) {
    TEAMS.with_borrow(|teams| {
        teams.iter().filter(|(of, _)| **of != load).for_each(|(_, team)| team.analyst.cancel(place))
    });
}

/// Files that a load does not read.
pub fn left_out(load: u32) -> Vec<Source> {
    TEAMS.with_borrow(|teams| teams.get(&load).map(|team| team.left_out.clone())).unwrap_or_default()
}

/// All is read and handed over: the memory of those who read is given back.
pub fn end_readers(load: u32) {
    let readers = TEAMS.with_borrow_mut(|teams| teams.get_mut(&load).and_then(|team| team.readers.take()));
    drop(readers);
}

/// Ends the workers of a load at once, whatever they do; whoever waits for the analyst hears it.
pub fn end(load: u32) {
    let team = TEAMS.with_borrow_mut(|teams| teams.remove(&load));
    if let Some(team) = team {
        team.analyst.end(ENDED);
    }
}
