//! Shows the loads and their files, with progress, errors and remedies.

use crossprof::text::format;
use leptos::prelude::*;

use super::live::{live, shown};
use super::tip::Name;
use super::warnings::WarningRow;
use crate::client;
use crate::protocol::files::kind_name;
use crate::state::{FileRow, Load, Phase, State};

/// All loads of this visit. The latest load comes first.
#[component]
pub fn Loads() -> impl IntoView {
    let state = State::get();
    let loads = move || state.loads.with(|loads| loads.iter().rev().cloned().collect::<Vec<_>>());
    // Loads that ended without a run.
    let ended = move || -> Vec<u32> {
        let is_ended =
            |load: &Load| !load.busy.get() && state.runs.with(|runs| runs.iter().all(|run| run.load != load.id));
        state.loads.with(|loads| loads.iter().filter(|load| is_ended(load)).map(|load| load.id).collect())
    };
    let dismiss = move |_| untrack(ended).into_iter().for_each(|id| client::forget(state, id));
    view! {
        <div class="loads" aria-live="polite">
            {shown(move || ended().len() > 1, move || view! { <button class="plain" on:click=dismiss>"Dismiss all"</button> })}
            <For each=loads key=|load| load.id let:load><LoadRow load=load /></For>
        </div>
    }
}

#[component]
fn LoadRow(load: Load) -> impl IntoView {
    let state = State::get();
    let Load { id, files, busy } = load;
    let runs = move || state.runs.with(|runs| runs.iter().filter(|run| run.load == id).cloned().collect::<Vec<_>>());
    view! {
        <section class="load">
            <ul class="files">
                {live(move || files.with(|files| files.iter().take(MAX_ROWS).map(|file| view! { <File file=file.clone() /> }).collect_view()))}
            </ul>
            {live(move || files.with(|files| (files.len() > MAX_ROWS).then(|| view! { <p class="quiet">{format!("and {} more files", files.len() - MAX_ROWS)}</p> })))}
            <p class="load-actions">
                {live(move || runs().into_iter().map(|run| {
                    let href = crate::route::Route::of(crate::route::View::OVERVIEW, run.id).href();
                    view! { <a class="button primary" href=href>"Show "<Name text=state.name_of(run.id) width=32 /></a> }
                }).collect_view())}
                {shown(move || busy.get(), move || view! {
                    <button class="plain cancel" on:click=move |_| client::cancel(state, id)>"Cancel"</button>
                })}
                {shown(move || !busy.get() && runs().is_empty(), move || view! {
                    <button class="plain" on:click=move |_| client::forget(state, id)>"Dismiss"</button>
                })}
            </p>
        </section>
    }
}

/// Maximum number of files shown per load.
const MAX_ROWS: usize = 40;

#[component]
fn File(file: FileRow) -> impl IntoView {
    let state = State::get();
    let percent = file.percent();
    let word = match &file.phase {
        Phase::Waiting => "waiting",
        Phase::Reading => "reading",
        Phase::Analysing => "analysing",
        Phase::Read => "read",
        Phase::Skipped(_) => "not read",
        Phase::Failed(_) => "failed",
        Phase::Cancelled => "cancelled",
    };
    let details = details(&file);
    let FileRow { path, size_bytes, events, phase, kind, warnings, .. } = file;
    let failed = matches!(phase, Phase::Failed(_));
    let is_read = matches!(phase, Phase::Waiting | Phase::Reading | Phase::Analysing | Phase::Read);
    let message = match phase {
        Phase::Failed(message) | Phase::Skipped(message) => Some(message),
        _ => None,
    };
    let kind = kind.map(|kind| format!(" · {}", kind_name(kind)));
    let events = (events > 0).then(|| format::counted(events, "event"));
    let troubled = failed || !warnings.is_empty();
    view! {
        <li class="file" class:failed=failed>
            <div class="file-line">
                <Name text=path width=56 />
                <span class="value">{format::bytes(size_bytes)}</span>
                <span class="phase">{word}{kind}</span>
                <span class="value events">{events}</span>
                <span class="value percent">{is_read.then(|| format!("{percent:.0} %"))}</span>
            </div>
            <progress max="100" value=percent.to_string() aria-label="Bytes read"></progress>
            {message.map(|message| view! { <p class="message" role=if failed { "alert" } else { "note" }><bdi>{format::printable(&message)}</bdi></p> })}
            {warnings.iter().map(|warning| view! { <WarningRow warning=warning.clone() /> }).collect_view()}
            {troubled.then(|| {
                let text = details.clone();
                view! {
                    <details>
                        <summary>"Details"</summary>
                        <pre>{details}</pre>
                        <button class="plain" on:click=move |_| state.copy(&text, "Details")>"Copy details"</button>
                    </details>
                }
            })}
        </li>
    }
}

/// Returns a description of a file for a bug report.
fn details(file: &FileRow) -> String {
    use std::fmt::Write;
    let mut out = String::new();
    // Writing to a String cannot fail.
    let _ = writeln!(out, "file: {}", format::shorten(&format::printable(&file.path), 400));
    let _ = writeln!(out, "size: {} bytes, read: {} bytes, events: {}", file.size_bytes, file.read_bytes, file.events);
    if let Some(kind) = file.kind {
        let _ = writeln!(out, "kind: {}", kind_name(kind));
    }
    if let Phase::Failed(message) | Phase::Skipped(message) = &file.phase {
        let _ = writeln!(out, "outcome: {}", format::printable(message));
    }
    for warning in &file.warnings {
        let _ = write!(out, "{:?} {}: {}", warning.severity, warning.code, format::printable(&warning.message));
        if let Some(offset) = warning.byte_offset {
            let _ = write!(out, " (byte {offset})");
        }
        if let Some(count) = warning.count {
            let _ = write!(out, " (count {count})");
        }
        out.push('\n');
    }
    let _ = write!(out, "crossprof {} (build {})", env!("CARGO_PKG_VERSION"), crate::protocol::BUILD_ID);
    out
}
