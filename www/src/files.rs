//! What was dropped or picked: files, and folders walked to the end.

use crossprof::input::plan::{self, Candidate, Kind};
use js_sys::{Array, Function, Promise, Reflect};
use wasm_bindgen::prelude::*;
use wasm_bindgen_futures::JsFuture;
use web_sys::{
    Blob, DataTransfer, File, FileList, FileSystemDirectoryEntry, FileSystemDirectoryReader, FileSystemEntry,
    FileSystemFileEntry,
};

use crate::client::{self, Source};
use crate::protocol::FileEntry;

/// A file that was dropped or picked.
#[derive(Clone, Debug)]
pub struct Found {
    /// Its path, folders included.
    pub path: String,
    /// Its bytes, by reference.
    pub blob: Blob,
}

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
pub async fn walk(entries: Vec<FileSystemEntry>) -> Vec<Found> {
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
            sources.push(Found { path, blob: file.into() });
        }
    }
    sources.sort_by(|a, b| a.path.cmp(&b.path));
    sources
}

/// The files of a picker; those of a folder come with their path in it.
pub fn picked(list: &FileList) -> Vec<Found> {
    let files = (0..list.length()).filter_map(|index| list.get(index));
    let mut sources: Vec<Found> = files
        .map(|file| {
            let path = Reflect::get(&file, &"webkitRelativePath".into()).ok().and_then(|path| path.as_string());
            let path = path.filter(|path| !path.is_empty()).unwrap_or_else(|| file.name());
            Found { path, blob: file.into() }
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

/// Tells what the files hold.
pub async fn look_at(files: Vec<Found>) -> Vec<Source> {
    let (paths, blobs): (Vec<String>, Vec<Blob>) = files.into_iter().map(|file| (file.path, file.blob)).unzip();
    let kinds = client::kinds(&paths, &blobs).await;
    let sources = paths.into_iter().zip(blobs).zip(kinds);
    sources
        .map(|((path, blob), kind)| Source { entry: FileEntry { path, size_bytes: blob.size() as u64, kind }, blob })
        .collect()
}

/// What to do with the files of one drop.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Groups {
    /// Files that workers of their own read, and files left out beside them: one group a run or archive.
    pub loads: Vec<(Vec<usize>, Vec<usize>)>,
    /// Files that are not read, with the reason.
    pub ignored: Vec<(usize, String)>,
}

/// Plans a drop. A file that nobody knows is read when it was dropped by itself or is called like a profile, so that it
/// can say what is wrong; what a folder holds beside its profiles is no mistake.
pub fn groups(entries: &[FileEntry]) -> Groups {
    let candidates: Vec<Candidate<'_>> =
        entries.iter().map(|entry| Candidate { path: &entry.path, kind: entry.kind }).collect();
    let plan = plan::plan(&candidates);
    let mut groups = Groups::default();
    for run in plan.runs {
        let read = run.hosts.iter().map(|host| host.file).chain(run.sidecars.iter().copied()).collect();
        groups.loads.push((read, run.repeated.iter().map(|repeated| repeated.file).collect()));
    }
    groups.loads.extend(plan.archives.into_iter().map(|file| (vec![file], Vec::new())));
    for ignored in plan.ignored {
        let Some(entry) = entries.get(ignored.file) else { continue };
        if entry.kind == Kind::Unknown && (!entry.path.contains('/') || is_called_profile(&entry.path)) {
            groups.loads.push((vec![ignored.file], Vec::new()));
        } else if entry.kind != Kind::Unknown {
            groups.ignored.push((ignored.file, ignored.reason));
        }
    }
    if groups.loads.is_empty() {
        let models = entries.iter().enumerate().filter(|(_, entry)| entry.kind == Kind::ModelConfig);
        groups.ignored.extend(models.map(|(index, _)| (index, LONELY_MODEL.to_owned())));
    }
    groups
}

const LONELY_MODEL: &str = "This is a model configuration. Drop it together with the profile it belongs to.";

fn is_called_profile(path: &str) -> bool {
    [".xplane.pb", ".trace.json", ".trace.json.gz"].iter().any(|suffix| path.ends_with(suffix))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn group(files: &[(&str, Kind)]) -> Groups {
        let entry = |(path, kind): &(&str, Kind)| FileEntry { path: (*path).to_owned(), size_bytes: 9, kind: *kind };
        groups(&files.iter().map(entry).collect::<Vec<_>>())
    }

    #[test]
    fn a_profile_folder_is_one_load_and_two_files_are_two() {
        let folder = [
            ("log/plugins/profile/r/a.trace.json.gz", Kind::TraceJson),
            ("log/plugins/profile/r/a.xplane.pb", Kind::XPlane),
        ];
        assert_eq!(group(&folder).loads, [(vec![1], vec![0])]);
        let files = [("run-a.trace.json.gz", Kind::TraceJson), ("run-b.trace.json.gz", Kind::TraceJson)];
        assert_eq!(group(&files).loads, [(vec![0], vec![]), (vec![1], vec![])]);
    }

    #[test]
    fn a_stranger_is_read_only_when_it_was_meant() {
        assert_eq!(group(&[("notes.txt", Kind::Unknown)]).loads.len(), 1);
        assert_eq!(group(&[("log/notes.txt", Kind::Unknown)]), Groups::default());
        assert_eq!(group(&[("log/a.xplane.pb", Kind::Unknown)]).loads.len(), 1);
    }

    #[test]
    fn a_model_configuration_needs_a_profile() {
        assert_eq!(group(&[("config.json", Kind::ModelConfig)]).ignored.len(), 1);
        let both = group(&[("config.json", Kind::ModelConfig), ("a.pb", Kind::XPlane)]);
        assert_eq!((both.loads, both.ignored), (vec![(vec![1, 0], vec![])], vec![]));
    }
}
