//! Reads a file again to get all arguments of an event. The analyst keeps only the arguments from which it computes
//! numbers.

use crossprof::document::Grid;
use crossprof::pages::timeline::named_values;
use crossprof::session::{ArgumentsReader, NOT_FOUND};
use js_sys::{ArrayBuffer, Uint8Array};
use wasm_bindgen::JsValue;
use web_sys::Blob;

use crate::protocol::reader::ArgumentsRequest;
use crate::protocol::wire::Packed;
use crate::worker::asker::Asker;
use crate::worker::stream::FileStream;
use crate::worker::unpack::{gone, outlines};

/// Bytes per read.
const READ_BYTES: u32 = 1 << 20;

/// Responds with the arguments of the event.
pub async fn run(request: ArgumentsRequest, asker: Asker) {
    let found = match read(&request, &asker.attachment(0)).await {
        Ok(found) => found,
        Err(_) => return asker.refuse(&gone(&request.file)),
    };
    match found {
        Some(grid) => asker.respond::<ArgumentsRequest>(&Packed(grid)),
        None => asker.refuse(NOT_FOUND),
    }
}

async fn read(request: &ArgumentsRequest, blob: &Blob) -> Result<Option<Grid>, JsValue> {
    let mut reader = ArgumentsReader::new(&request.file, &request.member, vec![request.event]);
    reader.set_outlines(outlines(blob, blob.size() as u64).await?);
    let (mut stream, mut room) = (FileStream::new(blob)?, ArrayBuffer::new(READ_BYTES));
    while !reader.is_done() {
        let Some((buffer, filled)) = stream.next(room, false).await? else { break };
        reader.push(&Uint8Array::new(&buffer).subarray(0, filled).to_vec());
        room = if buffer.byte_length() == READ_BYTES { buffer } else { ArrayBuffer::new(READ_BYTES) };
    }
    let found = reader.finish().pop();
    Ok(found.map(|found| named_values("All arguments in the file", &found.arguments)))
}
