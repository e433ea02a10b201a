//! The first reader: reads and unpacks files, and sends blocks of bytes to the decoder. The two readers work in
//! parallel, and only a few blocks are in memory at any time. Uncompressed data is sent in the buffers into which it
//! was read. In an xplane file, the metadata follows the events. The metadata is nevertheless read first, so that the
//! decoder does not have to wait for the metadata.

use std::ops::Range;

use crossprof::session::{Outline, Outliner, Unpacked, Unpacker};
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

/// Bytes per read of uncompressed data. The data is sent in the buffer into which it was read.
const PLAIN_READ_BYTES: u32 = 4 << 20;
/// Bytes per read of compressed data. A small read returns sooner, and the browser meanwhile reads ahead.
const PACKED_READ_BYTES: u32 = 512 << 10;
/// Number of compressed bytes that are unpacked before the worker waits for the decoder. The unpacked data can be about
/// a thousand times as large as the compressed data.
const PUSH_BYTES: usize = 64 << 10;

/// Reads all files.
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

/// Reads one file. The browser reads ahead in the file while the worker unpacks.
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

/// Returns the error message for a file that the browser cannot read.
pub fn gone(path: &str) -> String {
    format!("{path} could not be read: it was changed, moved or deleted after it was chosen. Choose it again.")
}

/// Returns the metadata of the large planes of an xplane file. The result is empty for other files.
pub async fn outlines(blob: &Blob, size_bytes: u64) -> Result<Vec<Outline>, JsValue> {
    let mut outliner = Outliner::new(size_bytes);
    while let Some(wanted) = outliner.wanted() {
        let slice = blob.slice_with_f64_and_f64(wanted.start as f64, wanted.end as f64)?;
        let window = JsFuture::from(slice.array_buffer()).await?;
        outliner.give(&Uint8Array::new(&window).to_vec());
    }
    Ok(outliner.outlines())
}

/// Sends the output of the unpacker.
fn pass(pipe: &mut Pipe<FileChunk>, piece: Unpacked<'_>) {
    match piece {
        Unpacked::Begin { path, size } => pipe.send(FileChunk::Begin { path: path.to_owned(), size_bytes: size }),
        Unpacked::Data(bytes) => pipe.fill(bytes),
        Unpacked::End => pipe.send(FileChunk::End),
        Unpacked::Warning(warning) => pipe.send(FileChunk::Warning(warning)),
    }
}
