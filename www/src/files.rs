//! Files that the user dropped or picked, including the content of folders.

use js_sys::{Array, Function, Promise, Reflect};
use wasm_bindgen::prelude::*;
use wasm_bindgen_futures::JsFuture;
use web_sys::{
    Blob, DataTransfer, File, FileList, FileSystemDirectoryEntry, FileSystemDirectoryReader, FileSystemEntry,
    FileSystemFileEntry,
};

use crate::client;
use crate::protocol::files::{FileEntry, Groups};
use crate::protocol::reader::Looked;
use crate::teams::Source;

/// A file that the user dropped or picked.
#[derive(Clone, Debug)]
pub struct PickedFile {
    /// Path of the file, including folders.
    pub path: String,
    /// Reference to the content of the file.
    pub blob: Blob,
}

/// Returns the entries of a drop. Callers must call this function inside the event handler, because the browser clears
/// `transfer` afterwards.
pub fn entries(transfer: &DataTransfer) -> Vec<FileSystemEntry> {
    let items = transfer.items();
    (0..items.length())
        .filter_map(|index| items.get(index))
        .filter(|item| item.kind() == "file")
        .filter_map(|item| item.webkit_get_as_entry().ok().flatten())
        .collect()
}

/// Returns all files of these entries, sorted by path. Files in folders are included.
pub async fn walk(entries: Vec<FileSystemEntry>) -> Vec<PickedFile> {
    let mut sources = Vec::new();
    let mut open = entries;
    while let Some(entry) = open.pop() {
        let path = entry.full_path().trim_start_matches('/').to_owned();
        if entry.is_directory() {
            let reader = entry.unchecked_into::<FileSystemDirectoryEntry>().create_reader();
            // A folder that cannot be read, for example because it was removed, is treated as empty.
            while let Ok(more) = read_entries(&reader).await {
                if more.is_empty() {
                    break;
                }
                open.extend(more);
            }
        } else if let Ok(file) = file_of(entry.unchecked_into()).await {
            sources.push(PickedFile { path, blob: file.into() });
        }
    }
    crossprof::text::sort::sort_by(&mut sources, |a, b| a.path.cmp(&b.path));
    sources
}

/// Returns the files of a file picker. If the user picked a folder, each path begins with the name of that folder.
pub fn picked(list: &FileList) -> Vec<PickedFile> {
    let files = (0..list.length()).filter_map(|index| list.get(index));
    let mut sources: Vec<PickedFile> = files
        .map(|file| {
            let path = Reflect::get(&file, &"webkitRelativePath".into()).ok().and_then(|path| path.as_string());
            let path = path.filter(|path| !path.is_empty()).unwrap_or_else(|| file.name());
            PickedFile { path, blob: file.into() }
        })
        .collect();
    crossprof::text::sort::sort_by(&mut sources, |a, b| a.path.cmp(&b.path));
    sources
}

/// Reads the next entries of a folder. Browsers return at most 100 entries at a time, and an empty list at the end.
async fn read_entries(reader: &FileSystemDirectoryReader) -> Result<Vec<FileSystemEntry>, JsValue> {
    let promise = promise(|found, failed| reader.read_entries_with_callback_and_callback(found, failed));
    let entries = Array::from(&JsFuture::from(promise).await?);
    Ok(entries.iter().map(JsCast::unchecked_into).collect())
}

async fn file_of(entry: FileSystemFileEntry) -> Result<File, JsValue> {
    let promise = promise(|found, failed| {
        entry.file_with_callback_and_callback(found, failed);
        Ok(())
    });
    Ok(JsFuture::from(promise).await?.unchecked_into())
}

/// Converts a pair of callbacks to a promise.
fn promise(mut start: impl FnMut(&Function, &Function) -> Result<(), JsValue>) -> Promise {
    Promise::new(&mut |found, failed| {
        if let Err(error) = start(&found, &failed) {
            // Rejecting a promise cannot fail.
            let _ = failed.call1(&JsValue::NULL, &error);
        }
    })
}

/// Determines the kinds of the files, and which files are loaded together.
pub async fn look_at(files: Vec<PickedFile>) -> (Vec<Source>, Groups) {
    let (paths, blobs): (Vec<String>, Vec<Blob>) = files.into_iter().map(|file| (file.path, file.blob)).unzip();
    let Looked { kinds, groups } = client::look_at(&paths, &blobs).await;
    let sources = paths.into_iter().zip(blobs).zip(kinds);
    let sources = sources
        .map(|((path, blob), kind)| Source { entry: FileEntry { path, size_bytes: blob.size() as u64, kind }, blob });
    (sources.collect(), groups)
}
