//! Everything that the page shows, as signals in one place.

use std::sync::Arc;

use crossprof::Warning;
use crossprof::input::plan::FileKind;
use crossprof::metrics::Settings;
use crossprof::pages::Link;
use crossprof::report::{Naming, distinct_names};
use crossprof::table::Sort;
use crossprof::tables::TableName;
use leptos::prelude::*;

use crate::profile::Profile;
use crate::route::{Route, RowKey, View};
use crate::{browser, theme};

/// The page's state. Cheap to copy: every field is a handle.
#[derive(Clone, Copy)]
pub struct State {
    /// The address.
    pub route: RwSignal<Route>,
    /// Drops, in order.
    pub loads: RwSignal<Vec<Load>>,
    /// Runs, in the order in which they were read.
    pub runs: RwSignal<Vec<Run>>,
    /// What each of them is called, by its number: see [`State::name_of`].
    names: Memo<Vec<(u32, String)>>,
    /// A sentence that shows for a moment.
    pub notice: RwSignal<Option<String>>,
    /// The help is open.
    pub help: RwSignal<bool>,
    /// The command palette is open.
    pub palette: RwSignal<bool>,
    /// Something is dragged over the page.
    pub dragging: RwSignal<bool>,
    /// The page is dark.
    pub dark: RwSignal<bool>,
    /// The load whose run is shown first: the newest of the last drop.
    pub leading: StoredValue<Option<u32>>,
    /// What hinders all work, as a sentence (a stale worker after a deploy).
    pub blocked: RwSignal<Option<String>>,
}

/// One worker pair's files.
#[derive(Clone, Debug)]
pub struct Load {
    /// Number of the load.
    pub id: u32,
    /// The files, in the order in which they are read.
    pub files: RwSignal<Vec<FileRow>>,
    /// True until the last run is analysed, or the load ended in any other way.
    pub busy: RwSignal<bool>,
}

/// One file of a load.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FileRow {
    /// Path as dropped.
    pub path: String,
    /// Size as stored.
    pub size_bytes: u64,
    /// Bytes read so far.
    pub read_bytes: u64,
    /// Events so far.
    pub events: u64,
    /// How far the file is.
    pub phase: Phase,
    /// What the file is, once known.
    pub kind: Option<FileKind>,
    /// What was lost or odd.
    pub warnings: Vec<Warning>,
}

/// How far a file is.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Phase {
    /// Other files come first.
    #[default]
    Waiting,
    /// Bytes of the file are being read.
    Reading,
    /// The numbers of the run are being made.
    Analysing,
    /// The file was read.
    Read,
    /// The file was not read; the reason as a sentence.
    Skipped(String),
    /// The file has nothing to show; the reason as a sentence.
    Failed(String),
    /// The user ended the load of the file.
    Cancelled,
}

impl FileRow {
    /// Share of the bytes that were read, in percent.
    pub fn percent(&self) -> f64 {
        match self.phase {
            Phase::Waiting => 0.0,
            Phase::Analysing | Phase::Read => 100.0,
            _ if self.size_bytes == 0 => 100.0,
            _ => 100.0 * (self.read_bytes as f64 / self.size_bytes as f64).min(1.0),
        }
    }
}

/// One run.
#[derive(Clone, Debug)]
pub struct Run {
    /// Number of the run in addresses and in the rail, from 1.
    pub id: u32,
    /// The load that it came from.
    pub load: u32,
    /// Number of the run within its load.
    pub index: u32,
    /// Numbers that were measured of the run.
    pub report: RwSignal<Arc<Report>>,
    /// What the user gave for it.
    pub settings: RwSignal<Settings>,
}

/// The numbers of a run.
#[derive(Debug)]
pub struct Report {
    /// The profile.
    pub profile: Profile,
    /// The whole document, the text to download, as its bytes.
    pub document: Vec<u8>,
}

/// The runs' names, distinguished where they are equal.
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
    /// An empty page at an address.
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

    /// The state that the application provides.
    pub fn get() -> State {
        expect_context::<State>()
    }

    /// The run of the address; the first where the address names none.
    pub fn run(&self) -> Option<Run> {
        let wanted = self.route.with(|route| route.run);
        self.runs.with(|runs| {
            let found = runs.iter().find(|run| Some(run.id) == wanted);
            found.or(if wanted.is_none() { runs.first() } else { None }).cloned()
        })
    }

    /// What a run is called on this page, where no other run is called so.
    pub fn name_of(&self, run: u32) -> String {
        let name = |names: &Vec<(u32, String)>| names.iter().find(|(id, _)| *id == run).map(|(_, name)| name.clone());
        self.names.with(name).unwrap_or_default()
    }

    /// Changes a file's row, where the load is still there.
    pub fn update_file(&self, load: u32, file: u32, change: impl FnOnce(&mut FileRow)) {
        if let Some(load) = self.load(load) {
            load.files.update(|files| {
                if let Some(row) = files.get_mut(file as usize) {
                    change(row);
                }
            });
        }
    }

    /// Keeps how many events a file has so far, to be shown with its next change.
    pub fn note_events(&self, load: u32, file: u32, events: u64) {
        if let Some(load) = self.load(load) {
            load.files.update_untracked(|files| {
                if let Some(row) = files.get_mut(file as usize) {
                    row.events = events;
                }
            });
        }
    }

    /// Shows a sentence for a few seconds.
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

    /// Copies a text and says so.
    pub fn copy(&self, text: &str, what: &'static str) {
        let (state, copied) = (*self, browser::copy(text));
        wasm_bindgen_futures::spawn_local(async move {
            state.say(match copied.await {
                Ok(_) => format!("{what} copied."),
                Err(_) => "The browser did not allow copying. Download the file instead.".to_owned(),
            });
        });
    }

    /// Opens the details of a row of a table, or closes them; in the address, so that the way back leads to them.
    pub fn open_row(&self, table: TableName, row: Option<RowKey>) {
        self.change(|route| match row {
            Some(row) => drop(route.rows.insert(table.key().to_owned(), row)),
            None => drop(route.rows.remove(table.key())),
        });
    }

    /// Filters the tables of this view, in the address too.
    pub fn filter(&self, text: String) {
        if self.route.with_untracked(|route| route.query.filter != text) {
            self.change(|route| route.query.filter = text);
        }
    }

    /// Orders a table of this view, in the address too; its own order without a sort.
    pub fn sort(&self, table: TableName, sort: Option<Sort>) {
        self.change(|route| route.query.sorts.set(table.key(), sort));
    }

    /// Sets several choices of a view at once; an empty one is taken away.
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

    /// Shows a chart as a table, or again as a chart, in the address too.
    pub fn toggle_table(&self, key: &str) {
        self.change(|route| {
            let all = &mut route.as_tables;
            match all.iter().position(|it| it == key) {
                Some(at) => drop(all.remove(at)),
                None => all.push(key.to_owned()),
            }
        });
    }

    /// Chooses one of a view's forms, in the address too.
    pub fn choose(&self, option: String, value: String) {
        self.change(|route| {
            route.query.options.insert(option, value);
        });
    }

    fn change(&self, change: impl FnOnce(&mut Route)) {
        self.route.update(change);
        browser::replace(&self.route.get_untracked());
    }

    /// Goes where a mark leads: another view of the same run, filtered. Orders and choices of a view stay on it.
    pub fn follow(&self, link: &Link) {
        if let Some(run) = untrack(|| self.run()) {
            browser::go(&self.route_of(link, run.id));
        }
    }

    /// The address of a link of a run. Orders and choices of the view that is shown stay, unless the link says otherwise.
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

    /// A view of a run under the filter in force: it holds for all views.
    pub fn route_to(&self, view: View, run: u32) -> Route {
        self.route.with(|route| Route::filtered(view, run, &route.query.filter))
    }

    /// A load by its number.
    pub fn load(&self, id: u32) -> Option<Load> {
        self.loads.with_untracked(|loads| loads.iter().find(|load| load.id == id).cloned())
    }

    /// The view that the address names; without a run there is only the start page.
    pub fn view(&self) -> View {
        // A comparison names its runs itself, and says which are missing.
        let view = self.route.with(|route| route.view);
        if self.run().is_none() && view != View::Compare { View::Start } else { view }
    }

    /// The settings of the run with this number within its load.
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
