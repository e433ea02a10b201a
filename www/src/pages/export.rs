//! Downloads: the unified profile, its schema, each table; the report as Markdown.

use crossprof::export::tables::{TableName, table};
use crossprof::export::{csv, markdown};
use leptos::prelude::*;

use crate::state::{Run, State};
use crate::{boot, browser};

/// The page.
#[component]
pub fn Export(
    /// The run.
    run: Run,
) -> impl IntoView {
    let state = State::get();
    let report = run.report;
    let stem = move || report.with_untracked(|report| browser::file_stem(report.name()));
    let profile = move |_| {
        browser::download(&format!("{}.crossprof.json", stem()), "application/json", &report.get_untracked().json)
    };
    let schema = move |_| {
        wasm_bindgen_futures::spawn_local(async move {
            match boot::kept(boot::SCHEMA).await {
                Ok(blob) => browser::download_blob("crossprof.schema.json", &blob),
                Err(_) => state.say("The schema could not be read. Reload the page.".to_owned()),
            }
        });
    };
    let text = move |_| browser::copy(state, markdown::report(&report.get_untracked().profile), "Report");
    let size = move || report.with(|report| crossprof::format::bytes(report.json.len() as u64));
    let tables = TableName::ALL.into_iter().map(|name| {
        let rows = move || report.with(|report| table(&report.profile, name).rows.len());
        let save = move |_| {
            let table = report.with_untracked(|report| table(&report.profile, name));
            browser::download(&format!("{}.{}.csv", stem(), table.name), "text/csv", &csv::to_csv(&table));
        };
        let copy = move |_| {
            let table = report.with_untracked(|report| table(&report.profile, name));
            browser::copy(state, markdown::to_markdown(&table), "Table");
        };
        view! {
            <li><span class="name">{name.key()}</span><span class="value">{move || format!("{} rows", rows())}</span>
                <button class="plain" on:click=save>"CSV"</button>
                <button class="plain" on:click=copy>"Copy as Markdown"</button></li>
        }
    }).collect_view();
    view! {
        <div class="export-grid">
            <section class="panel">
                <h2>"Unified profile"</h2>
                <p>"Every number of this run with its unit in its name: the same document that the command line writes."</p>
                <p class="buttons">
                    <button class="button primary" id="download-json" on:click=profile>"Download JSON"</button>
                    <span class="quiet">{size}</span>
                    <button class="button" id="download-schema" on:click=schema>"JSON Schema"</button>
                    <button class="button" id="copy-markdown" on:click=text>"Copy as Markdown"</button>
                </p>
            </section>
            <section class="panel"><h2>"Tables"</h2><ul class="exports">{tables}</ul></section>
        </div>
    }
}
