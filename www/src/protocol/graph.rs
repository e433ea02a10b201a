//! Requests about compiled programs. The analyst lists the programs of a run and returns the one that the user opens.
//! The graph worker reads that program, draws it and prints it.

use crossprof::graph::{Details, Format, Listing, Look, Match, Numbers, Picture};
use crossprof::session::{HloProgram, OpNumbers};
use js_sys::{Array, Uint8Array};
use serde::{Deserialize, Serialize};
use wasm_bindgen::{JsCast, JsValue};

use super::Request;
use super::wire::{Body, Document, Packed};

/// Lists the compiled programs of a run, and finds the program to which a link refers. Sent to the analyst.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ProgramsRequest {
    /// Index of the run within the load.
    pub run: u32,
    /// Number or name of the wanted program.
    pub wanted: Option<String>,
    /// Name of an op of the wanted program, if the program itself is not named.
    pub op: Option<String>,
}

/// The compiled programs of a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Programs {
    /// The programs. The program with the most time comes first.
    pub programs: Vec<HloProgram>,
    /// Index of the wanted program. `None` if the run does not contain that program.
    pub found: Option<usize>,
}

/// Requests a program for an [`OpenRequest`]. Sent to the analyst.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ProgramRequest {
    /// Index of the run within the load.
    pub run: u32,
    /// The program.
    pub program: HloProgram,
}

/// Requests the programs of a run for a [`ChangesRequest`]. Sent to the analyst.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ComparedProgramsRequest {
    /// Index of the run within the load.
    pub run: u32,
}

/// Requests the measured numbers of an op for a [`ScriptRequest`]. Sent to the analyst.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OpNumbersRequest {
    /// Index of the run within the load.
    pub run: u32,
    /// The program.
    pub program: HloProgram,
    /// Name of the op.
    pub op: String,
}

/// A program to send to the graph worker.
#[derive(Clone, Debug, PartialEq)]
pub struct ProgramBytes {
    /// HLO proto or text.
    pub bytes: Document,
    /// Measured numbers of the program's ops, each with the name of the op.
    pub ops: Packed<Vec<(String, Numbers)>>,
}

impl ProgramBytes {
    /// Creates the message for a program.
    pub fn new(bytes: &[u8], ops: Vec<(String, Numbers)>) -> ProgramBytes {
        ProgramBytes { bytes: Document::of(Uint8Array::from(bytes).buffer()), ops: Packed(ops) }
    }
}

impl Body for ProgramBytes {
    fn to_js(&self, transferred: &Array) -> Option<JsValue> {
        Some(Array::of2(&self.bytes.to_js(transferred)?, &self.ops.to_js(transferred)?).into())
    }

    fn from_js(body: JsValue) -> Option<ProgramBytes> {
        let parts: Array = body.dyn_into().ok()?;
        Some(ProgramBytes { bytes: Body::from_js(parts.get(0))?, ops: Body::from_js(parts.get(1))? })
    }
}

/// All requests to a graph worker.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum GraphRequest {
    /// See [`OpenRequest`].
    Open(OpenRequest),
    /// See [`PictureRequest`].
    Picture(PictureRequest),
    /// See [`ListingRequest`].
    Listing(ListingRequest),
    /// See [`DetailsRequest`].
    Details(DetailsRequest),
    /// See [`SearchRequest`].
    Search(SearchRequest),
    /// See [`SaveRequest`].
    Save(SaveRequest),
    /// See [`ScriptRequest`].
    Script(ScriptRequest),
    /// See [`ChangesRequest`].
    Changes(ChangesRequest),
}

/// Reads a program, and replaces the previous program of the graph worker. Attached: the parts of [`ProgramBytes`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OpenRequest {
    /// Name of the program.
    pub name: String,
}

/// Draws a part of the program.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PictureRequest {
    /// The part of the program, and how it is drawn.
    pub look: Look,
}

/// Returns lines of the text of a computation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ListingRequest {
    /// Name of the computation.
    pub computation: String,
    /// Name of the instruction that the requested lines must contain.
    pub centre: Option<String>,
    /// Index of the first line.
    pub first: u32,
    /// Number of lines.
    pub lines: u32,
}

/// Returns facts about an instruction.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DetailsRequest {
    /// Name of the instruction.
    pub name: String,
}

/// Finds instructions by name or scope.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SearchRequest {
    /// Part of the name.
    pub text: String,
}

/// Returns a part of the program as a file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SaveRequest {
    /// The part of the program, and how it is drawn.
    pub look: Look,
    /// Format of the file.
    pub format: Format,
}

/// Returns a JAX script that runs an op alone.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ScriptRequest {
    /// Name of the op.
    pub op: String,
    /// Measured numbers of the op. `None` if the op did not run in the window.
    pub numbers: Option<OpNumbers>,
}

/// Compares the programs of a run with the programs of the baseline. Attached: the responses of the baseline and of the
/// run to [`ComparedProgramsRequest`]. The response is JSON that the comparison reads.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ChangesRequest {}

/// Declares the response type of each request and its variant of `GraphRequest`.
macro_rules! requests {
    ($($variant:ident($request:ident) -> $response:ty;)*) => {$(
        impl Request for $request {
            type Worker = GraphRequest;
            type Progress = ();
            type Response = $response;
        }

        impl From<$request> for GraphRequest {
            fn from(request: $request) -> GraphRequest {
                GraphRequest::$variant(request)
            }
        }
    )*};
}

requests! {
    Open(OpenRequest) -> ();
    Picture(PictureRequest) -> Packed<Picture>;
    Listing(ListingRequest) -> Packed<Listing>;
    Details(DetailsRequest) -> Packed<Details>;
    Search(SearchRequest) -> Packed<Vec<Match>>;
    Save(SaveRequest) -> Document;
    Script(ScriptRequest) -> Document;
    Changes(ChangesRequest) -> Document;
}
