//! The ways to open a profile: drop it anywhere on the page, pick it, or paste it.

use js_sys::Array;
use leptos::prelude::*;
use wasm_bindgen::convert::FromWasmAbi;
use wasm_bindgen::prelude::*;
use web_sys::{Blob, ClipboardEvent, DragEvent, Element, HtmlInputElement};

use crossprof::session::plan::capture_time;

use crate::client;
use crate::files::PickedFile;
use crate::protocol::files::FileEntry;
use crate::route::{Route, View};
use crate::state::{FileRow, Leading, Phase, State};
use crate::teams::Source;
use crate::{boot, browser, files};

/// Loads dropped or picked files and shows their progress.
pub async fn open(state: State, found: Vec<PickedFile>) {
    // If the user is comparing runs, stay in the comparison and add the run. If the URL names a run that no longer exists,
    // keep the URL.
    if untrack(|| state.view() != View::Compare && state.run().is_some()) {
        browser::go(&Route::default());
    }
    let (sources, groups) = files::look_at(found).await;
    let entries: Vec<FileEntry> = sources.iter().map(|source| source.entry.clone()).collect();
    let pick = |indices: Vec<usize>| indices.into_iter().filter_map(|index| sources.get(index).cloned()).collect();
    let rows: Vec<FileRow> = groups
        .ignored
        .iter()
        .filter_map(|(index, reason)| Some(client::row(entries.get(*index)?, Phase::Skipped(reason.clone()))))
        .collect();
    if groups.loads.is_empty() && rows.is_empty() {
        let name =
            entries.first().and_then(|entry| entry.path.split('/').next()).unwrap_or("Nothing to read").to_owned();
        client::add(
            state,
            vec![FileRow { path: name, phase: Phase::Failed(NO_PROFILE.to_owned()), ..FileRow::default() }],
            false,
        );
    }
    let loads: Vec<(Vec<Source>, Vec<Source>)> =
        groups.loads.into_iter().map(|(read, left_out)| (pick(read), pick(left_out))).collect();
    let newest = newest(loads.iter().map(|(read, _)| read.as_slice()));
    let mut first = None;
    for (at, (read, left_out)) in loads.into_iter().enumerate() {
        let load = client::load(state, read, left_out);
        let first = *first.get_or_insert(load);
        if newest == Some(at) {
            state.leading.set_value(Some(Leading { first, newest: load }));
        }
    }
    if !rows.is_empty() {
        client::add(state, rows, false);
    }
}

/// Returns the index of the load that was captured last. Compares the times in the folder names, or the modification
/// times of the files if a load has no such folder.
fn newest<'s>(loads: impl Iterator<Item = &'s [Source]> + Clone) -> Option<usize> {
    let captured = loads.clone().map(|sources| sources.iter().find_map(|it| capture_time(&it.entry.path)));
    let captured: Option<Vec<&str>> = captured.collect();
    let written = |sources: &[Source]| {
        let times = sources.iter().filter_map(|it| Some(it.blob.dyn_ref::<web_sys::File>()?.last_modified()));
        times.fold(0.0, f64::max)
    };
    match captured {
        Some(times) => last(&times, |a, b| a > b),
        None => last(&loads.map(written).collect::<Vec<_>>(), |a, b| a > b),
    }
}

/// Returns the index of the latest time. If several times are equally late, returns the first of their indices.
fn last<T>(times: &[T], is_later: impl Fn(&T, &T) -> bool) -> Option<usize> {
    times.iter().enumerate().reduce(|best, it| if is_later(it.1, best.1) { it } else { best }).map(|(at, _)| at)
}

const NO_PROFILE: &str =
    "No profile found. Drop the folder that the profiler wrote. It contains plugins/profile/<run>/*.xplane.pb.";

/// Loads an example.
pub fn open_example(state: State, file: &'static str) {
    wasm_bindgen_futures::spawn_local(async move {
        match boot::kept(file).await {
            Ok(blob) => {
                open(state, vec![PickedFile { path: file.rsplit('/').next().unwrap_or(file).to_owned(), blob }]).await
            }
            Err(_) => state.say("This example could not be read. Reload the page.".to_owned()),
        }
    });
}

/// File name of pasted text.
const PASTED: &str = "pasted.log";

/// Accepts files dropped anywhere on the page, pasted files, and the pasted text of an error.
pub fn listen(state: State) {
    let over = move |event: DragEvent| {
        event.prevent_default();
        if let Some(transfer) = event.data_transfer() {
            transfer.set_drop_effect("copy");
        }
        state.dragging.set(true);
    };
    let leave = move |event: DragEvent| {
        // The pointer left the window, rather than moving between elements.
        if event.related_target().is_none() {
            state.dragging.set(false);
        }
    };
    let drop = move |event: DragEvent| {
        event.prevent_default();
        state.dragging.set(false);
        let Some(transfer) = event.data_transfer() else { return };
        let entries = files::entries(&transfer);
        // Some programs drop files that are not file system entries.
        let plain = transfer.files().map(|list| files::picked(&list)).unwrap_or_default();
        wasm_bindgen_futures::spawn_local(async move {
            open(state, if entries.is_empty() { plain } else { files::walk(entries).await }).await
        });
    };
    let paste = move |event: ClipboardEvent| {
        let Some(transfer) = event.clipboard_data() else { return };
        // Text pasted into a field belongs to the field.
        let target = event.target().and_then(|target| target.dyn_into::<Element>().ok());
        if target.is_some_and(|target| target.matches("input, textarea, select").unwrap_or(true)) {
            return;
        }
        let mut pasted = transfer.files().map(|list| files::picked(&list)).unwrap_or_default();
        let text = transfer.get_data("text/plain").unwrap_or_default();
        if pasted.is_empty() && !text.trim().is_empty() {
            let blob = Blob::new_with_str_sequence(&Array::of1(&text.into()));
            pasted.extend(blob.map(|blob| PickedFile { path: PASTED.to_owned(), blob }));
        }
        if !pasted.is_empty() {
            event.prevent_default();
            wasm_bindgen_futures::spawn_local(open(state, pasted));
        }
    };
    on_window("paste", paste);
    on_window("dragover", over);
    on_window("dragleave", leave);
    on_window("drop", drop);
}

fn on_window<E: FromWasmAbi + 'static>(name: &str, handler: impl FnMut(E) + 'static) {
    let closure = Closure::<dyn FnMut(E)>::new(handler);
    // Adding a listener to the window cannot fail.
    let _ = window().add_event_listener_with_callback(name, closure.as_ref().unchecked_ref());
    closure.forget();
}

/// The drop zone on the start page, with buttons to pick files and folders.
#[component]
pub fn DropZone() -> impl IntoView {
    let state = State::get();
    let folder = NodeRef::<leptos::html::Input>::new();
    // The attribute is not part of the HTML standard, but all browsers support it.
    Effect::new(move |_| {
        if let Some(input) = folder.get() {
            let _ = input.set_attribute("webkitdirectory", "");
        }
    });
    let picked = move |event: web_sys::Event| {
        let Some(input) = event.target().and_then(|target| target.dyn_into::<HtmlInputElement>().ok()) else { return };
        let sources = input.files().map(|list| files::picked(&list)).unwrap_or_default();
        // Reset the input, so that the user can pick the same file again.
        input.set_value("");
        if !sources.is_empty() {
            wasm_bindgen_futures::spawn_local(open(state, sources));
        }
    };
    view! {
        <section class="drop-zone" class:dragging=move || state.dragging.get() id="drop">
            <p class="drop-lead">"Drop a profile, an archive or a whole profile folder here"</p>
            <p class="quiet">"*.xplane.pb, *.trace.json.gz, perfetto_trace.json.gz, zip, tar.gz or unified profile JSON. You can drop several files at once."</p>
            <p class="quiet">"For memory only: memory.prof, HLO text or *.hlo.pb from an XLA dump, or the log of an out-of-memory error, which you can also paste"</p>
            <p class="pickers">
                <label class="button primary">"Choose files"<input class="visually-hidden" id="pick-files" type="file" multiple on:change=picked /></label>
                <label class="button">"Choose a folder"<input class="visually-hidden" id="pick-folder" type="file" multiple node_ref=folder on:change=picked /></label>
            </p>
        </section>
    }
}
