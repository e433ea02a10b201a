//! Downloads: the unified profile, its schema, all tables, and the report as HTML and Markdown.

use crossprof::document::TableBlock;
use crossprof::table::Query;
use crossprof::table::TableName;
use leptos::prelude::*;

use crate::ask::Heard;
use crate::protocol::analyst::{Form, SubjectEntry, Subjects, TextFormat};
use crate::protocol::wire::Document;
use crate::state::{Run, State};
use crate::{ask, boot, browser};

/// Returns a callback that saves the document, or shows the error.
pub fn saved(state: State, file: String, kind: &'static str) -> Heard<Document> {
    Box::new(move |text| match text {
        Ok(text) => browser::download(&file, kind, text.buffer()),
        Err(reason) => state.say(reason),
    })
}

/// Returns a callback that copies the document, or shows the error.
pub fn copied(state: State, what: &'static str) -> Heard<Document> {
    Box::new(move |text| match text {
        Ok(text) => state.copy(&text.text(), what),
        Err(reason) => state.say(reason),
    })
}

/// Maximum number of events in a file. The text of ten million events would not fit in a tab's memory.
const MOST_EVENTS: u32 = 500_000;

/// Returns a query for all rows of a table, or for the first [`MOST_EVENTS`] rows of the events table.
fn query_of(name: TableName) -> Query {
    Query { top: (name == TableName::Events).then_some(MOST_EVENTS), ..Query::default() }
}

/// Renders the page.
#[component]
pub fn Export(
    /// The run to export.
    run: Run,
) -> impl IntoView {
    let state = State::get();
    let report = run.report;
    let id = run.id;
    let stem = move || browser::file_stem(&untrack(|| state.name_of(id)));
    let profile = move |_| {
        let name = format!("{}.crossprof.json", stem());
        browser::download(&name, "application/json", browser::buffer(&report.get_untracked().document))
    };
    let schema = move |_| {
        wasm_bindgen_futures::spawn_local(async move {
            match boot::kept(boot::SCHEMA).await {
                Ok(blob) => browser::download_blob("crossprof.schema.json", &blob),
                Err(_) => state.say("The schema could not be read. Reload the page.".to_owned()),
            }
        });
    };
    let of = run.clone();
    let document = StoredValue::new_local(move |form, heard| {
        let subjects = Subjects { subjects: vec![SubjectEntry::default()], ..Subjects::default() };
        let profile = browser::buffer(&of.report.get_untracked().document);
        ask::document(&of, subjects, &[profile.into()], form, heard);
    });
    let text = move |_| document.with_value(|ask| ask(Form::Markdown, copied(state, "Report")));
    let assistant = move |_| document.with_value(|ask| ask(Form::Assistant, copied(state, "Digest and report")));
    let page = move |_| {
        let file = format!("{}.report.html", stem());
        document.with_value(|ask| ask(Form::Html, saved(state, file, "text/html")));
    };
    let size = move || report.with(|report| crossprof::text::format::bytes(report.document.len() as u64));
    let tables = TableName::ALL
        .into_iter()
        .map(|name| {
            let (to_save, to_copy) = (run.clone(), run.clone());
            let save = move |_| {
                let file = format!("{}.{}.csv", stem(), name.key());
                let heard = saved(state, file, "text/csv");
                ask::table(&to_save, &TableBlock::empty(name), Query::default(), TextFormat::Csv, heard);
            };
            let copy = move |_| {
                let heard = copied(state, "Table");
                ask::table(&to_copy, &TableBlock::empty(name), Query::default(), TextFormat::Markdown, heard);
            };
            let most = query_of(name)
                .top
                .map(|rows| format!(" (at most the first {})", crossprof::text::format::count(rows.into())));
            view! {
                <li data-table=name.key()><span class="name">{name.key()}{most}</span>
                    <button class="plain" on:click=save>"CSV"</button>
                    <button class="plain" on:click=copy>"Copy as Markdown"</button></li>
            }
        })
        .collect_view();
    view! {
        <div class="export-grid">
            <section class="panel">
                <h2>"Unified profile"</h2>
                <p>"The numbers of this run with their units, as the command line writes them. The document contains only the ops and kernels with the most time. The tables contain all ops and kernels."</p>
                <p class="buttons">
                    <button class="button primary" id="download-json" on:click=profile>"Download JSON"</button>
                    <span class="quiet">{size}</span>
                    <button class="button" id="download-report" on:click=page>"Report (HTML)"</button>
                    <button class="button" id="download-schema" on:click=schema>"JSON Schema"</button>
                    <button class="button" id="copy-markdown" on:click=text>"Copy as Markdown"</button>
                    <button class="button" id="copy-assistant" title="A digest of at most 2,000 bytes, then the report as Markdown"
                        on:click=assistant>"Copy for an assistant"</button>
                </p>
            </section>
            <section class="panel"><h2>"Tables"</h2><ul class="exports">{tables}</ul></section>
        </div>
    }
}
