//! The state of the page, stored in signals.

use std::sync::Arc;

use crossprof::Warning;
use crossprof::document::Link;
use crossprof::report::{Naming, distinct_names};
use crossprof::session::Settings;
use crossprof::session::plan::FileKind;
use crossprof::table::Sort;
use crossprof::table::TableName;
use leptos::prelude::*;

use crate::profile::Profile;
use crate::route::{Route, RowKey, View};
use crate::{browser, theme};

/// The page's state. Copying the state is cheap, because every field is a handle.
#[derive(Clone, Copy)]
pub struct State {
    /// Current route.
    pub route: RwSignal<Route>,
    /// Loads, in the order in which the user dropped them.
    pub loads: RwSignal<Vec<Load>>,
    /// Runs, in the order of their files.
    pub runs: RwSignal<Vec<Run>>,
    /// Number and display name of each run. See [`State::name_of`].
    names: Memo<Vec<(u32, String)>>,
    /// Message that is shown for several seconds.
    pub notice: RwSignal<Option<String>>,
    /// True if the help is open.
    pub help: RwSignal<bool>,
    /// True if the command palette is open.
    pub palette: RwSignal<bool>,
    /// True while the user drags something over the page.
    pub dragging: RwSignal<bool>,
    /// True if the page uses the dark theme.
    pub dark: RwSignal<bool>,
    /// Loads of the last drop, until one of their runs is shown.
    pub leading: StoredValue<Option<Leading>>,
    /// Reason why the page cannot work, as a sentence. For example, after a deployment, the workers are outdated.
    pub blocked: RwSignal<Option<String>>,
}

/// Loads of one drop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Leading {
    /// Id of the first load. The other loads of the drop have larger ids.
    pub first: u32,
    /// Id of the load whose run is shown first, because it is the newest capture.
    pub newest: u32,
}

/// The files that one team of workers reads.
#[derive(Clone, Debug)]
pub struct Load {
    /// Number of the load.
    pub id: u32,
    /// Files, in the order in which they are read.
    pub files: RwSignal<Vec<FileRow>>,
    /// True until the last run is analysed, or the load fails or is cancelled.
    pub busy: RwSignal<bool>,
}

/// A file of a load.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FileRow {
    /// Path as dropped.
    pub path: String,
    /// Size of the stored file in bytes, possibly compressed.
    pub size_bytes: u64,
    /// Bytes read so far.
    pub read_bytes: u64,
    /// Events decoded so far.
    pub events: u64,
    /// Progress of the file.
    pub phase: Phase,
    /// Kind of the file, once known.
    pub kind: Option<FileKind>,
    /// Warnings about lost or unusual data.
    pub warnings: Vec<Warning>,
}

/// Progress of a file.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Phase {
    /// Waits for other files.
    #[default]
    Waiting,
    /// A worker is reading the file.
    Reading,
    /// The analyst is computing the numbers of the run.
    Analysing,
    /// The file was read.
    Read,
    /// The file was not read. Contains the reason as a sentence.
    Skipped(String),
    /// The file has nothing to show. Contains the reason as a sentence.
    Failed(String),
    /// The user cancelled the load.
    Cancelled,
}

impl FileRow {
    /// Returns the percentage of bytes read.
    pub fn percent(&self) -> f64 {
        match self.phase {
            Phase::Waiting => 0.0,
            Phase::Analysing | Phase::Read => 100.0,
            _ if self.size_bytes == 0 => 100.0,
            _ => 100.0 * (self.read_bytes as f64 / self.size_bytes as f64).min(1.0),
        }
    }
}

/// A run that was read.
#[derive(Clone, Debug)]
pub struct Run {
    /// Number of the run in URLs and in the rail, from 1.
    pub id: u32,
    /// Number of the load that contains the run.
    pub load: u32,
    /// Index of the run within its load, from 0.
    pub index: u32,
    /// Measured numbers of the run.
    pub report: RwSignal<Arc<Report>>,
    /// Settings that the user chose for the run.
    pub settings: RwSignal<Settings>,
}

impl Run {
    /// Returns true if the run has this view. A run that contains the trends of a lake has only the overview.
    pub fn has(&self, view: View) -> bool {
        view == View::OVERVIEW || !self.report.with(|report| report.profile.is_of_lake())
    }
}

/// The numbers of a run.
#[derive(Debug)]
pub struct Report {
    /// Fields that the page reads.
    pub profile: Profile,
    /// The complete unified profile for the download: the bytes of its JSON text.
    pub document: Vec<u8>,
}

/// Returns a name for each run. If several runs have the same name, adds a suffix that distinguishes them.
fn names(runs: RwSignal<Vec<Run>>, loads: RwSignal<Vec<Load>>) -> Vec<(u32, String)> {
    // The paths of a load never change.
    let file = |load: u32| {
        let load = loads.with_untracked(|loads| loads.iter().find(|it| it.id == load).cloned());
        load.and_then(|load| load.files.with_untracked(|files| files.first().map(|file| file.path.clone())))
    };
    let runs = runs.get();
    let all: Vec<(Arc<Report>, Option<String>)> = runs.iter().map(|run| (run.report.get(), file(run.load))).collect();
    let naming = all.iter().map(|(report, file)| Naming { file: file.as_deref(), ..report.profile.metadata.naming() });
    let names = distinct_names(&naming.collect::<Vec<_>>());
    runs.into_iter().map(|run| run.id).zip(names).collect()
}

impl State {
    /// Creates the state of an empty page at a route.
    pub fn new(route: Route) -> State {
        let (runs, loads) = (RwSignal::new(Vec::new()), RwSignal::new(Vec::new()));
        State {
            route: RwSignal::new(route),
            loads,
            runs,
            names: Memo::new(move |_| names(runs, loads)),
            notice: RwSignal::new(None),
            help: RwSignal::new(false),
            palette: RwSignal::new(false),
            dragging: RwSignal::new(false),
            dark: RwSignal::new(theme::is_dark()),
            leading: StoredValue::new(None),
            blocked: RwSignal::new(None),
        }
    }

    /// Returns the state that the application provides.
    pub fn get() -> State {
        expect_context::<State>()
    }

    /// Returns the run that the URL names, or the first run if the URL names no run.
    pub fn run(&self) -> Option<Run> {
        let wanted = self.route.with(|route| route.run);
        self.runs.with(|runs| {
            let found = runs.iter().find(|run| Some(run.id) == wanted);
            found.or(if wanted.is_none() { runs.first() } else { None }).cloned()
        })
    }

    /// Returns the display name of a run. The display name is unique on this page.
    pub fn name_of(&self, run: u32) -> String {
        let name = |names: &Vec<(u32, String)>| names.iter().find(|(id, _)| *id == run).map(|(_, name)| name.clone());
        self.names.with(name).unwrap_or_default()
    }

    /// Changes the row of a file. Does nothing if the load is gone.
    pub fn update_file(&self, load: u32, file: u32, change: impl FnOnce(&mut FileRow)) {
        if let Some(load) = self.load(load) {
            load.files.update(|files| {
                if let Some(row) = files.get_mut(file as usize) {
                    change(row);
                }
            });
        }
    }

    /// Stores the number of events of a file without updating the page. The page shows the number the next time that
    /// the list changes.
    pub fn note_events(&self, load: u32, file: u32, events: u64) {
        if let Some(load) = self.load(load) {
            load.files.update_untracked(|files| {
                if let Some(row) = files.get_mut(file as usize) {
                    row.events = events;
                }
            });
        }
    }

    /// Shows a message for four seconds.
    pub fn say(&self, text: String) {
        let notice = self.notice;
        notice.set(Some(text.clone()));
        let over = move || {
            if notice.get_untracked().as_ref() == Some(&text) {
                notice.set(None);
            }
        };
        set_timeout(over, std::time::Duration::from_secs(4));
    }

    /// Copies text to the clipboard and shows a message.
    pub fn copy(&self, text: &str, what: &'static str) {
        let (state, copied) = (*self, browser::copy(text));
        wasm_bindgen_futures::spawn_local(async move {
            state.say(match copied.await {
                Ok(_) => format!("{what} copied."),
                Err(_) => "The browser did not allow copying. Download the file instead.".to_owned(),
            });
        });
    }

    /// Opens or closes the details of a table row. The URL names the open row, so that the back button returns to the
    /// details.
    pub fn open_row(&self, table: TableName, row: Option<RowKey>) {
        self.change(|route| match row {
            Some(row) => drop(route.rows.insert(table.key().to_owned(), row)),
            None => drop(route.rows.remove(table.key())),
        });
    }

    /// Sets the view's filter and writes it to the page's URL.
    pub fn filter(&self, text: String) {
        if self.route.with_untracked(|route| route.query.filter != text) {
            self.change(|route| route.query.filter = text);
        }
    }

    /// Sorts a table of the view, and stores the order in the URL. `None` restores the default order.
    pub fn sort(&self, table: TableName, sort: Option<Sort>) {
        self.change(|route| route.query.sorts.set(table.key(), sort));
    }

    /// Sets several options of a view at once. An empty value removes its option.
    pub fn choose_all(&self, choices: Vec<(&'static str, String)>) {
        self.change(|route| {
            for (option, value) in choices {
                match value.is_empty() {
                    true => route.query.options.remove(option),
                    false => route.query.options.insert(option.to_owned(), value),
                };
            }
        });
    }

    /// Toggles between a chart and its table, and stores the choice in the URL.
    pub fn toggle_table(&self, key: &str) {
        self.change(|route| {
            let all = &mut route.as_tables;
            match all.iter().position(|it| it == key) {
                Some(at) => drop(all.remove(at)),
                None => all.push(key.to_owned()),
            }
        });
    }

    /// Sets an option of the view, and stores the option in the URL.
    pub fn choose(&self, option: String, value: String) {
        self.change(|route| {
            route.query.options.insert(option, value);
        });
    }

    fn change(&self, change: impl FnOnce(&mut Route)) {
        self.route.update(change);
        browser::replace(&self.route.get_untracked());
    }

    /// Follows a link to another view of the same run. Keeps the sorting and the options if the view stays the same.
    pub fn follow(&self, link: &Link) {
        if let Some(run) = untrack(|| self.run()) {
            browser::go(&self.route_of(link, run.id));
        }
    }

    /// Returns the route to which a link of a run leads. If the link leads to the current view, keeps the sorting and
    /// all options that the link does not set.
    pub fn route_of(&self, link: &Link, run: u32) -> Route {
        let mut next = Route::to(run, link);
        self.route.with_untracked(|now| {
            if now.view == next.view {
                next.query.sorts.clone_from(&now.query.sorts);
                for (option, value) in &now.query.options {
                    next.query.options.entry(option.clone()).or_insert_with(|| value.clone());
                }
                next.as_tables.clone_from(&now.as_tables);
            }
        });
        next
    }

    /// Returns the route to a view of a run. Keeps the current filter, because it applies to all views.
    pub fn route_to(&self, view: View, run: u32) -> Route {
        self.route.with(|route| Route::filtered(view, run, &route.query.filter))
    }

    /// Returns the load with this number.
    pub fn load(&self, id: u32) -> Option<Load> {
        self.loads.with_untracked(|loads| loads.iter().find(|load| load.id == id).cloned())
    }

    /// Returns the view that the URL names. Returns the start page if there is no run.
    pub fn view(&self) -> View {
        // A comparison names its runs itself and reports missing runs.
        let view = self.route.with(|route| route.view);
        if self.run().is_none() && view != View::Compare { View::Start } else { view }
    }

    /// Returns the run with this index within a load.
    pub fn find_run(&self, load: u32, index: u32) -> Option<Run> {
        self.runs.with_untracked(|runs| runs.iter().find(|run| run.load == load && run.index == index).cloned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn progress_is_a_share_of_the_bytes() {
        let row = |phase, read_bytes| FileRow { size_bytes: 200, read_bytes, phase, ..FileRow::default() };
        assert_eq!(row(Phase::Reading, 50).percent(), 25.0);
        assert_eq!(row(Phase::Reading, 900).percent(), 100.0);
        assert_eq!(row(Phase::Waiting, 50).percent(), 0.0);
        assert_eq!(FileRow { phase: Phase::Reading, ..FileRow::default() }.percent(), 100.0);
    }
}
