//! Requests from the page to the workers of a run: numbers, pages, tables and text. Each callback receives the
//! response or an error message.

use crossprof::document::{Page, TableBlock};
use crossprof::pages::timeline::{Action, Outcome};
use crossprof::pages::{Found, PageQuery, View};
use crossprof::session::Settings;
use crossprof::table::Query;
use crossprof::timeline::Sight;
use futures_util::FutureExt;
use js_sys::Array;
use leptos::prelude::WithUntracked;
use wasm_bindgen::JsValue;

use crate::connection::{self, Waiter, waiter};
use crate::protocol::analyst::{
    AnalystRequest, ColourRequest, ComparisonPageRequest, DocumentRequest, Form, MedianStepRequest, PageRequest,
    ReportRequest, RowRequest, RunReport, SearchRequest, Subjects, TableRequest, TextFormat,
};
use crate::protocol::timeline::{
    Frame, FrameRequest, Left, PictureForm, PictureRequest, PrepareRequest, StripPicture, StripRequest, TimelineRequest,
};
use crate::protocol::wire::{Body, Document, Packed};
use crate::protocol::{Place, Request};
use crate::state::Run;
use crate::{second_analyst, teams};

/// Callback that receives the response, or an error as a sentence for the user.
pub type Heard<T> = Box<dyn FnOnce(Result<T, String>)>;

/// Requests a page, and cancels all earlier page requests, including the requests for other runs.
pub fn page(run: &Run, view: View, query: PageQuery, heard: Heard<Page>) {
    teams::cancel(Place::View);
    // For an imported report, the analyst also has the memory numbers.
    let is_earlier_result = || run.report.with_untracked(|report| report.profile.is_earlier_result);
    let to = To::of(run, view == View::Memory && !is_earlier_result());
    let request = PageRequest { run: run.index, view, query };
    ask(run.load, to, request, Some(Place::View), &[], move |page| heard(page.map(|Packed(page)| page)));
}

/// Requests a whole table as text.
pub fn table(run: &Run, table: &TableBlock, query: Query, format: TextFormat, heard: Heard<Document>) {
    let (name, variant, area) =
        (table.table, table.variant.clone(), table.area.as_deref().cloned().unwrap_or_default());
    let request = TableRequest { run: run.index, name, variant, area, query, format };
    ask(run.load, To::of(run, name.is_of_memory()), request, None, &[], heard);
}

/// Requests the details of a table row. `index` is the row's index among the rows that pass the filter.
pub fn row(run: &Run, table: &TableBlock, query: Query, index: u32, heard: Heard<Page>) {
    let (name, variant) = (table.table, table.variant.clone());
    let request = RowRequest { run: run.index, name, variant, query, index };
    let to = To::of(run, name.is_of_memory());
    ask(run.load, to, request, None, &[], move |page| heard(page.map(|Packed(page)| page)));
}

/// Searches the ops, name scopes and events of a run by name, and cancels the previous search.
pub fn search(run: &Run, text: String, heard: Heard<Vec<Found>>) {
    teams::cancel(Place::Search);
    let request = SearchRequest { run: run.index, text };
    ask(run.load, To::Analyst, request, Some(Place::Search), &[], move |found| heard(found.map(|Packed(found)| found)));
}

/// Requests the page of a comparison from the second analyst. The workers of any run can make the page. `profiles`
/// contains the profile of each subject.
pub fn comparison_page(run: &Run, subjects: Subjects, profiles: &[JsValue], filter: String, heard: Heard<Page>) {
    teams::cancel(Place::Comparison);
    let request = ComparisonPageRequest { subjects, filter };
    let heard = move |page: Result<Packed<Page>, String>| heard(page.map(|Packed(page)| page));
    ask(run.load, To::Second(None), request, Some(Place::Comparison), profiles, heard);
}

/// Requests a document about these subjects from the second analyst. The workers of any run can make the document.
/// `profiles` contains the profile of each subject.
pub fn document(run: &Run, subjects: Subjects, profiles: &[JsValue], form: Form, heard: Heard<Document>) {
    ask(run.load, To::Second(None), DocumentRequest { subjects, form }, None, profiles, heard);
}

/// Requests the picture of a run's median step as SVG text. The text is empty if the run has no such picture.
pub fn median_step(run: &Run, heard: Heard<Document>) {
    ask(run.load, To::Analyst, MedianStepRequest { run: run.index }, None, &[], heard);
}

/// Sends a request about compiled programs to the analyst.
pub fn of_programs<Q: Request<Worker = AnalystRequest>>(run: &Run, request: Q, heard: Heard<Q::Response>)
where
    Q::Response: Body + 'static,
{
    ask(run.load, To::Analyst, request, None, &[], heard);
}

/// Colours the ops in a run's timeline by the time that they gained or lost. `changes` must be a document of the form
/// [`Form::Changes`].
pub fn colour(run: &Run, changes: JsValue, heard: Heard<()>) {
    ask(run.load, To::Analyst, ColourRequest { run: run.index }, None, &[changes], heard);
}

/// Prepares the timeline of a run in small parts, so that other requests can be handled in between. When the timeline
/// is ready, starts the second analyst, and sends it the run's memory records. `run` is the run's index within the
/// load.
pub fn prepare(load: u32, run: u32) {
    let heard = move |left: Result<Left, String>| match left {
        Ok(Left::Part) => prepare(load, run),
        // Errors are ignored here: the request for the memory page reports them.
        Ok(Left::Memory) => wasm_bindgen_futures::spawn_local(second_analyst::of(load, Some(run)).map(drop)),
        Ok(Left::Nothing) | Err(_) => {}
    };
    ask(load, To::Analyst, PrepareRequest { run }, None, &[], heard);
}

/// Requests the small picture of the whole capture that is shown above the views.
pub fn strip(run: &Run, size: (u32, u32), dark: bool, heard: Heard<StripPicture>) {
    ask(run.load, To::Analyst, StripRequest { run: run.index, size, dark }, None, &[], heard);
}

/// Requests a picture of a run's timeline.
pub fn frame(run: &Run, sight: Sight, heard: Heard<Frame>) {
    ask(run.load, To::Analyst, FrameRequest { run: run.index, sight }, None, &[], heard);
}

/// Requests part of a run's timeline as a document (SVG, PNG or trace).
pub fn picture(run: &Run, sight: Sight, title: String, form: PictureForm, heard: Heard<Document>) {
    ask(run.load, To::Analyst, PictureRequest { run: run.index, sight, title, form }, None, &[], heard);
}

/// Performs an action on a run's timeline.
pub fn timeline(run: &Run, sight: Sight, action: Action, query: PageQuery, heard: Heard<Outcome>) {
    let request = TimelineRequest { run: run.index, sight, action, query };
    ask(run.load, To::Analyst, request, None, &[], move |outcome| heard(outcome.map(|Packed(outcome)| outcome)));
}

/// Requests the numbers of a run under the given settings. `run` is the run's index within the load.
pub fn report(load: u32, run: u32, settings: Settings, heard: Heard<RunReport>) {
    let request = ReportRequest { run, settings: Box::new(settings) };
    ask(load, To::Analyst, request, Some(Place::Report(run)), &[], heard);
}

/// The worker to which a request is sent.
#[derive(Clone, Copy)]
enum To {
    Analyst,
    /// The second analyst. If a run is given, the worker first receives the memory records of that run.
    Second(Option<u32>),
}

impl To {
    /// Returns the worker that has the data for a request about a run.
    fn of(run: &Run, is_of_memory: bool) -> To {
        if is_of_memory { To::Second(Some(run.index)) } else { To::Analyst }
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
        To::Second(of_memory) => {
            let attachments = attachments.to_vec();
            wasm_bindgen_futures::spawn_local(async move {
                match second_analyst::of(load, of_memory).await {
                    Ok(worker) => worker.send(request, place, &attachments, &transferred, waiter),
                    Err(reason) => waiter(connection::Heard::Error(reason)),
                }
            });
        }
    }
}
