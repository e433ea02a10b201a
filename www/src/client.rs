//! Starts the workers of a load and turns what they say into signals.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;

use crossprof::input::plan::Kind;
use crossprof::metrics::Settings;
use futures_channel::oneshot;
use js_sys::Array;
use leptos::prelude::*;
use wasm_bindgen::prelude::*;
use web_sys::{ErrorEvent, MessageChannel, MessageEvent, Worker};

use crate::ask;
use crate::boot::Program;
use crate::crew::{self, NoWorker};
use crate::protocol::{FileDone, FileEntry, Groups, News, Order};
use crate::route::{Route, View};
use crate::state::{FileRow, Load, Phase, Report, Run, State};
use crate::{browser, wire};

const STALE: &str = "This page was updated while it was open. Reload it before you open another profile.";
const CRASHED: &str = "The analysis stopped: the tab ran out of memory, or this profile hits a fault of crossprof. \
    Close other runs and try again, or use the command line: crossprof analyze FILE.";
const REPEATED: &str = "Not read: another file holds the same events of the same host, and more.";
const NO_WORKER: &str = "The analysis could not be started: the page's own files could not be read. Reload the page.";

/// A file to load.
#[derive(Clone, Debug)]
pub struct Source {
    /// What is known of it.
    pub entry: FileEntry,
    /// The bytes, by reference: only a worker reads them.
    pub blob: web_sys::Blob,
}

/// The workers of one load. The first two are ended when the third has the runs.
struct Team {
    inflate: Worker,
    scan: Worker,
    analyst: Worker,
    left_out: Vec<Source>,
    _heard: Vec<Listener>,
}

/// Kept as long as its worker.
struct Listener {
    _on_message: Closure<dyn FnMut(MessageEvent)>,
    _on_error: Closure<dyn FnMut(ErrorEvent)>,
}

thread_local! {
    static TEAMS: RefCell<BTreeMap<u32, Team>> = const { RefCell::new(BTreeMap::new()) };
}

/// Loads files that belong together; runs appear in the state as they are understood. Files that are left out, because
/// another of the same host is read, are read after all where that other one is no profile.
pub fn load(state: State, sources: Vec<Source>, left_out: Vec<Source>) {
    let read = sources.iter().map(|source| row(&source.entry, Phase::Waiting));
    let skipped = left_out.iter().map(|source| row(&source.entry, Phase::Skipped(REPEATED.to_owned())));
    let id = add(state, read.chain(skipped).collect(), true);
    wasm_bindgen_futures::spawn_local(async move {
        match start(state, id, sources, left_out).await {
            Ok(()) => {}
            Err(NoWorker::Unreadable) => fail(state, id, None, NO_WORKER),
            Err(NoWorker::Stale) => {
                state.blocked.set(Some(STALE.to_owned()));
                fail(state, id, None, STALE);
            }
        }
    });
}

/// The row of a file that is not read at all.
pub fn row(entry: &FileEntry, phase: Phase) -> FileRow {
    FileRow {
        path: entry.path.clone(),
        size_bytes: entry.size_bytes,
        kind: Some(entry.kind).filter(|kind| *kind != Kind::Unknown),
        phase,
        ..FileRow::default()
    }
}

/// Adds a load to the list; rows of files that are not read come with `busy` false.
pub fn add(state: State, rows: Vec<FileRow>, busy: bool) -> u32 {
    let id = state.loads.with_untracked(|loads| loads.iter().map(|load| load.id).max().unwrap_or(0) + 1);
    let load = Load { id, files: RwSignal::new(rows), busy: RwSignal::new(busy) };
    state.loads.update(|loads| loads.push(load));
    id
}

/// Ends a load: its workers stop at once, whatever they do. Runs that are done stay, but cannot be analysed again.
pub fn cancel(state: State, id: u32) {
    stop(id);
    let Some(load) = state.load(id) else { return };
    load.busy.set(false);
    load.files.update(|files| {
        for file in files {
            if matches!(file.phase, Phase::Waiting | Phase::Reading | Phase::Analysing) {
                file.phase = Phase::Cancelled;
            }
        }
    });
}

/// Takes a run away and, with the last run of its load, the workers and their memory.
pub fn close(state: State, run: &Run) {
    state.runs.update(|runs| runs.retain(|other| other.id != run.id));
    if !state.runs.with_untracked(|runs| runs.iter().any(|other| other.load == run.load)) {
        stop(run.load);
        state.loads.update(|loads| loads.retain(|load| load.id != run.load));
    }
    browser::go(&Route::default());
}

/// Takes a load that has ended off the list.
pub fn forget(state: State, id: u32) {
    stop(id);
    state.loads.update(|loads| loads.retain(|load| load.id != id));
}

/// Asks for a run's numbers under other settings.
pub fn analyse(run: &Run, settings: Settings) {
    run.settings.set(settings.clone());
    send(run.load, &Order::Report { run: run.index, settings: settings.into() });
}

/// Tells the analyst of a load what to do.
pub fn send(load: u32, order: &Order) {
    TEAMS.with_borrow(|teams| {
        if let Some(team) = teams.get(&load) {
            // A worker that is gone was cancelled.
            let _ = team.analyst.post_message(&wire::pack(order, &[]));
        }
    });
}

fn stop(load: u32) {
    if let Some(team) = TEAMS.with_borrow_mut(|teams| teams.remove(&load)) {
        team.inflate.terminate();
        team.scan.terminate();
        team.analyst.terminate();
    }
}

/// All is read and handed on: the memory of those who read is given back.
fn dismiss_readers(load: u32) {
    TEAMS.with_borrow(|teams| {
        if let Some(team) = teams.get(&load) {
            team.inflate.terminate();
            team.scan.terminate();
        }
    });
}

async fn start(state: State, id: u32, sources: Vec<Source>, left_out: Vec<Source>) -> Result<(), NoWorker> {
    let (inflate, first) = employ(state, id, Program::Reader).await?;
    let (scan, second) = employ(state, id, Program::Reader).await?;
    let (analyst, third) = employ(state, id, Program::Analyst).await?;
    let team = Team { inflate, scan, analyst, left_out, _heard: vec![first, second, third] };
    let is_wanted = state.load(id).is_some_and(|load| load.busy.get_untracked());
    if is_wanted {
        instruct(&team, sources).map_err(|_| NoWorker::Unreadable)?;
    }
    TEAMS.with_borrow_mut(|teams| teams.insert(id, team));
    if !is_wanted {
        stop(id);
    }
    Ok(())
}

/// Joins the workers of a team and gives them their files.
fn instruct(team: &Team, sources: Vec<Source>) -> Result<(), JsValue> {
    let entries = |sources: &[Source]| sources.iter().map(|source| source.entry.clone()).collect::<Vec<_>>();
    let files = entries(&sources);
    let blobs: Array = sources.into_iter().map(|source| JsValue::from(source.blob)).collect();
    let channel = MessageChannel::new()?;
    let (to_scan, to_inflate) = (JsValue::from(channel.port1()), JsValue::from(channel.port2()));
    let channel = MessageChannel::new()?;
    let (from_scan, to_analyst) = (JsValue::from(channel.port1()), JsValue::from(channel.port2()));
    let order = wire::pack(&Order::Analyse, std::slice::from_ref(&from_scan));
    team.analyst.post_message_with_transfer(&order, &Array::of1(&from_scan))?;
    let order = Order::Scan { files: files.clone(), left_out: entries(&team.left_out) };
    let order = wire::pack(&order, &[to_inflate.clone(), to_analyst.clone()]);
    team.scan.post_message_with_transfer(&order, &Array::of2(&to_inflate, &to_analyst))?;
    let order = wire::pack(&Order::Unpack(files), &[to_scan.clone(), blobs.into()]);
    team.inflate.post_message_with_transfer(&order, &Array::of1(&to_scan))
}

/// What files hold, told by their first bytes, and which of them are read together. A worker looks at them: the page stays
/// responsive, and small without the code that unpacks. Where that fails, each file is read by itself: loading it says what
/// is wrong.
pub async fn look_at(paths: &[String], blobs: &[web_sys::Blob]) -> (Vec<Kind>, Groups) {
    let alone = || {
        let loads = (0..paths.len()).map(|index| (vec![index], Vec::new())).collect();
        (vec![Kind::Unknown; paths.len()], Groups { loads, ignored: Vec::new() })
    };
    look(paths.to_vec(), blobs.iter().collect()).await.unwrap_or_else(alone)
}

async fn look(paths: Vec<String>, blobs: Array) -> Option<(Vec<Kind>, Groups)> {
    let worker = crew::hire(Program::Reader).await.ok()?;
    let (sender, answer) = oneshot::channel();
    let sender = Rc::new(RefCell::new(Some(sender)));
    let failed = sender.clone();
    let on_message = Closure::<dyn FnMut(MessageEvent)>::new(move |event: MessageEvent| {
        if let (Some((News::Looked(kinds, groups), _)), Some(sender)) =
            (wire::unpack(event.data()), sender.borrow_mut().take())
        {
            let _ = sender.send((kinds, groups));
        }
    });
    // Wakes who waits, without an answer.
    let on_error = Closure::<dyn FnMut(ErrorEvent)>::new(move |_: ErrorEvent| drop(failed.borrow_mut().take()));
    worker.set_onmessage(Some(on_message.as_ref().unchecked_ref()));
    worker.set_onerror(Some(on_error.as_ref().unchecked_ref()));
    let _ = worker.post_message(&wire::pack(&Order::Look(paths), &[blobs.into()]));
    let found = answer.await.ok();
    worker.terminate();
    found
}

/// Hires a worker for a load and hears it.
async fn employ(state: State, load: u32, program: Program) -> Result<(Worker, Listener), NoWorker> {
    let worker = crew::hire(program).await?;
    let on_message = Closure::<dyn FnMut(MessageEvent)>::new(move |event: MessageEvent| {
        if let Some((news, extras)) = wire::unpack(event.data()) {
            hear(state, load, news, &extras);
        }
    });
    let on_error = Closure::<dyn FnMut(ErrorEvent)>::new(move |_: ErrorEvent| fail(state, load, None, CRASHED));
    worker.set_onmessage(Some(on_message.as_ref().unchecked_ref()));
    worker.set_onerror(Some(on_error.as_ref().unchecked_ref()));
    Ok((worker, Listener { _on_message: on_message, _on_error: on_error }))
}

fn hear(state: State, load: u32, news: News, extras: &Array) {
    let text = || extras.get(1).as_string().unwrap_or_default();
    match news {
        News::Ready { .. } | News::Looked(..) => {}
        News::Read { file, bytes } => state.update_file(load, file, |row| {
            row.read_bytes = bytes;
            if row.phase == Phase::Waiting {
                row.phase = Phase::Reading;
            }
        }),
        // Drawn with the next news of what is read, which comes as often: a page that is drawn takes time from the workers.
        News::Scanned { file, events } => state.note_events(load, file, events),
        News::FileDone(done) => file_done(state, load, done),
        News::Wanted(paths) => wanted(state, load, &paths),
        News::Runs(runs) => {
            dismiss_readers(load);
            if runs == 0 {
                end(state, load);
            }
        }
        News::Report { run, last } => report(state, load, run, text(), last),
        News::Answer { asked } => ask::answered(asked, text()),
        News::Failed { file, message } => fail(state, load, file, &message),
    }
}

fn file_done(state: State, load: u32, done: FileDone) {
    state.update_file(load, done.file, |row| {
        row.events = done.events;
        row.kind = done.kind;
        row.warnings = done.warnings;
        row.phase = match (done.error, done.skipped) {
            (Some(error), _) => Phase::Failed(error),
            (None, Some(reason)) => Phase::Skipped(reason),
            (None, None) => Phase::Analysing,
        };
    });
}

fn report(state: State, load: u32, index: u32, json: String, last: bool) {
    let profile = match crossprof::json::from_str(&json) {
        Ok(profile) => profile,
        Err(_) => return fail(state, load, None, CRASHED),
    };
    let report = Arc::new(Report { profile, json });
    if let Some(run) = state.find_run(load, index) {
        run.report.set(report);
        return;
    }
    let id = state.runs.with_untracked(|runs| runs.iter().map(|run| run.id).max().unwrap_or(0) + 1);
    let run = Run { id, load, index, report: RwSignal::new(report), settings: RwSignal::new(Settings::default()) };
    state.runs.update(|runs| runs.push(run));
    if last {
        end(state, load);
    }
    if index == 0 && state.route.with_untracked(|route| route.view == View::Start) {
        // At once: another run of the same drop may be the next message.
        let route = Route::of(View::Overview, id);
        browser::go(&route);
        state.route.set(route);
    }
}

/// Reads files after all that were left out.
fn wanted(state: State, load: u32, paths: &[String]) {
    let sources = TEAMS.with_borrow(|teams| teams.get(&load).map(|team| team.left_out.clone())).unwrap_or_default();
    let sources: Vec<Source> = sources.into_iter().filter(|source| paths.contains(&source.entry.path)).collect();
    if !sources.is_empty() {
        self::load(state, sources, Vec::new());
    }
}

/// A load has ended well.
fn end(state: State, load: u32) {
    let Some(load) = state.load(load) else { return };
    load.busy.set(false);
    load.files.update(|files| {
        for file in files {
            if file.phase == Phase::Analysing {
                file.phase = Phase::Read;
            }
        }
    });
}

/// A load, or one file of it, has failed.
fn fail(state: State, id: u32, file: Option<u32>, message: &str) {
    let Some(load) = state.load(id) else { return };
    if file.is_none() {
        stop(id);
        load.busy.set(false);
    }
    load.files.update(|files| {
        for (index, row) in files.iter_mut().enumerate() {
            let meant = file.is_none_or(|file| file as usize == index);
            if meant && !matches!(row.phase, Phase::Failed(_) | Phase::Skipped(_) | Phase::Read) {
                row.phase = Phase::Failed(message.to_owned());
            }
        }
    });
}
