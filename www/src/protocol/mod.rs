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
//! progress, a response, or an error as a sentence for the user. Each request ends with exactly one response or error,
//! even if the worker crashes ([`pending`]). If several requests fill the same place on the page, the page needs only
//! the latest. The page then cancels the earlier requests and ignores their responses. The worker drops cancelled
//! requests that it has not started ([`queue`]).
//!
//! Messages between workers go through the page, which forwards them unchanged. Transferring a buffer twice takes almost no
//! time. A direct port between workers is slower in all browsers except Chromium, because these browsers copy the data
//! between processes. In Firefox, 143 MB in 35 buffers take 620 ms over a port, and 15 ms through the page.
//!
//! When the analyst has received all runs of a load, the page ends the load's two readers to free their memory.
//! [`wire`] describes how a message becomes a JavaScript value.

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

/// Identifies the build. A worker first sends the id of its own build, so that the page can detect an outdated worker.
pub const BUILD_ID: &str = match option_env!("CROSSPROF_BUILD_ID") {
    Some(id) => id,
    None => "dev",
};

/// Number of a request to a worker. The first request to each worker is number 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct RequestId(pub u32);

impl RequestId {
    /// Id of a request whose response is ignored.
    pub const UNAWAITED: RequestId = RequestId(0);
}

/// A request to a worker, with the types of its results.
pub trait Request: Into<Self::Worker> {
    /// Enum of all requests to the worker that handles this request.
    type Worker: Serialize + DeserializeOwned;
    /// Message that the worker may send any number of times before the response.
    type Progress;
    /// Message with which the worker ends the request.
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
