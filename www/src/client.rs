//! Starts the workers of a load and turns their messages into signals.

use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use crossprof::document::Grid;
use crossprof::session::Settings;
use crossprof::session::plan::FileKind;
use futures_channel::oneshot;
use futures_util::FutureExt;
use js_sys::Array;
use leptos::prelude::*;
use wasm_bindgen::prelude::*;

use crate::boot::Program;
use crate::connection::Connection;
use crate::pool::{self, NoWorker};
use crate::protocol::analyst::{AnalyseRequest, Received, RunReport};
use crate::protocol::files::{FileDone, FileEntry, Groups};
use crate::protocol::reader::{
    ArgumentsRequest, DecodeProgress, DecodeRequest, LookRequest, Looked, UnpackProgress, UnpackRequest,
};
use crate::protocol::wire::Packed;
use crate::route::{Route, View};
use crate::state::{FileRow, Load, Phase, Report, Run, State};
use crate::teams::{self, Source, Team};
use crate::{ask, browser, second_analyst};

/// Delay before the timeline of a run is prepared. After this delay, the first view is ready.
const REST: Duration = Duration::from_secs(1);

const REPEATED: &str = "Not read, because another file of this host contains these events and more.";

/// Starts to load files that belong to one run or archive. Runs appear in the state as soon as they are analysed. Files
/// in `left_out` are skipped, because another file of the same host is read. If that file contains no profile, the
/// skipped files are read after all.
pub fn load(state: State, sources: Vec<Source>, left_out: Vec<Source>) -> u32 {
    let read = sources.iter().map(|source| row(&source.entry, Phase::Waiting));
    let skipped = left_out.iter().map(|source| row(&source.entry, Phase::Skipped(REPEATED.to_owned())));
    let id = add(state, read.chain(skipped).collect(), true);
    wasm_bindgen_futures::spawn_local(async move {
        match start(state, id, sources, left_out).await {
            Ok(()) => {}
            Err(none) => {
                if none == NoWorker::Stale {
                    state.blocked.set(Some(none.reason().to_owned()));
                }
                fail(state, id, None, none.reason());
            }
        }
    });
    id
}

/// Creates the row that shows a file in the list of loads.
pub fn row(entry: &FileEntry, phase: Phase) -> FileRow {
    FileRow {
        path: entry.path.clone(),
        size_bytes: entry.size_bytes,
        kind: Some(entry.kind).filter(|kind| *kind != FileKind::Unknown),
        phase,
        ..FileRow::default()
    }
}

/// Adds a load to the list of loads. `busy` is false if none of the load's files will be read.
pub fn add(state: State, rows: Vec<FileRow>, busy: bool) -> u32 {
    let id = state.loads.with_untracked(|loads| loads.iter().map(|load| load.id).max().unwrap_or(0) + 1);
    let load = Load { id, files: RwSignal::new(rows), busy: RwSignal::new(busy) };
    state.loads.update(|loads| loads.push(load));
    id
}

/// Cancels a load and stops its workers at once. Runs that were already analysed stay open, but cannot be analysed with
/// other settings.
pub fn cancel(state: State, id: u32) {
    if let Some(load) = state.load(id) {
        // Set before the workers end, so that their end is not reported as a failure.
        load.busy.set(false);
        load.files.update(|files| {
            for file in files {
                if matches!(file.phase, Phase::Waiting | Phase::Reading | Phase::Analysing) {
                    file.phase = Phase::Cancelled;
                }
            }
        });
    }
    teams::end(id);
}

/// Removes a run. When the last run of a load is removed, its workers and their memory are freed.
pub fn close(state: State, run: &Run) {
    state.runs.update(|runs| runs.retain(|other| other.id != run.id));
    if !state.runs.with_untracked(|runs| runs.iter().any(|other| other.load == run.load)) {
        forget(state, run.load);
    }
    browser::go(&Route::default());
}

/// Removes a finished load from the list of loads.
pub fn forget(state: State, id: u32) {
    state.loads.update(|loads| loads.retain(|load| load.id != id));
    teams::end(id);
}

/// Requests the numbers of a run under other settings.
pub fn analyse(state: State, run: &Run, settings: Settings) {
    run.settings.set(settings.clone());
    let (load, index) = (run.load, run.index);
    let heard = move |found: Result<RunReport, String>| match found {
        Ok(found) => add_report(state, load, index, found),
        // The user may have closed the run in the meantime. In this case, the error does not matter.
        Err(reason) if state.find_run(load, index).is_some() => state.say(reason),
        Err(_) => {}
    };
    ask::report(load, index, settings, Box::new(heard));
}

async fn start(state: State, id: u32, sources: Vec<Source>, left_out: Vec<Source>) -> Result<(), NoWorker> {
    let readers = [connect(Program::Reader).await?, connect(Program::Reader).await?];
    let analyst = Rc::new(connect(Program::Analyst).await?);
    let is_wanted = state.load(id).is_some_and(|load| load.busy.get_untracked());
    if is_wanted {
        let team = Team {
            readers: Some(readers),
            analyst,
            second_analyst: None,
            graph: None,
            memory_transfers: Vec::new(),
            sources,
            left_out,
        };
        instruct(state, id, &team);
        teams::add(id, team);
    }
    Ok(())
}

async fn connect(program: Program) -> Result<Connection, NoWorker> {
    pool::take(program).await.map(Connection::new)
}

/// Connects the workers of a team, and tells them which files to read.
fn instruct(state: State, load: u32, team: &Team) {
    let Some([unpacker, decoder]) = &team.readers else { return };
    let entries = |sources: &[Source]| sources.iter().map(|source| source.entry.clone()).collect::<Vec<_>>();
    let (files, left_out) = (entries(&team.sources), entries(&team.left_out));
    let blobs: Array = team.sources.iter().map(|source| JsValue::from(source.blob.clone())).collect();
    unpacker.join(decoder);
    decoder.join(&team.analyst);
    let done = move |outcome: Result<(), String>| {
        if let Err(reason) = outcome {
            fail(state, load, None, &reason);
        }
    };
    let analysed = move |received: Result<Packed<Received>, String>| match received {
        Ok(Packed(received)) => ask_for_reports(state, load, received),
        Err(reason) => fail(state, load, None, &reason),
    };
    team.analyst.ask(AnalyseRequest, None, &[], analysed);
    let decode = DecodeRequest { files: files.clone(), left_out };
    decoder.work(decode, &[], &Array::new(), move |progress| decoded(state, load, progress), done);
    let unpack = UnpackRequest { files };
    unpacker.work(unpack, &[blobs.into()], &Array::new(), move |progress| unpacked(state, load, progress), done);
}

/// Determines the kind of each file from its first bytes, and groups files that are read together. This work runs in a
/// worker, so that the page stays responsive and needs no code for unpacking. If that worker fails, each file becomes a
/// separate load, which reports the error.
pub async fn look_at(paths: &[String], blobs: &[web_sys::Blob]) -> Looked {
    let alone = || {
        let loads = (0..paths.len()).map(|index| (vec![index], Vec::new())).collect();
        Looked { kinds: vec![FileKind::Unknown; paths.len()], groups: Groups { loads, ignored: Vec::new() } }
    };
    look(paths.to_vec(), blobs.iter().collect()).await.unwrap_or_else(alone)
}

async fn look(paths: Vec<String>, blobs: Array) -> Option<Looked> {
    let reader = connect(Program::Reader).await.ok()?;
    let (sender, looked) = oneshot::channel();
    // Blobs are passed by reference, not transferred.
    let heard = move |outcome| drop(sender.send(outcome));
    reader.work(LookRequest { paths }, &[blobs.into()], &Array::new(), |()| {}, heard);
    looked.await.ok()?.ok()
}

/// Lets a worker read a run's file again, and returns all arguments of one event.
pub async fn arguments(run: &Run, (member, event): (String, u32)) -> Result<Grid, String> {
    let source = teams::source(run.load, &member).ok_or(teams::ENDED)?;
    let reader = connect(Program::Reader).await.map_err(NoWorker::reason)?;
    let (sender, heard) = oneshot::channel();
    let request = ArgumentsRequest { file: source.entry.path, member, event };
    let tell = move |outcome| drop(sender.send(outcome));
    reader.work(request, &[source.blob.into()], &Array::new(), |()| {}, tell);
    heard.await.map_err(|_| teams::ENDED)?.map(|Packed(grid)| grid)
}

fn unpacked(state: State, load: u32, progress: UnpackProgress) {
    match progress {
        UnpackProgress::Read { file, bytes } => state.update_file(load, file, |row| {
            row.read_bytes = bytes;
            if row.phase == Phase::Waiting {
                row.phase = Phase::Reading;
            }
        }),
        UnpackProgress::Unreadable { file, reason } => fail(state, load, Some(file), &reason),
    }
}

fn decoded(state: State, load: u32, progress: DecodeProgress) {
    match progress {
        // This does not update the page, because each update takes time from the workers. The reader's next progress
        // message updates the page.
        DecodeProgress::Events { file, events } => state.note_events(load, file, events),
        DecodeProgress::FilesDone(files) => files.into_iter().for_each(|done| file_done(state, load, done)),
        DecodeProgress::Wanted(paths) => wanted(state, load, &paths),
    }
}

/// Requests a report for each run, after the analyst has received all runs.
fn ask_for_reports(state: State, load: u32, Received { runs, newest }: Received) {
    teams::end_readers(load);
    let of_memory = |kind| matches!(kind, FileKind::Program | FileKind::MemoryProfile | FileKind::MemoryError);
    let is_of_memory = |row: &FileRow| row.kind.is_some_and(of_memory);
    if state.load(load).is_some_and(|load| load.files.with_untracked(|files| files.iter().all(is_of_memory))) {
        // The memory page of such a load is shown first, so the second analyst makes this page while the first analyst
        // makes the report. The request for the page reports errors.
        wasm_bindgen_futures::spawn_local(second_analyst::of(load, Some(0)).map(drop));
    }
    // Show the newest run first.
    let order: Vec<u32> =
        std::iter::once(newest).chain((0..runs).filter(|run| *run != newest)).take(runs as usize).collect();
    let last = order.last().copied();
    for run in order {
        let heard = move |found: Result<RunReport, String>| match found {
            Ok(found) => {
                add_report(state, load, run, found);
                if run == newest {
                    show_first(state, load, run);
                }
                if last == Some(run) {
                    end(state, load);
                }
            }
            Err(reason) => fail(state, load, None, &reason),
        };
        ask::report(load, run, Settings::default(), Box::new(heard));
    }
    if runs == 0 {
        end(state, load);
        others_lead(state, load);
    }
}

fn file_done(state: State, load: u32, done: FileDone) {
    state.update_file(load, done.file, |row| {
        row.read_bytes = row.size_bytes;
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

fn add_report(state: State, load: u32, index: u32, found: RunReport) {
    let report = Arc::new(Report { profile: found.profile.0, document: found.document.to_vec() });
    if let Some(run) = state.find_run(load, index) {
        run.report.set(report);
        return;
    }
    let id = state.runs.with_untracked(|runs| runs.iter().map(|run| run.id).max().unwrap_or(0) + 1);
    let run = Run { id, load, index, report: RwSignal::new(report), settings: RwSignal::new(Settings::default()) };
    browser::keep(id, &run.report.with_untracked(|report| report.profile.metadata.trace_file.clone()));
    // Insert in file order, regardless of which file was read first.
    state.runs.update(|runs| {
        let at = runs.partition_point(|other| (other.load, other.index) < (load, index));
        runs.insert(at, run);
    });
    // Prepare the timeline after the first view has been shown.
    set_timeout(move || ask::prepare(load, index), REST);
}

/// Navigates to a run that was read, unless a newer run from the same drop is still being read.
fn show_first(state: State, load: u32, index: u32) {
    let is_read = |id: u32| state.load(id).is_none_or(|load| !load.busy.get_untracked());
    let newest = state.leading.get_value().map(|leading| leading.newest);
    let is_later = newest.is_some_and(|newest| newest != load && !is_read(newest));
    let Some(run) = state.find_run(load, index).filter(|_| !is_later) else { return };
    if untrack(|| state.view()) == View::Start {
        // Set the route at once, because another run from the same drop may arrive with the next message. If the user
        // opened a URL with a view, keep that view.
        let mut route = state.route.get_untracked();
        route.run = Some(run.id);
        if route.view == View::Start {
            let is_of_memory = run.report.with_untracked(|report| report.profile.is_of_memory());
            route.view = if is_of_memory { View::MEMORY } else { View::OVERVIEW };
        }
        browser::go(&route);
        state.route.set(route);
    }
}

/// Handles the end of a load that has no run to show. If this load should have been shown first, shows the last run
/// from the same drop instead. Never shows runs from earlier drops, because such a run would hide the reason why the
/// new files were not read.
fn others_lead(state: State, load: u32) {
    let Some(leading) = state.leading.get_value().filter(|leading| leading.newest == load) else { return };
    state.leading.set_value(None);
    let of_drop = |run: &&Run| run.load >= leading.first;
    let last = state.runs.with_untracked(|runs| runs.iter().rfind(of_drop).map(|run| (run.load, run.index)));
    last.into_iter().for_each(|(load, index)| show_first(state, load, index));
}

/// Loads files that an earlier load left out.
fn wanted(state: State, load: u32, paths: &[String]) {
    let sources: Vec<Source> =
        teams::left_out(load).into_iter().filter(|source| paths.contains(&source.entry.path)).collect();
    if !sources.is_empty() {
        self::load(state, sources, Vec::new());
    }
}

/// Marks a load as complete.
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

/// Marks a load, or one of its files, as failed.
fn fail(state: State, id: u32, file: Option<u32>, message: &str) {
    let Some(load) = state.load(id) else { return };
    if file.is_none() {
        // Report only the first error, because this error also ends the other workers of the load.
        if !load.busy.get_untracked() {
            return;
        }
        load.busy.set(false);
        teams::end(id);
        others_lead(state, id);
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
