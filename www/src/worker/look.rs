//! Inspects the first bytes of files. The kinds of the files determine which files belong to one run.

use crossprof::session::peek;
use crossprof::session::plan::FileKind;
use js_sys::{Array, Uint8Array};
use wasm_bindgen::prelude::*;
use wasm_bindgen_futures::JsFuture;
use web_sys::Blob;

use crate::protocol::files::FileEntry;
use crate::protocol::reader::{LookRequest, Looked};
use crate::worker::asker::Asker;
use crate::worker::groups::groups;

/// Number of bytes from which the kind of a file is determined.
const HEAD_BYTES: u64 = 64 << 10;

/// Inspects all files and responds with their kinds and groups.
pub async fn run(LookRequest { paths }: LookRequest, asker: Asker) {
    let files: Array = asker.attachment(0);
    let mut entries = Vec::with_capacity(paths.len());
    for (path, file) in paths.into_iter().zip(files.iter()) {
        let file: &Blob = file.unchecked_ref();
        // Ignore errors: loading the file reports them.
        let kind = kind(&path, file).await.unwrap_or(FileKind::Unknown);
        entries.push(FileEntry { path, size_bytes: file.size() as u64, kind });
    }
    let groups = groups(&entries);
    let kinds = entries.iter().map(|entry| entry.kind).collect();
    asker.respond::<LookRequest>(&Looked { kinds, groups });
}

async fn kind(path: &str, file: &Blob) -> Result<FileKind, JsValue> {
    let size_bytes = file.size() as u64;
    let head = file.slice_with_f64_and_f64(0.0, size_bytes.min(HEAD_BYTES) as f64)?;
    let head = Uint8Array::new(&JsFuture::from(head.array_buffer()).await?).to_vec();
    Ok(peek(path, &head, size_bytes <= HEAD_BYTES))
}
