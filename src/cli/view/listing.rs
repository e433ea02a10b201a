//! An immutable list of runs, built from the files of a scan.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use crossprof::input::plan::{self, Candidate, FileKind};
use serde::Serialize;

/// A file of a scan.
pub(super) struct ScannedFile {
    /// Path below the served folder, with `/` between folders.
    pub name: String,
    /// Path on disk.
    pub place: PathBuf,
    /// Kind of the file's content.
    pub kind: FileKind,
    /// Size in bytes.
    pub size: u64,
    /// Time of the last change.
    pub modified: SystemTime,
}

/// A file of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(super) struct RunFile {
    /// Path below the served folder, with `/` between folders.
    pub path: String,
    /// Size in bytes.
    pub size_bytes: u64,
}

/// A run in the list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(super) struct RunEntry {
    /// Path of the run's first file. Stays the same when other runs appear.
    pub id: String,
    /// Name of the run's folder or file.
    pub name: String,
    /// Folder of the run's files, relative to the served folder. Empty at the top.
    pub folder: String,
    /// Time of the last change to any of its files, in milliseconds since 1970.
    pub modified_ms: u64,
    /// Size of the run's files in bytes.
    pub size_bytes: u64,
    /// Version of the list in which the run first appeared.
    pub since: u64,
    /// The run's files that the page reads.
    pub files: Vec<RunFile>,
}

/// One page of the list.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub(super) struct Page<'a> {
    /// Number of runs that match the filter.
    pub matching: usize,
    /// Index of this page's first run among the matching runs.
    pub from: usize,
    /// The runs of this page, newest first.
    pub runs: Vec<&'a RunEntry>,
}

/// All runs at one point in time.
#[derive(Default)]
pub(super) struct Listing {
    /// Increases with every change of the list.
    pub version: u64,
    /// True if the folder has more files than the scan reads.
    pub is_cut: bool,
    /// True if the walk is not complete, so there may be more runs.
    pub is_partial: bool,
    /// The runs, newest first.
    pub runs: Vec<RunEntry>,
    by_id: HashMap<String, usize>,
    places: HashMap<String, PathBuf>,
}

impl Listing {
    /// Returns the list before any folder was read.
    pub(super) fn starting() -> Listing {
        Listing { is_partial: true, ..Listing::default() }
    }

    /// Builds the list of these files, which replaces `earlier`.
    pub(super) fn new(files: Vec<ScannedFile>, is_cut: bool, is_partial: bool, earlier: &Listing) -> Listing {
        let mut runs = planned(&files);
        let version = earlier.version + 1;
        for run in &mut runs {
            run.since = earlier.run(&run.id).map_or(version, |run| run.since);
        }
        let is_same = (earlier.is_cut, earlier.is_partial) == (is_cut, is_partial) && earlier.runs == runs;
        let by_id = runs.iter().enumerate().map(|(index, run)| (run.id.clone(), index)).collect();
        let mut all: HashMap<String, PathBuf> = files.into_iter().map(|file| (file.name, file.place)).collect();
        let read = runs.iter().flat_map(|run| &run.files);
        let places = read.filter_map(|file| all.remove_entry(&file.path)).collect();
        let version = if is_same { earlier.version } else { version };
        Listing { version, is_cut, is_partial, runs, by_id, places }
    }

    /// Returns the run with this id.
    pub(super) fn run(&self, id: &str) -> Option<&RunEntry> {
        self.by_id.get(id).and_then(|&run| self.runs.get(run))
    }

    /// Returns the path on disk for a run's file, given its path below the served folder. `None` for any other file.
    pub(super) fn place(&self, path: &str) -> Option<&Path> {
        self.places.get(path).map(PathBuf::as_path)
    }

    /// Returns up to `most` runs whose id contains all words (ignoring case), starting at index `from`.
    pub(super) fn page(&self, words: &str, from: usize, most: usize) -> Page<'_> {
        let words: Vec<String> = words.split_whitespace().map(str::to_lowercase).collect();
        let is_match = |run: &&RunEntry| {
            words.is_empty() || {
                let id = run.id.to_lowercase();
                words.iter().all(|word| id.contains(word))
            }
        };
        if words.is_empty() {
            let runs = self.runs.iter().skip(from).take(most).collect();
            return Page { matching: self.runs.len(), from, runs };
        }
        let (mut matching, mut runs) = (0, Vec::new());
        for run in self.runs.iter().filter(is_match) {
            if matching >= from && runs.len() < most {
                runs.push(run);
            }
            matching += 1;
        }
        Page { matching, from, runs }
    }
}

fn planned(files: &[ScannedFile]) -> Vec<RunEntry> {
    let candidates: Vec<Candidate<'_>> =
        files.iter().map(|file| Candidate { path: &file.name, kind: file.kind }).collect();
    let plan = plan::plan(&candidates);
    let entry = |name: String, read: Vec<usize>| {
        let files: Vec<&ScannedFile> = read.iter().filter_map(|&file| files.get(file)).collect();
        let id = &files.first()?.name;
        let modified = files.iter().map(|file| file.modified).max()?;
        Some(RunEntry {
            id: id.clone(),
            name,
            folder: id.rsplit_once('/').map_or("", |(folder, _)| folder).to_owned(),
            modified_ms: milliseconds(modified),
            size_bytes: files.iter().fold(0, |sum: u64, file| sum.saturating_add(file.size)),
            since: 0,
            files: files.iter().map(|file| RunFile { path: file.name.clone(), size_bytes: file.size }).collect(),
        })
    };
    let of_run = |run: plan::PlannedRun| {
        // The page shows only runs with events.
        (!run.hosts.is_empty()).then(|| {
            let hosts = run.hosts.iter().map(|host| host.file);
            let others = run.memory.iter().chain(&run.sidecars).copied();
            entry(run.name.clone(), hosts.chain(others).collect())
        })?
    };
    let of_archive = |file: usize| {
        let name = candidates.get(file)?.path.rsplit('/').next()?;
        entry(name.to_owned(), vec![file])
    };
    let mut runs: Vec<RunEntry> = plan.runs.into_iter().filter_map(of_run).collect();
    runs.extend(plan.archives.into_iter().filter_map(of_archive));
    runs.sort_by(|a, b| b.modified_ms.cmp(&a.modified_ms).then_with(|| b.id.cmp(&a.id)));
    runs
}

fn milliseconds(time: SystemTime) -> u64 {
    time.duration_since(UNIX_EPOCH).map_or(0, |since| u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn listing(names: &[&str], earlier: &Listing) -> Listing {
        let file = |(age, name): (usize, &&str)| ScannedFile {
            name: (*name).to_owned(),
            place: PathBuf::from(name),
            kind: FileKind::XPlane,
            size: u64::MAX,
            modified: UNIX_EPOCH + Duration::from_secs(100 - age as u64),
        };
        Listing::new(names.iter().enumerate().map(file).collect(), false, false, earlier)
    }

    fn ids<'a>(page: &Page<'a>) -> Vec<&'a str> {
        page.runs.iter().map(|run| run.id.as_str()).collect()
    }

    #[test]
    fn pages_follow_each_other_with_a_filter_and_without() {
        let list = listing(&["Ab/1.xplane.pb", "ab/2.xplane.pb", "c/3.xplane.pb"], &Listing::default());
        assert_eq!(ids(&list.page("", 1, 1)), ["ab/2.xplane.pb"]);
        assert_eq!(ids(&list.page("", 7, 1)), [""; 0]);
        let page = list.page(" AB xplane", 1, 5);
        assert_eq!((page.matching, ids(&page)), (2, vec!["ab/2.xplane.pb"]));
    }

    #[test]
    fn a_run_keeps_the_version_in_which_it_appeared() {
        let first = listing(&["a.xplane.pb"], &Listing::default());
        let same = listing(&["a.xplane.pb"], &first);
        assert_eq!((first.version, same.version), (1, 1));
        let second = listing(&["a.xplane.pb", "b.xplane.pb"], &same);
        let since = |id: &str| second.run(id).map(|run| run.since);
        assert_eq!((second.version, since("a.xplane.pb"), since("b.xplane.pb")), (2, Some(1), Some(2)));
    }
}
