//! Protocol between the page and its workers.
//!
//! ```text
//!         LookRequest + files                FileChunk (bytes transferred)
//! page ------------------> a reader that only inspects
//! page -- UnpackRequest -> reader that unpacks ----------> reader that decodes <-- DecodeRequest -- page
//!                                ^                              |      |
//!                                +---- empty buffers to reuse --+      | RunChunk (bytes transferred)
//!                                                                      v
//! page -- AnalyseRequest, ReportRequest, PageRequest, ... -------> analyst
//! page -- OpenRequest, PictureRequest, ListingRequest, ... ------> graph worker
//! ```
//!
//! Every request has a number. Every message of a worker contains the number of its request and one of three things:
//! progress, a response, or an error as a sentence for the user. Exactly one response or error ends a request, even if the
//! worker crashes ([`pending`]). Several requests can fill the same place on the page, but only the latest is needed: the
//! page cancels the earlier requests and ignores their responses. The worker drops cancelled requests that it has not
//! started ([`queue`]).
//!
//! Messages between workers go through the page, which forwards them unchanged. Transferring a buffer twice takes almost no
//! time. A direct port between workers is slower in all browsers except Chromium, because these browsers copy the data
//! between processes. In Firefox, 143 MB in 35 buffers take 620 ms over a port, and 15 ms through the page.
//!
//! When the analyst has the decoded runs of a load, the page ends the load's two readers to free their memory. [`wire`]
//! describes how a message becomes a JavaScript value.

pub mod analyst;
pub mod files;
pub mod graph;
pub mod packed;
pub mod pending;
pub mod queue;
pub mod reader;
pub mod timeline;
pub mod wire;

use serde::Serialize;
use serde::de::DeserializeOwned;

/// Identifies the build. A worker sends its own id first, so that the page notices an outdated worker.
pub const BUILD_ID: &str = match option_env!("CROSSPROF_BUILD_ID") {
    Some(id) => id,
    None => "dev",
};

/// Number of a request to one worker, from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct RequestId(pub u32);

impl RequestId {
    /// Id of a request whose response is ignored.
    pub const UNAWAITED: RequestId = RequestId(0);
}

/// A request to a worker, with the types of its results.
pub trait Request: Into<Self::Worker> {
    /// Enum of all requests to the same worker.
    type Worker: Serialize + DeserializeOwned;
    /// Message of the worker before the response. A worker may send any number of such messages.
    type Progress;
    /// Final message of the worker.
    type Response;
}

/// A place on the page that a response fills. Only the response to the latest request for a place is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// The view of a run.
    View,
    /// The comparison of runs.
    Comparison,
    /// The graph of a program.
    Graph,
    /// The text of a program.
    Listing,
    /// Results of the command palette.
    Search,
    /// The numbers of the run with this index within its load.
    Report(u32),
}
