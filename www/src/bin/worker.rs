//! Entry point of the reader, which starts the task that each request names.

use wasm_bindgen_futures::spawn_local;
use www::protocol::reader::ReaderRequest;
use www::worker::serve::serve;
use www::worker::{arguments, decode, look, rehearsal, unpack};

fn main() {
    serve(|request, asker| {
        rehearsal::end();
        match request {
            ReaderRequest::Rehearse(request) => spawn_local(rehearsal::run(request, asker)),
            ReaderRequest::Look(request) => spawn_local(look::run(request, asker)),
            ReaderRequest::Unpack(request) => spawn_local(unpack::run(request, asker)),
            ReaderRequest::Decode(request) => decode::run(request, asker),
            ReaderRequest::Arguments(request) => spawn_local(arguments::run(request, asker)),
        }
    });
}
