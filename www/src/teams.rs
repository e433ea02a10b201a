//! The workers of each load, by load number.

use std::cell::RefCell;
use std::rc::Rc;

use futures_util::future::{LocalBoxFuture, Shared};

use crate::connection::Connection;
use crate::protocol::Place;
use crate::protocol::files::FileEntry;

/// Error of requests to a worker that was ended.
pub const ENDED: &str = "The worker for this run has ended. Open the run's files again.";

/// A file to load.
#[derive(Clone, Debug)]
pub struct Source {
    /// Path, size and kind of the file.
    pub entry: FileEntry,
    /// Content by reference. Only workers read it.
    pub blob: web_sys::Blob,
}

/// A second analyst that is starting or has started, or an error as a sentence.
pub type SecondAnalyst = Shared<LocalBoxFuture<'static, Result<Rc<Connection>, String>>>;
/// A graph worker that is starting or has started, or an error as a sentence.
pub type GraphWorker = SecondAnalyst;
/// Completes when the second analyst has the memory records of a run. Fails with an error as a sentence.
pub type MemoryTransfer = Shared<LocalBoxFuture<'static, Result<(), String>>>;

/// The workers of one load.
pub struct Team {
    /// The two readers, one to unpack and one to decode. `None` after the analyst has received all runs.
    pub readers: Option<[Connection; 2]>,
    /// The worker that owns the runs.
    pub analyst: Rc<Connection>,
    /// The second analyst, if it was started.
    pub second_analyst: Option<SecondAnalyst>,
    /// The graph worker, if it was started.
    pub graph: Option<GraphWorker>,
    /// Transfers of memory records to the second analyst, by run index.
    pub memory_transfers: Vec<(u32, MemoryTransfer)>,
    /// Files that are read.
    pub sources: Vec<Source>,
    /// Files that are not read, because another file of the same host is read instead.
    pub left_out: Vec<Source>,
}

impl Team {
    /// Returns the workers that were started on demand.
    fn started_later(&self) -> impl Iterator<Item = &Rc<Connection>> {
        let later = [&self.second_analyst, &self.graph];
        later.into_iter().filter_map(|worker| worker.as_ref()?.peek()?.as_ref().ok())
    }
}

thread_local! {
    /// Teams by load number.
    static TEAMS: RefCell<Vec<(u32, Team)>> = const { RefCell::new(Vec::new()) };
}

/// Registers the workers of a load.
pub fn add(load: u32, team: Team) {
    TEAMS.with_borrow_mut(|teams| teams.push((load, team)));
}

/// Returns the analyst of a load, or `None` if the load has ended.
pub fn analyst(load: u32) -> Option<Rc<Connection>> {
    with(load, |team| team.analyst.clone())
}

/// Returns the second analyst of a load. Calls `start` if there is none yet.
pub fn second_analyst(load: u32, start: impl FnOnce() -> SecondAnalyst) -> Option<SecondAnalyst> {
    with(load, |team| team.second_analyst.get_or_insert_with(start).clone())
}

/// Returns the graph worker of a load. Calls `start` if there is none yet.
pub fn graph(load: u32, start: impl FnOnce() -> GraphWorker) -> Option<GraphWorker> {
    with(load, |team| team.graph.get_or_insert_with(start).clone())
}

/// Removes the graph worker of a load that failed to start.
pub fn forget_graph(load: u32) {
    with(load, |team| team.graph = None);
}

/// Removes the second analyst of a load that failed to start.
pub fn forget_second_analyst(load: u32) {
    with(load, |team| (team.second_analyst, team.memory_transfers) = (None, Vec::new()));
}

/// Returns the transfer of a run's memory records to the second analyst. Calls `start` if there is none yet.
pub fn memory_transfer(load: u32, run: u32, start: impl FnOnce() -> MemoryTransfer) -> Option<MemoryTransfer> {
    with(load, |team| {
        let known = team.memory_transfers.iter().find(|(of, _)| *of == run).map(|(_, transfer)| transfer.clone());
        known.unwrap_or_else(|| {
            let transfer = start();
            team.memory_transfers.push((run, transfer.clone()));
            transfer
        })
    })
}

/// Cancels the requests for a place at all workers.
pub fn cancel(place: Place) {
    TEAMS.with_borrow(|teams| {
        for (_, team) in teams {
            team.analyst.cancel(place);
            team.started_later().for_each(|worker| worker.cancel(place));
        }
    });
}

/// Returns the file of a load at this path, or the archive that contains the path.
pub fn source(load: u32, path: &str) -> Option<Source> {
    let holds = |of: &str| path.strip_prefix(of).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
    with(load, |team| team.sources.iter().find(|source| holds(&source.entry.path)).cloned()).flatten()
}

/// Returns the files that a load does not read.
pub fn left_out(load: u32) -> Vec<Source> {
    with(load, |team| team.left_out.clone()).unwrap_or_default()
}

/// Ends the readers of a load, which have passed on all data, and frees their memory.
pub fn end_readers(load: u32) {
    let readers = with(load, |team| team.readers.take());
    drop(readers);
}

/// Ends the workers of a load at once. Pending requests fail.
pub fn end(load: u32) {
    let place = |teams: &Vec<(u32, Team)>| teams.iter().position(|(of, _)| *of == load);
    let team = TEAMS.with_borrow_mut(|teams| place(teams).map(|at| teams.remove(at)));
    if let Some((_, team)) = team {
        team.analyst.end(ENDED);
        team.started_later().for_each(|worker| worker.end(ENDED));
    }
}

fn with<R>(load: u32, what: impl FnOnce(&mut Team) -> R) -> Option<R> {
    TEAMS.with_borrow_mut(|teams| teams.iter_mut().find(|(of, _)| *of == load).map(|(_, team)| what(team)))
}
