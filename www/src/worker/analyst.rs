//! The third worker: takes decoded runs, makes their reports, pages and tables, and keeps them as long as the page shows them.

use crossprof::compare::{Options, Subject, compare};
use crossprof::export::{comparison, csv, html, json, markdown};
use crossprof::metrics::Settings;
use crossprof::pages::{self, Page, PageQuery};
use crossprof::session::Session;
use crossprof::table::{Query, Table};
use crossprof::tables::TableName;
use crossprof::trace::RowBlock;
use crossprof::trace::snapshot::Reader;
use js_sys::{Uint8Array, Uint32Array};
use wasm_bindgen::JsValue;
use web_sys::DedicatedWorkerGlobalScope;

use super::{fallback, tell, tell_text};
use crate::protocol::{CompareForm, Image, News, Order, SummaryForm, TextFormat};
use crate::table::cell;

/// Analyses the runs of one load.
pub struct Analyst {
    scope: DedicatedWorkerGlobalScope,
    session: Session,
    /// What the user gave for each run.
    settings: Vec<Settings>,
    reader: Reader,
    block: Vec<u8>,
    damaged: bool,
}

impl Analyst {
    /// One without runs.
    pub fn new(scope: DedicatedWorkerGlobalScope) -> Analyst {
        let (session, reader) = (Session::new(), Reader::new());
        Analyst { scope, session, settings: Vec::new(), reader, block: Vec::new(), damaged: false }
    }

    /// Takes the next piece of a run's image; bytes come in a buffer.
    pub fn take(&mut self, image: Image, buffer: &JsValue) {
        match image {
            Image::Bytes(length) => {
                self.block.resize(length as usize, 0);
                Uint8Array::new(buffer).subarray(0, length).copy_to(&mut self.block);
                self.reader.push(&self.block);
            }
            Image::Rows => {
                let words = Uint32Array::new(buffer);
                match RowBlock::filled(words.length() as usize, |slots| words.copy_to(slots)) {
                    Some(rows) => self.reader.push_rows(rows),
                    None => self.damaged = true,
                }
            }
            Image::End => {
                self.damaged |= self.session.take_over(std::mem::take(&mut self.reader)).is_err();
                self.settings.push(Settings::default());
            }
            Image::Done => self.all_here(),
        }
    }

    fn all_here(&mut self) {
        self.block = Vec::new();
        if self.damaged {
            let message = "A run was damaged on its way between two workers. Load the profile again.".to_owned();
            return tell(&self.scope, &News::Failed { file: None, message });
        }
        let runs = self.settings.len() as u32;
        tell(&self.scope, &News::Runs(runs));
        for run in 0..runs {
            self.report(run, run + 1 == runs);
        }
    }

    /// Does what the page asks for.
    pub fn obey(&mut self, order: Order) {
        match order {
            Order::Report { run, settings } => {
                if let Some(slot) = self.settings.get_mut(run as usize) {
                    *slot = *settings;
                }
                self.report(run, false);
            }
            Order::Page { run, view, query, asked } => {
                let page = self.page(run, &view, &query);
                self.answer(asked, &serde_json::to_string(&page).unwrap_or_default());
            }
            Order::Table { run, name, variant, query, format, asked } => {
                let table = self.table(run, &name, &variant, &query);
                let text = table.map(|table| match format {
                    TextFormat::Csv => csv::to_csv(&table),
                    TextFormat::Tsv => cell::tsv(&table.columns, &table.rows),
                    TextFormat::Markdown => markdown::to_markdown(&table),
                });
                self.answer(asked, &text.unwrap_or_default());
            }
            Order::Compare { subjects, baseline, weak_scaling, form, asked } => {
                self.answer(asked, &compared(subjects, baseline, weak_scaling, &form));
            }
            Order::Summary { run, form, asked } => {
                let settings = self.settings_of(run);
                let report = self.session.report(run, &settings).map(|report| match form {
                    SummaryForm::Html => html::report(&report),
                    SummaryForm::Markdown => markdown::report(&report),
                });
                self.answer(asked, &report.unwrap_or_default());
            }
            Order::Look(_) | Order::Unpack(_) | Order::Scan { .. } | Order::Analyse | Order::Rehearse => {}
        }
    }

    fn settings_of(&self, run: u32) -> Settings {
        self.settings.get(run as usize).cloned().unwrap_or_default()
    }

    fn report(&mut self, run: u32, last: bool) {
        let settings = self.settings_of(run);
        if let Some(profile) = self.session.report(run, &settings) {
            tell_text(&self.scope, &News::Report { run, last }, &json::profile(&profile));
        }
    }

    fn page(&mut self, run: u32, view: &str, query: &PageQuery) -> Page {
        let settings = self.settings_of(run);
        if view == "overview" {
            return fallback::overview(&mut self.session, run, &settings, query);
        }
        let page = self.session.page(run, &settings, view, query);
        page.unwrap_or_else(|| fallback::page(&mut self.session, run, &settings, view, query))
    }

    fn table(&mut self, run: u32, name: &str, variant: &str, query: &Query) -> Option<Table> {
        let settings = self.settings_of(run);
        self.session.table(run, &settings, TableName::from_key(name)?, variant, query)
    }

    fn answer(&self, asked: u32, text: &str) {
        tell_text(&self.scope, &News::Answer { asked }, text);
    }
}

/// Goes once through what a load asks for, with a made-up run: what the browser has compiled by then need not be waited for.
pub fn rehearse() {
    let (mut session, settings) = (Session::rehearsal(), Settings::default());
    let report = session.report(0, &settings).map(|report| json::profile(&report));
    let page = fallback::overview(&mut session, 0, &settings, &PageQuery::default());
    drop((report, serde_json::to_string(&page)));
}

/// The comparison of these runs as the page wants it.
fn compared(
    subjects: Vec<(String, String, Option<f64>, Option<f64>)>,
    baseline: u32,
    weak_scaling: Option<bool>,
    form: &CompareForm,
) -> String {
    let subject = |(name, profile, watts_per_device, dollars_per_device_hour): (String, String, _, _)| {
        let profile = crossprof::json::from_str(&profile).ok()?;
        Some(Subject { name, profile, watts_per_device, dollars_per_device_hour })
    };
    let subjects: Vec<Subject> = subjects.into_iter().filter_map(subject).collect();
    let found = compare(&subjects, &Options { baseline: baseline as usize, weak_scaling });
    match form {
        CompareForm::Page(filter) => serde_json::to_string(&pages::compare::page(&found, filter)).unwrap_or_default(),
        CompareForm::Html => comparison::html(&found, &subjects),
        CompareForm::Json => comparison::json(&found),
        CompareForm::Markdown => comparison::markdown(&found),
    }
}
