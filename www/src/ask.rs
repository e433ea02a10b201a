//! Requests to a run's analyst: its numbers, pages, tables, texts. Whoever asks hears the response, or why there is none.

use crossprof::metrics::Settings;
use crossprof::pages::timeline::{Action, Outcome};
use crossprof::pages::{Page, PageQuery, TableBlock, View};
use crossprof::table::Query;
use crossprof::timeline::Sight;
use wasm_bindgen::JsValue;

use crate::protocol::analyst::{
    CompareForm, CompareRequest, ComparisonPageRequest, PageRequest, ReportRequest, RowRequest, RunReport, Subjects,
    SummaryForm, SummaryRequest, TableRequest, TextFormat,
};
use crate::protocol::timeline::{
    Frame, FrameRequest, PictureForm, PictureRequest, PrepareRequest, StripPicture, StripRequest, TimelineRequest,
};
use crate::protocol::wire::{Body, Document, Packed};
use crate::protocol::{Place, Request};
use crate::state::Run;
use crate::teams;

/// Hears a response, or a sentence that says why there is none.
pub type Heard<T> = Box<dyn FnOnce(Result<T, String>)>;

/// Asks for the page that is to be shown: what was asked for another before is not wanted any more, of whichever run.
pub fn page(run: &Run, view: View, query: PageQuery, heard: Heard<Page>) {
    teams::cancel_others(run.load, Place::View);
    let request = PageRequest { run: run.index, view, query };
    ask(run.load, request, Some(Place::View), &[], move |page| heard(page.map(|Packed(page)| page)));
}

/// Asks for a whole table as a text.
pub fn table(run: &Run, table: &TableBlock, query: Query, format: TextFormat, heard: Heard<Document>) {
    let (name, variant, area) =
        (table.table, table.variant.clone(), table.area.as_deref().cloned().unwrap_or_default());
    ask(run.load, TableRequest { run: run.index, name, variant, area, query, format }, None, &[], heard);
}

/// Asks what is known of the row of a table with this index among those that pass.
pub fn row(run: &Run, table: &TableBlock, query: Query, index: u32, heard: Heard<Page>) {
    let (name, variant) = (table.table, table.variant.clone());
    let request = RowRequest { run: run.index, name, variant, query, index };
    ask(run.load, request, None, &[], move |page| heard(page.map(|Packed(page)| page)));
}

/// Asks for the page of a comparison; the analyst of any run can make it. The profiles are those of the subjects.
pub fn comparison_page(run: &Run, subjects: Subjects, profiles: &[JsValue], filter: String, heard: Heard<Page>) {
    teams::cancel_others(run.load, Place::Comparison);
    let request = ComparisonPageRequest { subjects, filter };
    ask(run.load, request, Some(Place::Comparison), profiles, move |page| heard(page.map(|Packed(page)| page)));
}

/// Asks for a comparison as a text; the analyst of any run can make it. The profiles are those of the subjects.
pub fn compare(run: &Run, subjects: Subjects, profiles: &[JsValue], form: CompareForm, heard: Heard<Document>) {
    ask(run.load, CompareRequest { subjects, form }, None, profiles, heard);
}

/// Lets the timeline of the run with this number within a load be made, part by part: whatever else is asked comes between.
pub fn prepare(load: u32, run: u32) {
    let heard = move |left: Result<bool, String>| {
        if left == Ok(true) {
            prepare(load, run);
        }
    };
    ask(load, PrepareRequest { run }, None, &[], heard);
}

/// Asks for the slim picture of a run's whole capture.
pub fn strip(run: &Run, size: (u32, u32), dark: bool, heard: Heard<StripPicture>) {
    ask(run.load, StripRequest { run: run.index, size, dark }, None, &[], heard);
}

/// Asks for a picture of a run's timeline.
pub fn frame(run: &Run, sight: Sight, heard: Heard<Frame>) {
    ask(run.load, FrameRequest { run: run.index, sight }, None, &[], heard);
}

/// Asks for a document of a part of a run's timeline.
pub fn picture(run: &Run, sight: Sight, title: String, form: PictureForm, heard: Heard<Document>) {
    ask(run.load, PictureRequest { run: run.index, sight, title, form }, None, &[], heard);
}

/// Does something on a run's timeline.
pub fn timeline(run: &Run, sight: Sight, action: Action, query: PageQuery, heard: Heard<Outcome>) {
    let request = TimelineRequest { run: run.index, sight, action, query };
    ask(run.load, request, None, &[], move |outcome| heard(outcome.map(|Packed(outcome)| outcome)));
}

/// Asks for the report of a run as a text.
pub fn summary(run: &Run, form: SummaryForm, heard: Heard<Document>) {
    ask(run.load, SummaryRequest { run: run.index, form }, None, &[], heard);
}

/// Asks for the numbers of the run with this number within a load, under these settings.
pub fn report(load: u32, run: u32, settings: Settings, heard: Heard<RunReport>) {
    let request = ReportRequest { run, settings: Box::new(settings) };
    ask(load, request, Some(Place::Report(run)), &[], heard);
}

fn ask<Q: Request>(
    load: u32,
    request: Q,
    place: Option<Place>,
    attachments: &[JsValue],
    heard: impl FnOnce(Result<Q::Response, String>) + 'static,
) where
    Q::Response: Body,
{
    match teams::analyst(load) {
        Some(analyst) => analyst.ask(request, place, attachments, heard),
        None => heard(Err(teams::ENDED.to_owned())),
    }
}
