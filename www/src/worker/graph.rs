//! The graph worker: reads one compiled program, draws parts of it, and prints it.

use crossprof::graph::Program;
use crossprof::session::{jax_script_of, program_changes, unpack_programs};
use crossprof::text::json_text;

use super::asker::Asker;
use crate::protocol::Request;
use crate::protocol::graph::{
    ChangesRequest, DetailsRequest, GraphRequest, ListingRequest, OpenRequest, PictureRequest, SaveRequest,
    ScriptRequest, SearchRequest,
};
use crate::protocol::wire::{Body, Document, Packed};

const NO_PROGRAM: &str = "The compiled program was not received. Open the view again.";

/// The program that the page shows.
#[derive(Default)]
pub struct Graph(Option<Program>);

impl Graph {
    /// Handles a request of the page.
    pub fn begin(&mut self, request: GraphRequest, asker: Asker) {
        if let GraphRequest::Open(OpenRequest { name }) = request {
            let attached = asker.attachments();
            let bytes: Option<Document> = Body::from_js(attached.get(0));
            let ops: Option<Packed<Vec<_>>> = Body::from_js(attached.get(1));
            self.0 = bytes.zip(ops).map(|(bytes, Packed(ops))| Program::read(&name, &bytes.to_vec(), &ops));
            return asker.answer::<OpenRequest>(self.0.is_some().then_some(()).ok_or(NO_PROGRAM));
        }
        if let GraphRequest::Changes(_) = request {
            let attached = asker.attachments();
            let programs = |at| Document::from_js(attached.get(at)).map(|it| unpack_programs(&it.to_vec()));
            let [baseline, run] = [0, 1].map(|at| programs(at).unwrap_or_default());
            let changes = json_text::compact(&program_changes(&baseline, &run));
            return asker.respond::<ChangesRequest>(&Document::new(&changes));
        }
        let Some(program) = &mut self.0 else { return asker.refuse(NO_PROGRAM) };
        match request {
            GraphRequest::Open(_) | GraphRequest::Changes(_) => {}
            GraphRequest::Picture(PictureRequest { look }) => {
                answer::<PictureRequest>(asker, program.picture(&look).map(Packed));
            }
            GraphRequest::Listing(ListingRequest { computation, centre, first, lines }) => {
                let made = program.listing(&computation, centre.as_deref(), first, lines);
                answer::<ListingRequest>(asker, made.map(Packed));
            }
            GraphRequest::Details(DetailsRequest { name }) => {
                answer::<DetailsRequest>(asker, program.details(&name).map(Packed));
            }
            GraphRequest::Search(SearchRequest { text }) => {
                asker.respond::<SearchRequest>(&Packed(program.search(&text)));
            }
            GraphRequest::Script(ScriptRequest { op, numbers }) => {
                let made = jax_script_of(program, &op, numbers.as_ref()).unwrap_or_else(|| Ok(String::new()));
                let made = made.map_err(|reason| format!("No script: {reason}."));
                answer::<ScriptRequest>(asker, made.map(|text| Document::new(&text)));
            }
            GraphRequest::Save(SaveRequest { look, format }) => {
                let made = program.export(&look, format);
                answer::<SaveRequest>(asker, made.map(|text| Document::new(&text)));
            }
        }
    }
}

fn answer<Q: Request>(asker: Asker, made: Result<Q::Response, String>)
where
    Q::Response: Body,
{
    match made {
        Ok(response) => asker.respond::<Q>(&response),
        Err(reason) => asker.refuse(&reason),
    }
}
