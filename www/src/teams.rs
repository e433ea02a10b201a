//! The workers of each load, by its number.

use std::cell::RefCell;
use std::rc::Rc;

use futures_util::future::{LocalBoxFuture, Shared};

use crate::connection::Connection;
use crate::protocol::Place;
use crate::protocol::files::FileEntry;

/// What whoever asks an ended worker hears.
pub const ENDED: &str = "The worker of this run was ended. Open its files again.";

/// A file to load.
#[derive(Clone, Debug)]
pub struct Source {
    /// What is known of the file.
    pub entry: FileEntry,
    /// The bytes, by reference: only a worker reads them.
    pub blob: web_sys::Blob,
}

/// A deputy that is started, or a sentence that says why there is none.
pub type Deputy = Shared<LocalBoxFuture<'static, Result<Rc<Connection>, String>>>;
/// Ends when the deputy knows the memory of a run, or with a sentence that says why it does not.
pub type Told = Shared<LocalBoxFuture<'static, Result<(), String>>>;

/// The workers of one load.
pub struct Team {
    /// The two that read, until the analyst has the runs: one unpacks, the other decodes.
    pub readers: Option<[Connection; 2]>,
    /// The worker that has the runs.
    pub analyst: Rc<Connection>,
    /// The worker that answers in the analyst's place, once it was asked for.
    pub deputy: Option<Deputy>,
    /// What sends the deputy the memory of runs, once for each run.
    pub told: Vec<(u32, Told)>,
    /// The files that are read.
    pub sources: Vec<Source>,
    /// Files that are not read, because another of the same host is.
    pub left_out: Vec<Source>,
}

impl Team {
    fn started_deputy(&self) -> Option<&Rc<Connection>> {
        self.deputy.as_ref()?.peek()?.as_ref().ok()
    }
}

thread_local! {
    /// Teams by the number of their load.
    static TEAMS: RefCell<Vec<(u32, Team)>> = const { RefCell::new(Vec::new()) };
}

/// The workers of a load are at work.
pub fn add(load: u32, team: Team) {
    TEAMS.with_borrow_mut(|teams| teams.push((load, team)));
}

/// The analyst of a load; nothing where it was ended.
pub fn analyst(load: u32) -> Option<Rc<Connection>> {
    with(load, |team| team.analyst.clone())
}

/// The analyst's deputy of a load: the one that it has, else this one.
pub fn deputy(load: u32, start: impl FnOnce() -> Deputy) -> Option<Deputy> {
    with(load, |team| team.deputy.get_or_insert_with(start).clone())
}

/// The deputy of a load could not be started.
pub fn forget_deputy(load: u32) {
    with(load, |team| (team.deputy, team.told) = (None, Vec::new()));
}

/// What sends the deputy of a load the memory of this run: what does so already, else this.
pub fn told(load: u32, run: u32, tell: impl FnOnce() -> Told) -> Option<Told> {
    with(load, |team| {
        let known = team.told.iter().find(|(of, _)| *of == run).map(|(_, told)| told.clone());
        known.unwrap_or_else(|| {
            let told = tell();
            team.told.push((run, told.clone()));
            told
        })
    })
}

/// Forgets what was asked for a place, of whichever worker.
pub fn cancel(place: Place) {
    TEAMS.with_borrow(|teams| {
        for (_, team) in teams {
            team.analyst.cancel(place);
            team.started_deputy().into_iter().for_each(|worker| worker.cancel(place));
        }
    });
}

/// The file of a load that is at this path, or is the archive that holds what is there.
pub fn source(load: u32, path: &str) -> Option<Source> {
    let holds = |of: &str| path.strip_prefix(of).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
    with(load, |team| team.sources.iter().find(|source| holds(&source.entry.path)).cloned()).flatten()
}

/// Files that a load does not read.
pub fn left_out(load: u32) -> Vec<Source> {
    with(load, |team| team.left_out.clone()).unwrap_or_default()
}

/// All is read and handed over: the memory of those who read is given back.
pub fn end_readers(load: u32) {
    let readers = with(load, |team| team.readers.take());
    drop(readers);
}

/// Ends the workers of a load at once, whatever they do; whoever waits for the analyst hears it.
pub fn end(load: u32) {
    let place = |teams: &Vec<(u32, Team)>| teams.iter().position(|(of, _)| *of == load);
    let team = TEAMS.with_borrow_mut(|teams| place(teams).map(|at| teams.remove(at)));
    if let Some((_, team)) = team {
        team.analyst.end(ENDED);
        if let Some(deputy) = team.started_deputy() {
            deputy.end(ENDED);
        }
    }
}

fn with<R>(load: u32, what: impl FnOnce(&mut Team) -> R) -> Option<R> {
    TEAMS.with_borrow_mut(|teams| teams.iter_mut().find(|(of, _)| *of == load).map(|(_, team)| what(team)))
}
