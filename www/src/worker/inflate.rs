//! The first worker: reads files, unpacks them, and passes blocks of bytes on to the scanner, so that inflating and decoding
//! overlap on two cores and no more than a few blocks of text are ever in memory. What is not packed is passed on in the
//! buffers that it was read into; what an xplane says behind its events is read before them, so that the scanner need not
//! wait for it.

use std::collections::VecDeque;
use std::ops::Range;

use crossprof::input::unpack::{Unpacked, Unpacker};
use crossprof::input::xplane::Outliner;
use js_sys::{Array, Promise, Uint8Array};
use wasm_bindgen::prelude::*;
use wasm_bindgen_futures::JsFuture;
use web_sys::{Blob, DedicatedWorkerGlobalScope, MessagePort};

use crate::protocol::{FileEntry, News, Piece};
use crate::worker::pipe::Pipe;
use crate::worker::{Pace, tell};

/// Bytes read from disk at first: unpacking starts soon. Each read is twice as large as the one before, up to the most,
/// since every read has its price.
const FIRST_READ_BYTES: u64 = 512 << 10;
/// The most bytes read from disk at once.
const MOST_READ_BYTES: u64 = 8 << 20;
/// Reads under way at once: the browser is then never without one.
const READS: usize = 2;
/// Bytes unpacked before the scanner gets a chance to push back: deflate makes at most a thousand times as many of them.
const PUSH_BYTES: usize = 64 << 10;

/// Reads every file and closes the worker.
pub async fn run(scope: DedicatedWorkerGlobalScope, entries: Vec<FileEntry>, files: Array, port: MessagePort) {
    let mut pipe = Pipe::new(port, Piece::Bytes);
    for (index, entry) in entries.iter().enumerate() {
        let index = index as u32;
        let blob: Blob = files.get(index).unchecked_into();
        if let Err(message) = one(&scope, index, entry, &blob, &mut pipe).await {
            tell(&scope, &News::Failed { file: Some(index), message });
        }
    }
    pipe.send(&Piece::Done);
}

/// Reads one file; the next bytes are on their way from disk while these are unpacked or passed on.
async fn one(
    scope: &DedicatedWorkerGlobalScope,
    index: u32,
    entry: &FileEntry,
    blob: &Blob,
    pipe: &mut Pipe<Piece>,
) -> Result<(), String> {
    pipe.send(&Piece::File(index));
    let gone = |_| {
        format!(
            "{} could not be read: it was changed, moved or deleted after it was chosen. Choose it again.",
            entry.path
        )
    };
    let mut outliner = Outliner::new(entry.size_bytes);
    while let Some(wanted) = outliner.wanted() {
        let window = JsFuture::from(read(blob, wanted.start, wanted.end)?).await.map_err(gone)?;
        outliner.give(&Uint8Array::new(&window).to_vec());
    }
    for outline in outliner.outlines() {
        let Range { start, end } = outline.plane();
        pipe.send_with(&Piece::Foreseen { start, end }, outline.records());
    }
    let mut unpacker = Unpacker::new(&entry.path);
    let mut pace = Pace::default();
    let mut asked = 0;
    let mut reads = VecDeque::new();
    loop {
        while reads.len() < READS && asked < entry.size_bytes {
            let end = end_of_read(asked, entry.size_bytes);
            reads.push_back((read(blob, asked, end)?, end));
            asked = end;
        }
        let Some((promise, end)) = reads.pop_front() else { break };
        let bytes = JsFuture::from(promise).await.map_err(gone)?;
        if unpacker.is_plain() {
            pipe.ready().await;
            pipe.pass(bytes.unchecked_ref());
        } else {
            for part in Uint8Array::new(&bytes).to_vec().chunks(PUSH_BYTES) {
                pipe.ready().await;
                unpacker.push(part, &mut |piece| pass(pipe, piece));
            }
        }
        if pace.is_due() || end == entry.size_bytes {
            tell(scope, &News::Read { file: index, bytes: end });
        }
    }
    unpacker.finish(&mut |piece| pass(pipe, piece));
    pipe.send(&Piece::FileEnd);
    Ok(())
}

/// Starts to read the bytes from `start` to `end`.
fn read(blob: &Blob, start: u64, end: u64) -> Result<Promise, String> {
    let slice =
        blob.slice_with_f64_and_f64(start as f64, end as f64).map_err(|_| "The file could not be read.".to_owned())?;
    Ok(slice.array_buffer())
}

/// Where the read that starts at `at` ends.
fn end_of_read(at: u64, size: u64) -> u64 {
    (at + at.clamp(FIRST_READ_BYTES, MOST_READ_BYTES)).min(size)
}

/// Passes on what the unpacker makes.
fn pass(pipe: &mut Pipe<Piece>, piece: Unpacked<'_>) {
    match piece {
        Unpacked::Begin { path, size } => pipe.send(&Piece::Begin { path: path.to_owned(), size_bytes: size }),
        Unpacked::Data(bytes) => pipe.fill(bytes),
        Unpacked::End => pipe.send(&Piece::End),
        Unpacked::Warning(warning) => pipe.send(&Piece::Warning(warning)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_grow_and_cover_the_file() {
        let size = 100 << 20;
        let (mut at, mut reads) = (0, 0);
        while at < size {
            let end = end_of_read(at, size);
            assert!(end > at && end - at <= MOST_READ_BYTES);
            (at, reads) = (end, reads + 1);
        }
        assert_eq!(at, size);
        assert!(reads < 20);
        assert_eq!(end_of_read(0, 10), 10);
    }
}
