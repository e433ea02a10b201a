//! What the analyst is asked, and its deputy: the [`Page`](PageRequest), [`Table`](TableRequest) and [`Row`](RowRequest) of memory,
//! the [`ComparisonPage`](ComparisonPageRequest) and the [`Document`](DocumentRequest)s that need no events.

use crossprof::metrics::Settings;
use crossprof::pages::timeline::Outcome;
use crossprof::pages::{Found, Page, PageQuery, View};
use crossprof::table::Query;
use crossprof::tables::{AreaQuery, TableName};
use js_sys::Array;
use serde::{Deserialize, Serialize};
use wasm_bindgen::{JsCast, JsValue};

use super::Request;
use super::timeline::{
    Frame, FrameRequest, Left, PictureRequest, PrepareRequest, StripPicture, StripRequest, TimelineRequest,
};
use super::wire::{Body, Document, Packed};
use crate::profile::Profile;

/// Every request to an analyst.
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

/// To an analyst that waits for its first load: go through a synthetic run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RehearseRequest;

/// Take the runs that the decoder hands over.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AnalyseRequest;

/// Analyse a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ReportRequest {
    /// Number of the run within this load.
    pub run: u32,
    /// What the user gave. They hold for all later requests about this run.
    pub settings: Box<Settings>,
}

/// The numbers of a run: those that the page shows, and the whole unified profile as JSON.
#[derive(Clone, Debug, PartialEq)]
pub struct RunReport {
    /// The numbers that the page itself shows.
    pub profile: Packed<Profile>,
    /// The unified profile: the same text as the download and the command line's.
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

/// Make a page of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PageRequest {
    /// Number of the run within this load.
    pub run: u32,
    /// The page.
    pub view: View,
    /// Filter, orders and choices of the page.
    pub query: PageQuery,
}

/// Make a whole table of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TableRequest {
    /// Number of the run within this load.
    pub run: u32,
    /// The table.
    pub name: TableName,
    /// Form of the table.
    pub variant: String,
    /// The part of the timeline, of a table that is of one.
    pub area: AreaQuery,
    /// Filter and order of the table.
    pub query: Query,
    /// Format of the text.
    pub format: TextFormat,
}

/// Say what is known of a row of a table of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RowRequest {
    /// Number of the run within this load.
    pub run: u32,
    /// The table.
    pub name: TableName,
    /// Form of the table.
    pub variant: String,
    /// Filter and order of the table.
    pub query: Query,
    /// Index of the row among those that pass.
    pub index: u32,
}

/// Find ops, name scopes and events by name.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SearchRequest {
    /// Number of the run within this load.
    pub run: u32,
    /// Words that the names hold.
    pub text: String,
}

/// The runs that the decoder handed over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Received {
    /// How many they are.
    pub runs: u32,
    /// Number of the one that was captured last.
    pub newest: u32,
}

/// Runs to be compared, whoever analysed them. Attached: the unified profile of each subject, in their order; for a report then the
/// picture of the median step of each, where it has one.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Subjects {
    /// The runs.
    pub subjects: Vec<SubjectEntry>,
    /// Index of the baseline.
    pub baseline: u32,
    /// The user says whether the work grows with the devices.
    pub weak_scaling: Option<bool>,
}

/// One run of a comparison.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SubjectEntry {
    /// What the run is called.
    pub name: String,
    /// Sequences of a step, where the user gives them here.
    pub batch_size: Option<u64>,
    /// Tokens of a sequence, where the user gives them here.
    pub seq_length: Option<u64>,
    /// Power of a device, in watts.
    pub watts_per_device: Option<f64>,
    /// Price of a device, in dollars per hour.
    pub dollars_per_device_hour: Option<f64>,
    /// The run that it is one of several captures of.
    pub group: Option<String>,
}

/// Make a document. Attached: as [`Subjects`] and the form say.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DocumentRequest {
    /// The runs that it is of.
    pub subjects: Subjects,
    /// Form of the document.
    pub form: Form,
}

/// Compare runs and make the page of the comparison. Attached: as [`Subjects`] says.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ComparisonPageRequest {
    /// The runs.
    pub subjects: Subjects,
    /// The filter of its lists.
    pub filter: String,
}

/// A document.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Form {
    /// One web page: of one run its report, of several the report of their comparison.
    Html,
    /// The comparison of several runs as its document.
    Json,
    /// The same documents as `Html`, as Markdown for a pull request.
    Markdown,
    /// From the analyst: the picture of the median step of a run of this load, as a text; empty where it has none. Of no subjects.
    MedianStep {
        /// Number of the run within this load.
        run: u32,
    },
    /// From the deputy: what the ops of a run gained or lost, for `Colours`.
    Changes {
        /// Index of the run among the subjects.
        side: u32,
    },
    /// From the analyst, empty: from now on the timeline of a run of this load can show what its ops gained or lost. Of no subjects;
    /// attached: that.
    Colours {
        /// Number of the run within this load.
        run: u32,
    },
    /// From the analyst: what a run says of memory, as bytes for `Remembered`. Of no subjects.
    Recorded {
        /// Number of the run within this load.
        run: u32,
    },
    /// From the deputy, empty: it knows from now on what a run of this load says of memory. Of no subjects; attached: the bytes.
    Remembered {
        /// Number of the run within this load.
        run: u32,
    },
}

impl Form {
    /// True where the events of a run are needed, which only the analyst has.
    pub fn needs_events(self) -> bool {
        matches!(self, Form::MedianStep { .. } | Form::Colours { .. } | Form::Recorded { .. })
    }
}

/// What a table is written as.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum TextFormat {
    /// Comma-separated values, for a file.
    Csv,
    /// Tab-separated values, for the clipboard.
    Tsv,
    /// A Markdown table.
    Markdown,
}

/// The type of the response of each request, and its place among all.
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
    Prepare(PrepareRequest) -> Left;
    Strip(StripRequest) -> StripPicture;
    Picture(PictureRequest) -> Document;
    Frame(FrameRequest) -> Frame;
    Timeline(TimelineRequest) -> Packed<Outcome>;
    Document(DocumentRequest) -> Document;
    ComparisonPage(ComparisonPageRequest) -> Packed<Page>;
}

/// From the decoder to the analyst.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum RunChunk {
    /// The first bytes of the buffer that comes with the message, as many as this, go on with the image of a run.
    Bytes(u32),
    /// The buffer holds its next events. The first of a run may come while it is still read.
    Rows,
    /// The image of this run is whole.
    End,
    /// No run follows.
    Done,
}
