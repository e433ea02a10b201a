//! Downloads: the unified profile, its schema, each table; the report as a web page and as Markdown.

use crossprof::table::Query;
use crossprof::tables::TableName;
use leptos::prelude::*;

use crate::protocol::{SummaryForm, TextFormat};
use crate::state::{Run, State};
use crate::{ask, boot, browser};

/// The page.
#[component]
pub fn Export(
    /// The run.
    run: Run,
) -> impl IntoView {
    let state = State::get();
    let report = run.report;
    let id = run.id;
    let stem = move || browser::file_stem(&untrack(|| state.name_of(id)));
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
    let (summed, paged) = (run.clone(), run.clone());
    let text = move |_| {
        let heard = Box::new(move |text| browser::copy(state, text, "Report"));
        ask::summary(&summed, SummaryForm::Markdown, heard);
    };
    let page = move |_| {
        let file = format!("{}.report.html", stem());
        let heard = Box::new(move |text: String| browser::download(&file, "text/html", &text));
        ask::summary(&paged, SummaryForm::Html, heard);
    };
    let size = move || report.with(|report| crossprof::format::bytes(report.json.len() as u64));
    let tables = TableName::ALL
        .into_iter()
        .map(|name| {
            let (saved, copied) = (run.clone(), run.clone());
            let save = move |_| {
                let file = format!("{}.{}.csv", stem(), name.key());
                let heard = Box::new(move |text: String| browser::download(&file, "text/csv", &text));
                ask::table(&saved, name.key(), "", Query::default(), TextFormat::Csv, heard);
            };
            let copy = move |_| {
                let heard = Box::new(move |text| browser::copy(state, text, "Table"));
                ask::table(&copied, name.key(), "", Query::default(), TextFormat::Markdown, heard);
            };
            view! {
                <li data-table=name.key()><span class="name">{name.key()}</span>
                    <button class="plain" on:click=save>"CSV"</button>
                    <button class="plain" on:click=copy>"Copy as Markdown"</button></li>
            }
        })
        .collect_view();
    view! {
        <div class="export-grid">
            <section class="panel">
                <h2>"Unified profile"</h2>
                <p>"Every number of this run with its unit in its name: the same document that the command line writes."</p>
                <p class="buttons">
                    <button class="button primary" id="download-json" on:click=profile>"Download JSON"</button>
                    <span class="quiet">{size}</span>
                    <button class="button" id="download-report" on:click=page>"Report (HTML)"</button>
                    <button class="button" id="download-schema" on:click=schema>"JSON Schema"</button>
                    <button class="button" id="copy-markdown" on:click=text>"Copy as Markdown"</button>
                </p>
            </section>
            <section class="panel"><h2>"Tables"</h2><ul class="exports">{tables}</ul></section>
        </div>
    }
}
