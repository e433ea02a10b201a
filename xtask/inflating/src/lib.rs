//! Unpacks a gzip file in the tab: `cargo xtask bench` builds this once for each inflater, as the page is built.

use input::{Unpacked, Unpacker};
use wasm_bindgen::prelude::*;

/// Given at once, as the page's reader does.
const PUSH_BYTES: usize = 64 << 10;

/// Unpacks a gzip file: how many bytes it held.
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
