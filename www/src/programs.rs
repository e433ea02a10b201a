//! Requests about compiled programs. The analyst of a load lists the load's programs. The graph worker of the load
//! receives one program and draws it. The page starts this worker on the first request.
//!
//! ```text
//! page -- ProgramsRequest, ProgramRequest ---> analyst
//!      <--------- bytes -----
//!      -- OpenRequest + bytes (transferred) --> graph worker
//!      -- PictureRequest, ListingRequest, ... -> graph worker
//! ```

use std::rc::Rc;

use crossprof::graph::{Details, Format, Listing, Look, Match, Picture};
use crossprof::session::HloProgram;
use futures_util::future::FutureExt;
use js_sys::Array;

use crate::ask::Heard;
use crate::boot::Program;
use crate::connection::Connection;
use crate::protocol::graph::{
    ChangesRequest, ComparedProgramsRequest, DetailsRequest, GraphRequest, ListingRequest, OpNumbersRequest,
    OpenRequest, PictureRequest, ProgramBytes, ProgramRequest, Programs, ProgramsRequest, SaveRequest, ScriptRequest,
    SearchRequest,
};
use crate::protocol::wire::{Body, Document, Packed};
use crate::protocol::{Place, Request};
use crate::state::Run;
use crate::teams::{self, GraphWorker};
use crate::{ask, pool};

/// Lists the programs of a run. The response also identifies the program whose number or name is `wanted`. If `wanted`
/// is `None`, the response identifies the program that contains the op.
pub fn list(run: &Run, wanted: Option<String>, op: Option<String>, heard: Heard<Programs>) {
    let request = ProgramsRequest { run: run.index, wanted, op };
    ask::of_programs(run, request, Box::new(move |all| heard(all.map(|Packed(all)| all))));
}

/// Passes a program to the graph worker.
pub fn open(run: &Run, program: &HloProgram, heard: Heard<()>) {
    let (load, name) = (run.load, program.name.clone());
    let received = move |program: Result<ProgramBytes, String>| match program {
        Ok(program) => {
            let transferred = Array::new();
            let parts = program.bytes.to_js(&transferred).zip(program.ops.to_js(&transferred));
            let attachments = parts.map(|(bytes, ops)| vec![bytes, ops]).unwrap_or_default();
            tell(load, OpenRequest { name }, None, attachments, heard);
        }
        Err(reason) => heard(Err(reason)),
    };
    ask::of_programs(run, ProgramRequest { run: run.index, program: program.clone() }, Box::new(received));
}

/// Requests a picture, and cancels the previous request.
pub fn picture(run: &Run, look: Look, heard: Heard<Picture>) {
    tell(run.load, PictureRequest { look }, Some(Place::Graph), Vec::new(), unpacked(heard));
}

/// Requests lines of a computation, and cancels the previous request.
pub fn listing(run: &Run, request: ListingRequest, heard: Heard<Listing>) {
    tell(run.load, request, Some(Place::Listing), Vec::new(), unpacked(heard));
}

/// Requests facts about an instruction.
pub fn details(run: &Run, name: String, heard: Heard<Details>) {
    tell(run.load, DetailsRequest { name }, None, Vec::new(), unpacked(heard));
}

/// Finds instructions by name or scope, and cancels the previous search.
pub fn search(run: &Run, text: String, heard: Heard<Vec<Match>>) {
    tell(run.load, SearchRequest { text }, Some(Place::Search), Vec::new(), unpacked(heard));
}

/// Requests a part of the program as a file.
pub fn save(run: &Run, look: Look, format: Format, heard: Heard<Document>) {
    tell(run.load, SaveRequest { look, format }, None, Vec::new(), heard);
}

/// Requests a JAX script that runs an op alone. The comment at the start of the script contains the op's numbers.
pub fn script(run: &Run, program: &HloProgram, op: String, heard: Heard<Document>) {
    let (load, name) = (run.load, op.clone());
    let received = move |numbers: Result<Packed<_>, String>| match numbers {
        Ok(Packed(numbers)) => tell(load, ScriptRequest { op: name, numbers }, None, Vec::new(), heard),
        Err(reason) => heard(Err(reason)),
    };
    ask::of_programs(run, OpNumbersRequest { run: run.index, program: program.clone(), op }, Box::new(received));
}

/// Compares the programs of a run with the programs of the baseline. The response becomes an attachment of the
/// comparison's requests. The response is empty if one of the two runs has no programs.
pub fn changes(baseline: &Run, run: &Run, heard: Heard<Document>) {
    let (load, run) = (baseline.load, run.clone());
    let both = move |theirs: Result<Document, String>| {
        let received = move |ours: Result<Document, String>| match theirs.and_then(|theirs| Ok([theirs, ours?])) {
            Ok(both) if both.iter().any(|it| it.buffer().byte_length() == 0) => heard(Ok(Document::new(""))),
            Ok(both) => {
                let attachments = both.iter().map(|it| it.buffer().clone().into()).collect();
                tell(load, ChangesRequest {}, None, attachments, heard);
            }
            Err(reason) => heard(Err(reason)),
        };
        ask::of_programs(&run, ComparedProgramsRequest { run: run.index }, Box::new(received));
    };
    ask::of_programs(baseline, ComparedProgramsRequest { run: baseline.index }, Box::new(both));
}

fn unpacked<T: 'static>(heard: Heard<T>) -> Heard<Packed<T>> {
    Box::new(move |made| heard(made.map(|Packed(made)| made)))
}

/// Sends a request to the graph worker, and starts the worker if needed.
fn tell<Q: Request<Worker = GraphRequest> + 'static>(
    load: u32,
    request: Q,
    place: Option<Place>,
    attachments: Vec<wasm_bindgen::JsValue>,
    heard: Heard<Q::Response>,
) where
    Q::Response: Body,
{
    let worker = teams::graph(load, || start().boxed_local().shared());
    wasm_bindgen_futures::spawn_local(async move {
        match ready(load, worker).await {
            Ok(worker) => worker.ask(request, place, &attachments, heard),
            Err(reason) => heard(Err(reason)),
        }
    });
}

async fn ready(load: u32, worker: Option<GraphWorker>) -> Result<Rc<Connection>, String> {
    let worker = worker.ok_or(teams::ENDED)?.await;
    if worker.is_err() {
        // Forget the failed worker, so that the next request tries again.
        teams::forget_graph(load);
    }
    worker
}

async fn start() -> Result<Rc<Connection>, String> {
    let started = pool::start(Program::Graph).await.map_err(|none| none.reason())?;
    Ok(Rc::new(Connection::new(started)))
}
