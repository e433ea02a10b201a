//! Requests to the workers of a run: its numbers, pages, tables, texts. Whoever asks hears the response, or why there is none.

use crossprof::metrics::Settings;
use crossprof::pages::timeline::{Action, Outcome};
use crossprof::pages::{Found, Page, PageQuery, TableBlock, View};
use crossprof::table::Query;
use crossprof::timeline::Sight;
use futures_util::FutureExt;
use js_sys::Array;
use leptos::prelude::WithUntracked;
use wasm_bindgen::JsValue;

use crate::connection::{self, Waiter, waiter};
use crate::protocol::analyst::{
    AnalystRequest, ComparisonPageRequest, DocumentRequest, Form, PageRequest, ReportRequest, RowRequest, RunReport,
    SearchRequest, Subjects, TableRequest, TextFormat,
};
use crate::protocol::timeline::{
    Frame, FrameRequest, Left, PictureForm, PictureRequest, PrepareRequest, StripPicture, StripRequest, TimelineRequest,
};
use crate::protocol::wire::{Body, Document, Packed};
use crate::protocol::{Place, Request};
use crate::state::Run;
use crate::{deputy, teams};

/// Hears a response, or a sentence that says why there is none.
pub type Heard<T> = Box<dyn FnOnce(Result<T, String>)>;

/// Asks for the page that is to be shown: what was asked for another before is not wanted any more, of whichever run.
pub fn page(run: &Run, view: View, query: PageQuery, heard: Heard<Page>) {
    teams::cancel(Place::View);
    // The numbers of an earlier result are with the analyst, those of memory too.
    let is_earlier_result = || run.report.with_untracked(|report| report.profile.is_earlier_result);
    let to = To::knower(run, view == View::Memory && !is_earlier_result());
    let request = PageRequest { run: run.index, view, query };
    ask(run.load, to, request, Some(Place::View), &[], move |page| heard(page.map(|Packed(page)| page)));
}

/// Asks for a whole table as a text.
pub fn table(run: &Run, table: &TableBlock, query: Query, format: TextFormat, heard: Heard<Document>) {
    let (name, variant, area) =
        (table.table, table.variant.clone(), table.area.as_deref().cloned().unwrap_or_default());
    let request = TableRequest { run: run.index, name, variant, area, query, format };
    ask(run.load, To::knower(run, name.is_of_memory()), request, None, &[], heard);
}

/// Asks what is known of the row of a table with this index among those that pass.
pub fn row(run: &Run, table: &TableBlock, query: Query, index: u32, heard: Heard<Page>) {
    let (name, variant) = (table.table, table.variant.clone());
    let request = RowRequest { run: run.index, name, variant, query, index };
    let to = To::knower(run, name.is_of_memory());
    ask(run.load, to, request, None, &[], move |page| heard(page.map(|Packed(page)| page)));
}

/// Searches the ops, name scopes and events of a run by name; what was searched for before is not wanted any more.
pub fn search(run: &Run, text: String, heard: Heard<Vec<Found>>) {
    teams::cancel(Place::Search);
    let request = SearchRequest { run: run.index, text };
    ask(run.load, To::Analyst, request, Some(Place::Search), &[], move |found| heard(found.map(|Packed(found)| found)));
}

/// Asks for the page of a comparison; the deputy of any run can make it. The profiles are those of the subjects.
pub fn comparison_page(run: &Run, subjects: Subjects, profiles: &[JsValue], filter: String, heard: Heard<Page>) {
    teams::cancel(Place::Comparison);
    let request = ComparisonPageRequest { subjects, filter };
    let heard = move |page: Result<Packed<Page>, String>| heard(page.map(|Packed(page)| page));
    ask(run.load, To::Deputy(None), request, Some(Place::Comparison), profiles, heard);
}

/// Asks for a document of these subjects; the workers of any run can make it, where it names no run. The profiles are those of the
/// subjects.
pub fn document(run: &Run, subjects: Subjects, profiles: &[JsValue], form: Form, heard: Heard<Document>) {
    let to = if form.needs_events() { To::Analyst } else { To::Deputy(None) };
    ask(run.load, to, DocumentRequest { subjects, form }, None, profiles, heard);
}

/// Lets the timeline of the run with this number within a load be made, part by part: whatever else is asked comes between. Then the page of
/// memory.
pub fn prepare(load: u32, run: u32) {
    let heard = move |left: Result<Left, String>| match left {
        Ok(Left::Part) => prepare(load, run),
        // Whoever asks for the page hears why there is none.
        Ok(Left::Memory) => wasm_bindgen_futures::spawn_local(deputy::of(load, Some(run)).map(drop)),
        Ok(Left::Nothing) | Err(_) => {}
    };
    ask(load, To::Analyst, PrepareRequest { run }, None, &[], heard);
}

/// Asks for the slim picture of a run's whole capture.
pub fn strip(run: &Run, size: (u32, u32), dark: bool, heard: Heard<StripPicture>) {
    ask(run.load, To::Analyst, StripRequest { run: run.index, size, dark }, None, &[], heard);
}

/// Asks for a picture of a run's timeline.
pub fn frame(run: &Run, sight: Sight, heard: Heard<Frame>) {
    ask(run.load, To::Analyst, FrameRequest { run: run.index, sight }, None, &[], heard);
}

/// Asks for a document of a part of a run's timeline.
pub fn picture(run: &Run, sight: Sight, title: String, form: PictureForm, heard: Heard<Document>) {
    ask(run.load, To::Analyst, PictureRequest { run: run.index, sight, title, form }, None, &[], heard);
}

/// Does something on a run's timeline.
pub fn timeline(run: &Run, sight: Sight, action: Action, query: PageQuery, heard: Heard<Outcome>) {
    let request = TimelineRequest { run: run.index, sight, action, query };
    ask(run.load, To::Analyst, request, None, &[], move |outcome| heard(outcome.map(|Packed(outcome)| outcome)));
}

/// Asks for the numbers of the run with this number within a load, under these settings.
pub fn report(load: u32, run: u32, settings: Settings, heard: Heard<RunReport>) {
    let request = ReportRequest { run, settings: Box::new(settings) };
    ask(load, To::Analyst, request, Some(Place::Report(run)), &[], heard);
}

/// A worker of a load.
#[derive(Clone, Copy)]
enum To {
    Analyst,
    /// The deputy, which knows the memory of this run, where one is given.
    Deputy(Option<u32>),
}

impl To {
    /// The worker that knows what is asked of a run.
    fn knower(run: &Run, is_of_memory: bool) -> To {
        if is_of_memory { To::Deputy(Some(run.index)) } else { To::Analyst }
    }
}

fn ask<Q: Request<Worker = AnalystRequest>>(
    load: u32,
    to: To,
    request: Q,
    place: Option<Place>,
    attachments: &[JsValue],
    heard: impl FnOnce(Result<Q::Response, String>) + 'static,
) where
    Q::Response: Body,
{
    send(load, to, request.into(), place, attachments, waiter::<Q>(|_| true, heard));
}

fn send(load: u32, to: To, request: AnalystRequest, place: Option<Place>, attachments: &[JsValue], waiter: Waiter) {
    let transferred: Array = attachments.iter().collect();
    let request = request.to_js(&transferred);
    match to {
        To::Analyst => match teams::analyst(load) {
            Some(analyst) => analyst.send(request, place, attachments, &transferred, waiter),
            None => waiter(connection::Heard::Error(teams::ENDED.to_owned())),
        },
        To::Deputy(of_memory) => {
            let attachments = attachments.to_vec();
            wasm_bindgen_futures::spawn_local(async move {
                match deputy::of(load, of_memory).await {
                    Ok(deputy) => deputy.send(request, place, &attachments, &transferred, waiter),
                    Err(reason) => waiter(connection::Heard::Error(reason)),
                }
            });
        }
    }
}
