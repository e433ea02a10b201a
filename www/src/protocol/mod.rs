//! What the page and its workers say to each other.
//!
//! ```text
//!                 LookRequest + files                FileChunk (bytes transferred)
//!        page ------------------> a reader that only looks
//!        page -- UnpackRequest -> reader that unpacks ----------> reader that decodes <-- DecodeRequest -- page
//!                                      ^                              |      |
//!                                      +-- the buffer, to fill again -+      | RunChunk (bytes transferred)
//!                                                                            v
//!        page -- AnalyseRequest, ReportRequest, PageRequest, ... -------> analyst
//! ```
//!
//! Every request has a number, and every message of a worker names the request that it is about: progress of it, its
//! response, or an error as a sentence for the user. Exactly one response or error ends a request; whoever asked hears one
//! of them even where the worker dies ([`pending`]). Of the requests that fill the same place of the page only the latest
//! counts: the page cancels the earlier ones and ignores what still comes of them, and the worker drops those that it has
//! not begun ([`queue`]).
//!
//! What goes from worker to worker goes through the page, which passes it on as it is: a buffer that is transferred twice costs
//! nothing. Browsers other than Chromium copy what goes through a port between workers, from process to process (143 MB in 35
//! buffers take Firefox 620 ms so, and 15 ms by way of the page).
//!
//! The two readers of a load are ended when the analyst has the decoded runs: their memory is free then. [`wire`]
//! says how a message becomes a JavaScript value.

pub mod analyst;
pub mod files;
pub mod packed;
pub mod pending;
pub mod queue;
pub mod reader;
pub mod timeline;
pub mod wire;

use serde::Serialize;
use serde::de::DeserializeOwned;

/// Which build this is; a worker's first message is its own, so that a stale one is noticed.
pub const BUILD_ID: &str = match option_env!("CROSSPROF_BUILD_ID") {
    Some(id) => id,
    None => "dev",
};

/// Number of a request among those to one worker, from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct RequestId(pub u32);

impl RequestId {
    /// Id of a request whose response nobody awaits.
    pub const UNAWAITED: RequestId = RequestId(0);
}

/// A request to a worker, and what comes of it. It may become JSON, and so may what comes of it, unless it says otherwise.
pub trait Request: Into<Self::Worker> {
    /// The requests of that worker.
    type Worker: Serialize + DeserializeOwned;
    /// What the worker says before it is done, any number of times.
    type Progress;
    /// What the worker says in the end.
    type Response;
}

/// A place of the page that a response fills: of the requests for it only the latest counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// The view of a run.
    View,
    /// The comparison of runs.
    Comparison,
    /// What the command palette found.
    Search,
    /// The numbers of the run with this number within its load.
    Report(u32),
}
