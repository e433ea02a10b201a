//! Unpacks a gzip file in a browser tab. `cargo xtask bench` builds this program for each inflater, in the same way as
//! the page.

use input::{Unpacked, Unpacker};
use wasm_bindgen::prelude::*;

/// Number of compressed bytes that are unpacked at a time, as in the page's reader.
const PUSH_BYTES: usize = 64 << 10;

/// Unpacks a gzip file and returns the number of unpacked bytes.
#[wasm_bindgen]
pub fn unpack(stored: &[u8]) -> f64 {
    let mut unpacked_bytes = 0.0;
    let mut unpacker = Unpacker::new("file.gz");
    let mut sink = |piece: Unpacked<'_>| {
        if let Unpacked::Data(bytes) = piece {
            unpacked_bytes += bytes.len() as f64;
        }
    };
    stored.chunks(PUSH_BYTES).for_each(|chunk| unpacker.push(chunk, &mut sink));
    unpacker.finish(&mut sink);
    unpacked_bytes
}
