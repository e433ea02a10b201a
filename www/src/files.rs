//! What was dropped or picked: files, and folders walked to the end.

use crossprof::input::plan;
use js_sys::{Array, Function, Promise, Reflect};
use wasm_bindgen::prelude::*;
use wasm_bindgen_futures::JsFuture;
use web_sys::{
    DataTransfer, File, FileList, FileSystemDirectoryEntry, FileSystemDirectoryReader, FileSystemEntry,
    FileSystemFileEntry,
};

use crate::client::Source;

/// Entries of a drop. They must be taken while the event is handled: after that the browser forgets them.
pub fn entries(transfer: &DataTransfer) -> Vec<FileSystemEntry> {
    let items = transfer.items();
    (0..items.length())
        .filter_map(|index| items.get(index))
        .filter(|item| item.kind() == "file")
        .filter_map(|item| item.webkit_get_as_entry().ok().flatten())
        .collect()
}

/// All files in these entries, folders walked, in the order of their paths.
pub async fn walk(entries: Vec<FileSystemEntry>) -> Vec<Source> {
    let mut sources = Vec::new();
    let mut open = entries;
    while let Some(entry) = open.pop() {
        let path = entry.full_path().trim_start_matches('/').to_owned();
        if entry.is_directory() {
            let reader = entry.unchecked_into::<FileSystemDirectoryEntry>().create_reader();
            // A folder that cannot be read (it was removed) is as good as an empty one.
            while let Ok(more) = read_entries(&reader).await {
                if more.is_empty() {
                    break;
                }
                open.extend(more);
            }
        } else if let Ok(file) = file_of(entry.unchecked_into()).await {
            sources.push(Source { path, blob: file.into() });
        }
    }
    sources.sort_by(|a, b| a.path.cmp(&b.path));
    sources
}

/// The files of a picker; those of a folder come with their path in it.
pub fn picked(list: &FileList) -> Vec<Source> {
    let files = (0..list.length()).filter_map(|index| list.get(index));
    let mut sources: Vec<Source> = files
        .map(|file| {
            let path = Reflect::get(&file, &"webkitRelativePath".into()).ok().and_then(|path| path.as_string());
            let path = path.filter(|path| !path.is_empty()).unwrap_or_else(|| file.name());
            Source { path, blob: file.into() }
        })
        .collect();
    sources.sort_by(|a, b| a.path.cmp(&b.path));
    sources
}

/// The next entries of a folder: browsers give at most a hundred at a time, and none at the end.
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

/// Turns a pair of callbacks into a promise.
fn promise(mut start: impl FnMut(&Function, &Function) -> Result<(), JsValue>) -> Promise {
    Promise::new(&mut |found, failed| {
        if let Err(error) = start(&found, &failed) {
            // Rejecting a promise cannot fail.
            let _ = failed.call1(&JsValue::NULL, &error);
        }
    })
}

/// Groups of files, each to be read by workers of its own.
///
/// Files of one profile folder (`plugins/profile/<run>`) belong together, as do files of one folder whose names differ
/// only in their suffixes (`host.xplane.pb`, `host.trace.json.gz`). What a file holds is told later, by its content.
/// Small JSON files that belong to no other (`config.json`) may describe a model: each group of their folder or of a
/// folder below gets them.
pub fn groups(sources: &[(String, u64)]) -> Vec<Vec<usize>> {
    let mut groups: Vec<(String, Vec<usize>)> = Vec::new();
    let mut sidecars = Vec::new();
    for (index, (path, size_bytes)) in sources.iter().enumerate() {
        let name = plan::file_name(path).to_lowercase();
        if *size_bytes < SIDECAR_BYTES && SIDECARS.contains(&name.as_str()) {
            sidecars.push(index);
            continue;
        }
        let key = plan::run_folder(path).map_or_else(|| stem(path).to_owned(), |folder| format!("{folder}/"));
        match groups.iter_mut().find(|(other, _)| *other == key) {
            Some((_, members)) => members.push(index),
            None => groups.push((key, vec![index])),
        }
    }
    let mut groups: Vec<Vec<usize>> = groups.into_iter().map(|(_, members)| members).collect();
    if groups.is_empty() && !sidecars.is_empty() {
        groups.push(Vec::new());
    }
    for group in &mut groups {
        group.extend(&sidecars);
    }
    groups
}

/// Names under which a model configuration lies beside a profile.
const SIDECARS: [&str; 2] = ["config.json", "crossprof.json"];
/// No model configuration is as large.
const SIDECAR_BYTES: u64 = 1 << 20;

/// The path without its suffixes.
fn stem(path: &str) -> &str {
    let name_at = path.len() - plan::file_name(path).len();
    let name = path.get(name_at..).unwrap_or("");
    let end = name.get(1..).and_then(|rest| rest.find('.')).map_or(name.len(), |dot| dot + 1);
    path.get(..name_at + end).unwrap_or(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn group(paths: &[&str]) -> Vec<Vec<usize>> {
        groups(&paths.iter().map(|path| ((*path).to_owned(), 1000)).collect::<Vec<_>>())
    }

    #[test]
    fn a_profile_folder_is_one_group() {
        let paths = [
            "log/plugins/profile/2026_01_05/a.xplane.pb",
            "log/plugins/profile/2026_01_05/b.trace.json.gz",
            "log/plugins/profile/2026_01_06/a.xplane.pb",
        ];
        assert_eq!(group(&paths), [vec![0, 1], vec![2]]);
    }

    #[test]
    fn files_side_by_side_are_runs_of_their_own() {
        assert_eq!(group(&["run-a.trace.json.gz", "run-b.trace.json.gz"]), [vec![0], vec![1]]);
        assert_eq!(group(&["host.xplane.pb", "host.trace.json.gz"]), [vec![0, 1]]);
    }

    #[test]
    fn a_model_configuration_goes_with_every_run() {
        assert_eq!(group(&["a.pb", "b.pb", "config.json"]), [vec![0, 2], vec![1, 2]]);
        assert_eq!(group(&["config.json"]), [vec![0]]);
        assert_eq!(stem("x/.hidden.json"), "x/.hidden");
        assert_eq!(stem("é.b"), "é");
    }
}
