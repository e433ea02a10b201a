//! The first worker: reads files, unpacks them, and passes blocks of bytes on to the decoder, so that inflating and decoding
//! overlap on two cores and no more than a few blocks of text are ever in memory. What is not packed is passed on in the
//! buffers that it was read into; what an xplane says behind its events is read before them, so that the decoder need not
//! wait for it.

use std::ops::Range;

use crossprof::input::{Outline, Outliner, Unpacked, Unpacker};
use js_sys::{Array, Uint8Array};
use wasm_bindgen::prelude::*;
use wasm_bindgen_futures::JsFuture;
use web_sys::Blob;

use crate::protocol::files::FileEntry;
use crate::protocol::reader::{FileChunk, UnpackProgress, UnpackRequest};
use crate::worker::Pace;
use crate::worker::asker::Asker;
use crate::worker::pipe::Pipe;
use crate::worker::stream::FileStream;

/// Bytes read at once of what is not packed, and is passed on in the buffer that it is read into.
const PLAIN_READ_BYTES: u32 = 4 << 20;
/// Bytes read at once of what is unpacked: soon there, and the browser reads on meanwhile.
const PACKED_READ_BYTES: u32 = 512 << 10;
/// Bytes unpacked before the decoder gets a chance to push back: deflate makes at most a thousand times as many of them.
const PUSH_BYTES: usize = 64 << 10;

/// Reads every file.
pub async fn run(request: UnpackRequest, asker: Asker) {
    let blobs: Array = asker.attachment(0);
    let (mut pipe, mut pace) = (Pipe::new(FileChunk::Bytes), Pace::default());
    for (index, entry) in request.files.iter().enumerate() {
        let index = index as u32;
        let blob: Blob = blobs.get(index).unchecked_into();
        if let Err(reason) = one(&asker, index, entry, &blob, &mut pipe, &mut pace).await {
            asker.progress::<UnpackRequest>(&UnpackProgress::Unreadable { file: index, reason });
        }
    }
    pipe.send(FileChunk::Done);
    pipe.flush();
    asker.respond::<UnpackRequest>(&());
}

/// Reads one file; the browser reads on while these bytes are unpacked or passed on.
async fn one(
    asker: &Asker,
    index: u32,
    entry: &FileEntry,
    blob: &Blob,
    pipe: &mut Pipe<FileChunk>,
    pace: &mut Pace,
) -> Result<(), String> {
    pipe.send(FileChunk::File(index));
    let gone = |_| gone(&entry.path);
    for outline in outlines(blob, entry.size_bytes).await.map_err(gone)? {
        let Range { start, end } = outline.plane();
        pipe.send_with(FileChunk::Foreseen { start, end }, outline.records());
    }
    let mut unpacker = Unpacker::new(&entry.path);
    let mut stream = FileStream::new(blob).map_err(gone)?;
    let mut done = 0;
    loop {
        pipe.ready().await;
        let is_plain = unpacker.is_plain();
        let room = pipe.buffer(if is_plain { PLAIN_READ_BYTES } else { PACKED_READ_BYTES });
        let Some((buffer, filled)) = stream.next(room, !is_plain).await.map_err(gone)? else { break };
        done += u64::from(filled);
        if is_plain {
            pipe.pass(&buffer, filled);
        } else {
            for part in Uint8Array::new(&buffer).subarray(0, filled).to_vec().chunks(PUSH_BYTES) {
                pipe.ready().await;
                unpacker.push(part, &mut |piece| pass(pipe, piece));
            }
            pipe.keep(buffer);
        }
        if pace.is_due() {
            asker.progress::<UnpackRequest>(&UnpackProgress::Read { file: index, bytes: done });
        }
    }
    unpacker.finish(&mut |piece| pass(pipe, piece));
    pipe.send(FileChunk::FileEnd);
    pipe.flush();
    Ok(())
}

/// What is to be said of a file that the browser cannot read.
pub fn gone(path: &str) -> String {
    format!("{path} could not be read: it was changed, moved or deleted after it was chosen. Choose it again.")
}

/// What the large planes of an xplane of this size say besides their lines; nothing for another file.
pub async fn outlines(blob: &Blob, size_bytes: u64) -> Result<Vec<Outline>, JsValue> {
    let mut outliner = Outliner::new(size_bytes);
    while let Some(wanted) = outliner.wanted() {
        let slice = blob.slice_with_f64_and_f64(wanted.start as f64, wanted.end as f64)?;
        let window = JsFuture::from(slice.array_buffer()).await?;
        outliner.give(&Uint8Array::new(&window).to_vec());
    }
    Ok(outliner.outlines())
}

/// Passes on what the unpacker makes.
fn pass(pipe: &mut Pipe<FileChunk>, piece: Unpacked<'_>) {
    match piece {
        Unpacked::Begin { path, size } => pipe.send(FileChunk::Begin { path: path.to_owned(), size_bytes: size }),
        Unpacked::Data(bytes) => pipe.fill(bytes),
        Unpacked::End => pipe.send(FileChunk::End),
        Unpacked::Warning(warning) => pipe.send(FileChunk::Warning(warning)),
    }
}
