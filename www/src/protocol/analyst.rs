//! Requests to the analyst and to the second analyst, which run the same program. The second analyst receives the
//! requests that need no events: [`Page`](PageRequest), [`Table`](TableRequest) and [`Row`](RowRequest) if they are
//! about memory, and each [`ComparisonPage`](ComparisonPageRequest) and [`Document`](DocumentRequest).

use crossprof::document::Page;
use crossprof::pages::timeline::Outcome;
use crossprof::pages::{Found, PageQuery, View};
use crossprof::session::{OpNumbers, Settings};
use crossprof::table::Query;
use crossprof::table::{AreaQuery, TableName};
use js_sys::Array;
use serde::{Deserialize, Serialize};
use wasm_bindgen::{JsCast, JsValue};

use super::Request;
use super::graph::{
    ComparedProgramsRequest, OpNumbersRequest, ProgramBytes, ProgramRequest, Programs, ProgramsRequest,
};
use super::timeline::{
    Frame, FrameRequest, Left, PictureRequest, PrepareRequest, StripPicture, StripRequest, TimelineRequest,
};
use super::wire::{Body, Document, Packed};
use crate::profile::Profile;

/// All requests to an analyst.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum AnalystRequest {
    /// See [`RehearseRequest`].
    Rehearse(RehearseRequest),
    /// See [`AnalyseRequest`].
    Analyse(AnalyseRequest),
    /// See [`ReportRequest`].
    Report(ReportRequest),
    /// See [`PageRequest`].
    Page(PageRequest),
    /// See [`TableRequest`].
    Table(TableRequest),
    /// See [`RowRequest`].
    Row(RowRequest),
    /// See [`SearchRequest`].
    Search(SearchRequest),
    /// See [`DocumentRequest`].
    Document(DocumentRequest),
    /// See [`ComparisonPageRequest`].
    ComparisonPage(ComparisonPageRequest),
    /// See [`MedianStepRequest`].
    MedianStep(MedianStepRequest),
    /// See [`ColourRequest`].
    Colour(ColourRequest),
    /// See [`MemoryRequest`].
    Memory(MemoryRequest),
    /// See [`StoreMemoryRequest`].
    StoreMemory(StoreMemoryRequest),
    /// See [`ProgramsRequest`].
    Programs(ProgramsRequest),
    /// See [`ProgramRequest`].
    Program(ProgramRequest),
    /// See [`ComparedProgramsRequest`].
    ComparedPrograms(ComparedProgramsRequest),
    /// See [`OpNumbersRequest`].
    OpNumbers(OpNumbersRequest),
    /// See [`PrepareRequest`].
    Prepare(PrepareRequest),
    /// See [`StripRequest`].
    Strip(StripRequest),
    /// See [`PictureRequest`].
    Picture(PictureRequest),
    /// See [`FrameRequest`].
    Frame(FrameRequest),
    /// See [`TimelineRequest`].
    Timeline(TimelineRequest),
}

/// Warms up an idle analyst by processing a synthetic run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RehearseRequest;

/// Tells the analyst to receive the runs that the decoder sends.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AnalyseRequest;

/// Analyses a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ReportRequest {
    /// Index of the run within the load.
    pub run: u32,
    /// User settings. The settings apply to all later requests about this run.
    pub settings: Box<Settings>,
}

/// The numbers of a run: the fields that the page itself reads, and the unified profile as JSON.
#[derive(Clone, Debug, PartialEq)]
pub struct RunReport {
    /// Fields that the page reads.
    pub profile: Packed<Profile>,
    /// The unified profile: the same text as the download and the output of the command line.
    pub document: Document,
}

impl Body for RunReport {
    fn to_js(&self, transferred: &Array) -> Option<JsValue> {
        Some(Array::of2(&self.profile.to_js(transferred)?, &self.document.to_js(transferred)?).into())
    }

    fn from_js(body: JsValue) -> Option<RunReport> {
        let parts: Array = body.dyn_into().ok()?;
        Some(RunReport { profile: Body::from_js(parts.get(0))?, document: Body::from_js(parts.get(1))? })
    }
}

/// Makes a page of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PageRequest {
    /// Index of the run within the load.
    pub run: u32,
    /// View whose page is made.
    pub view: View,
    /// Filter, sorting and options of the page.
    pub query: PageQuery,
}

/// Writes a whole table of a run as text.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TableRequest {
    /// Index of the run within the load.
    pub run: u32,
    /// Name of the table.
    pub name: TableName,
    /// Variant of the table.
    pub variant: String,
    /// Area of the timeline, for tables that cover only one area.
    pub area: AreaQuery,
    /// Filter and sorting of the table.
    pub query: Query,
    /// Format of the text.
    pub format: TextFormat,
}

/// Returns the details of a table row.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RowRequest {
    /// Index of the run within the load.
    pub run: u32,
    /// Name of the table.
    pub name: TableName,
    /// Variant of the table.
    pub variant: String,
    /// Filter and sorting of the table.
    pub query: Query,
    /// Index of the row among the rows that pass the filter.
    pub index: u32,
}

/// Finds ops, name scopes and events by name.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SearchRequest {
    /// Index of the run within the load.
    pub run: u32,
    /// Words that the names must contain.
    pub text: String,
}

/// Runs that the analyst has received from the decoder.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Received {
    /// Number of runs.
    pub runs: u32,
    /// Index of the run that was captured last.
    pub newest: u32,
}

/// Runs to compare. The runs may come from different loads. Attached: the unified profile of each subject, in order. If
/// the document is a report, the pictures of the subjects' median steps follow.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Subjects {
    /// Runs to compare.
    pub subjects: Vec<SubjectEntry>,
    /// Index of the baseline.
    pub baseline: u32,
    /// True if the work grows with the number of devices, false if the work stays the same, and `None` if the user has
    /// not chosen.
    pub weak_scaling: Option<bool>,
}

/// One run of a comparison.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SubjectEntry {
    /// Display name of the run.
    pub name: String,
    /// Sequences per step, if the user enters them for the comparison.
    pub batch_size: Option<u64>,
    /// Tokens per sequence, if the user enters them for the comparison.
    pub seq_length: Option<u64>,
    /// Power per device, in watts.
    pub watts_per_device: Option<f64>,
    /// Price per device, in dollars per hour.
    pub dollars_per_device_hour: Option<f64>,
    /// Name of the group, if the run was captured several times.
    pub group: Option<String>,
}

/// Makes a document. Attached: see [`Subjects`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DocumentRequest {
    /// Runs that the document describes.
    pub subjects: Subjects,
    /// Kind of document.
    pub form: Form,
}

/// Compares runs and makes the page of the comparison. Attached: see [`Subjects`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ComparisonPageRequest {
    /// Runs to compare.
    pub subjects: Subjects,
    /// Filter of the lists on the page.
    pub filter: String,
}

/// Kinds of documents.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Form {
    /// Report as a single HTML page, about one run or about a comparison of several runs.
    Html,
    /// Comparison of several runs as JSON.
    Json,
    /// The content of `Html` as Markdown, for a pull request.
    Markdown,
    /// Digest of one run followed by its report, for an assistant.
    Assistant,
    /// Time that each op of a run gained or lost, as JSON. The document is sent with a [`ColourRequest`].
    Changes {
        /// Index of the run among the subjects.
        side: u32,
    },
}

/// Returns the picture of the median step as SVG text. The text is empty if the run has no such picture.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MedianStepRequest {
    /// Index of the run within the load.
    pub run: u32,
}

/// Colours the timeline by the time that ops gained or lost. Attached: a document of the form [`Form::Changes`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ColourRequest {
    /// Index of the run within the load.
    pub run: u32,
}

/// Returns the memory records of a run as bytes, which the page sends on in a [`StoreMemoryRequest`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MemoryRequest {
    /// Index of the run within the load.
    pub run: u32,
}

/// Stores the memory records of a run in the second analyst. Attached: the response to a [`MemoryRequest`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StoreMemoryRequest {
    /// Index of the run within the load.
    pub run: u32,
}

/// Formats in which a table is written as text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum TextFormat {
    /// Comma-separated values, for a file.
    Csv,
    /// Tab-separated values, for the clipboard.
    Tsv,
    /// Markdown table.
    Markdown,
}

/// Declares the response type of each request and its variant of `AnalystRequest`.
macro_rules! requests {
    ($($variant:ident($request:ident) -> $response:ty;)*) => {$(
        impl Request for $request {
            type Worker = AnalystRequest;
            type Progress = ();
            type Response = $response;
        }

        impl From<$request> for AnalystRequest {
            fn from(request: $request) -> AnalystRequest {
                AnalystRequest::$variant(request)
            }
        }
    )*};
}

requests! {
    Rehearse(RehearseRequest) -> ();
    Analyse(AnalyseRequest) -> Packed<Received>;
    Report(ReportRequest) -> RunReport;
    Page(PageRequest) -> Packed<Page>;
    Table(TableRequest) -> Document;
    Row(RowRequest) -> Packed<Page>;
    Search(SearchRequest) -> Packed<Vec<Found>>;
    Programs(ProgramsRequest) -> Packed<Programs>;
    Program(ProgramRequest) -> ProgramBytes;
    ComparedPrograms(ComparedProgramsRequest) -> Document;
    OpNumbers(OpNumbersRequest) -> Packed<Option<OpNumbers>>;
    Prepare(PrepareRequest) -> Left;
    Strip(StripRequest) -> StripPicture;
    Picture(PictureRequest) -> Document;
    Frame(FrameRequest) -> Frame;
    Timeline(TimelineRequest) -> Packed<Outcome>;
    Document(DocumentRequest) -> Document;
    ComparisonPage(ComparisonPageRequest) -> Packed<Page>;
    MedianStep(MedianStepRequest) -> Document;
    Colour(ColourRequest) -> ();
    Memory(MemoryRequest) -> Document;
    StoreMemory(StoreMemoryRequest) -> ();
}

/// Messages from the decoder to the analyst.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum RunChunk {
    /// The attached buffer begins with the next bytes of the serialised run. The field of the variant is the number of
    /// these bytes.
    Bytes(u32),
    /// The attached buffer contains the next events of the run. The events may arrive while the decoder is still
    /// reading the run.
    Rows,
    /// The serialised run is complete.
    End,
    /// No run follows.
    Done,
}
