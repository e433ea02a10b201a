//! The workers of each load, by load number.

use std::cell::RefCell;
use std::rc::Rc;

use futures_util::future::{LocalBoxFuture, Shared};

use crate::connection::Connection;
use crate::protocol::Place;
use crate::protocol::files::FileEntry;

/// Error message for requests to a worker that the page has ended.
pub const ENDED: &str = "The worker for this run has ended. Open the run's files again.";

/// A file to load.
#[derive(Clone, Debug)]
pub struct Source {
    /// Path, size and kind.
    pub entry: FileEntry,
    /// Content by reference. Only workers read the content.
    pub blob: web_sys::Blob,
}

/// Future of a second analyst that is starting or has started. An error is a sentence for the user.
pub type SecondAnalyst = Shared<LocalBoxFuture<'static, Result<Rc<Connection>, String>>>;
/// Future of a graph worker that is starting or has started. An error is a sentence for the user.
pub type GraphWorker = SecondAnalyst;
/// Future that completes when the second analyst has the memory records of a run. An error is a sentence for the user.
pub type MemoryTransfer = Shared<LocalBoxFuture<'static, Result<(), String>>>;

/// The workers of one load.
pub struct Team {
    /// The two readers, one to unpack and one to decode. `None` after the analyst has received all runs.
    pub readers: Option<[Connection; 2]>,
    /// The worker that stores the runs.
    pub analyst: Rc<Connection>,
    /// The second analyst, if it was started.
    pub second_analyst: Option<SecondAnalyst>,
    /// The graph worker, if it was started.
    pub graph: Option<GraphWorker>,
    /// Transfers of memory records to the second analyst, each with the index of the run.
    pub memory_transfers: Vec<(u32, MemoryTransfer)>,
    /// Files that the readers read.
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

/// Returns the second analyst of a load. Calls `start` if the load has no second analyst yet.
pub fn second_analyst(load: u32, start: impl FnOnce() -> SecondAnalyst) -> Option<SecondAnalyst> {
    with(load, |team| team.second_analyst.get_or_insert_with(start).clone())
}

/// Returns the graph worker of a load. Calls `start` if the load has no graph worker yet.
pub fn graph(load: u32, start: impl FnOnce() -> GraphWorker) -> Option<GraphWorker> {
    with(load, |team| team.graph.get_or_insert_with(start).clone())
}

/// Removes a load's graph worker after that worker failed to start.
pub fn forget_graph(load: u32) {
    with(load, |team| team.graph = None);
}

/// Removes a load's second analyst after that worker failed to start.
pub fn forget_second_analyst(load: u32) {
    with(load, |team| (team.second_analyst, team.memory_transfers) = (None, Vec::new()));
}

/// Returns the transfer of a run's memory records to the second analyst. Calls `start` if no transfer has started yet.
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

/// Ends the readers of a load after they have sent all data, and frees their memory.
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
