//! An immutable list of runs, which is built from the files that a scan has found.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use crossprof::input::plan::{self, Candidate, FileKind};
use serde::Serialize;

/// A file that a scan has found.
pub(super) struct ScannedFile {
    /// Path below the served folder, with `/` between folders.
    pub name: String,
    /// Path on disk.
    pub place: PathBuf,
    /// Kind of the file's content.
    pub kind: FileKind,
    /// Size in bytes.
    pub size: u64,
    pub modified: SystemTime,
}

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
    /// Path of the run's first file. The id stays the same when other runs appear.
    pub id: String,
    /// Name of the run's folder or file.
    pub name: String,
    /// Folder of the run's files, relative to the served folder. Empty if the files are in the served folder itself.
    pub folder: String,
    /// Time of the last change to any of the run's files, in milliseconds since 1970.
    pub modified_ms: u64,
    /// Total size of the run's files in bytes.
    pub size_bytes: u64,
    /// Version of the list in which the run first appeared.
    pub since: u64,
    /// The run's files that the page reads.
    pub files: Vec<RunFile>,
}

/// A part of the list that one response contains.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub(super) struct Page<'a> {
    /// Number of runs that match the filter.
    pub matching: usize,
    /// Index of the first run in `runs` among the matching runs.
    pub from: usize,
    /// The matching runs in this part, newest first.
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
    /// Returns an empty list, for the time before any folder has been read.
    pub(super) fn starting() -> Listing {
        Listing { is_partial: true, ..Listing::default() }
    }

    /// Builds the list from the files of a scan. The new list replaces `earlier`.
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

    /// Returns the path on disk of a run's file. `path` is the path below the served folder. Returns `None` if no run
    /// contains the file.
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
