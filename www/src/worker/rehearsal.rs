//! Reads files before there is a load, so that the browser has compiled well by then what unpacks and decodes.

use std::cell::Cell;
use std::rc::Rc;

use crossprof::input::Unpacker;
use crossprof::session::Session;
use js_sys::{Array, Uint8Array};
use wasm_bindgen::prelude::*;
use wasm_bindgen_futures::JsFuture;
use web_sys::Blob;

use crate::protocol::reader::RehearseReadingRequest;
use crate::worker::asker::Asker;
use crate::worker::soon;

/// Times that each file is read: browsers compile well what took a few milliseconds.
const PASSES: u32 = 40;

thread_local! {
    /// The passes that are still to come.
    static LEFT: Cell<u32> = const { Cell::new(0) };
}

/// Something else is asked for.
pub fn end() {
    LEFT.set(0);
}

/// Begins to read the files. Whatever comes meanwhile is heard between two passes.
pub async fn run(RehearseReadingRequest { paths }: RehearseReadingRequest, asker: Asker) {
    LEFT.set(PASSES);
    let mut files = Vec::with_capacity(paths.len());
    for (path, file) in paths.into_iter().zip(asker.attachment::<Array>(0).iter()) {
        // What cannot be read is not rehearsed.
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
