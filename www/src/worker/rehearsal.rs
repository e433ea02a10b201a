//! Warms up a reader: reads files before the first load, so that the browser has already optimised the code for unpacking
//! and decoding.

use std::cell::Cell;
use std::rc::Rc;

use crossprof::session::Session;
use crossprof::session::Unpacker;
use js_sys::{Array, Uint8Array};
use wasm_bindgen::prelude::*;
use wasm_bindgen_futures::JsFuture;
use web_sys::Blob;

use crate::protocol::reader::RehearseReadingRequest;
use crate::worker::asker::Asker;
use crate::worker::soon;

/// Number of times that each file is read. Browsers optimise code after it has run for several milliseconds.
const PASSES: u32 = 40;

thread_local! {
    /// Number of passes that remain.
    static LEFT: Cell<u32> = const { Cell::new(0) };
}

/// Ends the warm-up when another request arrives.
pub fn end() {
    LEFT.set(0);
}

/// Starts reading the files. Other messages are handled between two passes.
pub async fn run(RehearseReadingRequest { paths }: RehearseReadingRequest, asker: Asker) {
    LEFT.set(PASSES);
    let mut files = Vec::with_capacity(paths.len());
    for (path, file) in paths.into_iter().zip(asker.attachment::<Array>(0).iter()) {
        // Skip files that cannot be read.
        if let Ok(bytes) = JsFuture::from(file.unchecked_ref::<Blob>().array_buffer()).await {
            files.push((path, Uint8Array::new(&bytes).to_vec()));
        }
    }
    pass(Rc::new(files));
    asker.respond::<RehearseReadingRequest>(&());
}

fn pass(files: Rc<Vec<(String, Vec<u8>)>>) {
    let Some(left) = LEFT.get().checked_sub(1) else { return };
    LEFT.set(left);
    for (path, bytes) in files.iter() {
        let (mut session, mut unpacker) = (Session::new(), Unpacker::new(path));
        let file = session.begin(path, Some(bytes.len() as u64));
        unpacker.push(bytes, &mut |piece| session.unpacked(file, piece));
        unpacker.finish(&mut |piece| session.unpacked(file, piece));
        session.finish(file);
        session.runs();
        while let Some(image) = session.hand_over() {
            image.for_each(drop);
        }
    }
    soon(move || pass(files));
}
