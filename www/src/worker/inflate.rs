//! The first worker: reads files, unpacks them, and passes blocks of bytes on to the scanner.
//!
//! Blocks are transferred, not copied, and come back to be filled again. So inflating and scanning overlap on two
//! cores, without shared memory, and no more than a few blocks of text are ever in memory.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use crossprof::input::unpack::{Unpacked, Unpacker};
use futures_channel::mpsc;
use futures_util::StreamExt;
use js_sys::{Array, ArrayBuffer, Promise, Uint8Array};
use wasm_bindgen::prelude::*;
use wasm_bindgen_futures::JsFuture;
use web_sys::{Blob, DedicatedWorkerGlobalScope, MessageEvent, MessagePort};

use crate::protocol::{FileEntry, News, Piece};
use crate::wire;
use crate::worker::tell;

/// Bytes of a block.
const BLOCK_BYTES: u32 = 4 << 20;
/// Blocks that may wait for the scanner.
const MAX_OUTSTANDING: u32 = 3;
/// Bytes read from disk at first: unpacking starts soon. Each read is twice as large as the one before, up to the most,
/// since every read has its price.
const FIRST_READ_BYTES: u64 = 512 << 10;
/// The most bytes read from disk at once.
const MOST_READ_BYTES: u64 = 8 << 20;
/// Bytes unpacked before the scanner gets a chance to push back: deflate makes at most a thousand times as many of them.
const PUSH_BYTES: usize = 64 << 10;

/// Reads every file and closes the worker.
pub async fn run(scope: DedicatedWorkerGlobalScope, entries: Vec<FileEntry>, files: Array, port: MessagePort) {
    let mut pipe = Pipe::new(port);
    for (index, entry) in entries.iter().enumerate() {
        let index = index as u32;
        let blob: Blob = files.get(index).unchecked_into();
        if let Err(message) = one(&scope, index, entry, &blob, &mut pipe).await {
            tell(&scope, &News::Failed { file: Some(index), message });
        }
    }
    pipe.send(&Piece::Done);
}

/// Reads one file; the next bytes are on their way from disk while these are unpacked.
async fn one(
    scope: &DedicatedWorkerGlobalScope,
    index: u32,
    entry: &FileEntry,
    blob: &Blob,
    pipe: &mut Pipe,
) -> Result<(), String> {
    pipe.send(&Piece::File(index));
    let mut unpacker = Unpacker::new(&entry.path);
    let mut at = 0;
    let mut next = read(blob, at, entry.size_bytes)?;
    while let Some(promise) = next {
        let bytes = JsFuture::from(promise).await.map_err(|_| {
            format!(
                "{} could not be read: it was changed, moved or deleted after it was chosen. Choose it again.",
                entry.path
            )
        })?;
        at = end_of_read(at, entry.size_bytes);
        next = read(blob, at, entry.size_bytes)?;
        for part in Uint8Array::new(&bytes).to_vec().chunks(PUSH_BYTES) {
            pipe.ready().await;
            unpacker.push(part, &mut |piece| pipe.pass(piece));
        }
        tell(scope, &News::Read { file: index, bytes: at });
    }
    unpacker.finish(&mut |piece| pipe.pass(piece));
    pipe.send(&Piece::FileEnd);
    Ok(())
}

/// Starts to read the bytes from `at` on, if there are any.
fn read(blob: &Blob, at: u64, size: u64) -> Result<Option<Promise>, String> {
    if at >= size {
        return Ok(None);
    }
    let end = end_of_read(at, size);
    let slice =
        blob.slice_with_f64_and_f64(at as f64, end as f64).map_err(|_| "The file could not be read.".to_owned())?;
    Ok(Some(slice.array_buffer()))
}

/// Where the read that starts at `at` ends.
fn end_of_read(at: u64, size: u64) -> u64 {
    (at + at.clamp(FIRST_READ_BYTES, MOST_READ_BYTES)).min(size)
}

/// The way to the scanner.
struct Pipe {
    port: MessagePort,
    block: Option<Uint8Array>,
    filled: u32,
    outstanding: Rc<Cell<u32>>,
    spare: Rc<RefCell<Vec<ArrayBuffer>>>,
    returned: mpsc::UnboundedReceiver<()>,
}

impl Pipe {
    fn new(port: MessagePort) -> Pipe {
        let (sender, returned) = mpsc::unbounded();
        let outstanding = Rc::new(Cell::new(0));
        let spare = Rc::new(RefCell::new(Vec::new()));
        let (left, kept) = (outstanding.clone(), spare.clone());
        let on_return = Closure::<dyn FnMut(MessageEvent)>::new(move |event: MessageEvent| {
            left.set(u32::saturating_sub(left.get(), 1));
            kept.borrow_mut().push(event.data().unchecked_into());
            // The receiver lives as long as the worker.
            let _ = sender.unbounded_send(());
        });
        port.set_onmessage(Some(on_return.as_ref().unchecked_ref()));
        on_return.forget();
        Pipe { port, block: None, filled: 0, outstanding, spare, returned }
    }

    /// Waits until the scanner has caught up.
    async fn ready(&mut self) {
        while self.outstanding.get() >= MAX_OUTSTANDING {
            self.returned.next().await;
        }
    }

    fn pass(&mut self, piece: Unpacked<'_>) {
        match piece {
            Unpacked::Begin { path, size } => self.send(&Piece::Begin { path: path.to_owned(), size_bytes: size }),
            Unpacked::Data(bytes) => self.fill(bytes),
            Unpacked::End => self.send(&Piece::End),
            Unpacked::Warning(warning) => self.send(&Piece::Warning(warning)),
        }
    }

    /// Sends a message after the bytes that came before it.
    fn send(&mut self, piece: &Piece) {
        self.flush();
        // A scanner that is gone has been cancelled.
        let _ = self.port.post_message(&wire::pack(piece, &[]));
    }

    fn fill(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            let block = self.block.get_or_insert_with(|| {
                let spare = self.spare.borrow_mut().pop();
                spare.map_or_else(|| Uint8Array::new_with_length(BLOCK_BYTES), |buffer| Uint8Array::new(&buffer))
            });
            let room = (BLOCK_BYTES - self.filled) as usize;
            let (now, later) = bytes.split_at(bytes.len().min(room));
            let end = self.filled + now.len() as u32;
            block.subarray(self.filled, end).copy_from(now);
            self.filled = end;
            bytes = later;
            if end == BLOCK_BYTES {
                self.flush();
            }
        }
    }

    fn flush(&mut self) {
        let Some(block) = self.block.take() else { return };
        let buffer = block.buffer();
        let message = wire::pack(&Piece::Bytes(self.filled), &[buffer.clone().into()]);
        let _ = self.port.post_message_with_transferable(&message, &Array::of1(&buffer));
        self.outstanding.set(self.outstanding.get() + 1);
        self.filled = 0;
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
