//! The runs below a folder, newest first. Of a file that is new or has changed the start is read, of any other nothing.

use std::collections::BTreeMap;
use std::fs::Metadata;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crossprof::input::plan::{self, Candidate, FileKind};
use serde::Serialize;

use crate::cli::input::kind_of_start;

/// A file that was written to since may not be whole yet.
const SETTLING: Duration = Duration::from_secs(2);

/// Files that are looked at. A folder with more is no folder of profiles, and reading their starts would take minutes.
const MOST_FILES: usize = 100_000;

/// A file of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RunFile {
    /// Path below the folder, `/` between folders.
    pub path: String,
    /// Size in bytes.
    pub size_bytes: u64,
}

/// A run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RunEntry {
    /// Stays when other runs appear: the path of its first file.
    pub id: String,
    /// The name of its folder or file.
    pub name: String,
    /// The folder of its files, below the folder that is served; empty at its top.
    pub folder: String,
    /// When the newest of its files was last written to, in milliseconds since 1970.
    pub modified_ms: u64,
    /// Bytes of the run's files.
    pub size_bytes: u64,
    /// Files that are read of the run.
    pub files: Vec<RunFile>,
}

/// What is known of a file that was looked at.
#[derive(Clone, PartialEq, Eq)]
struct SeenFile {
    size: u64,
    modified: SystemTime,
    kind: FileKind,
}

/// The runs below a folder, or of one file.
pub struct Catalogue {
    /// The folder or file, resolved.
    root: PathBuf,
    seen: BTreeMap<PathBuf, SeenFile>,
    runs: Vec<RunEntry>,
    /// Counts changes of `runs`.
    version: u64,
    /// There are more files than are looked at.
    is_cut: bool,
}

impl Catalogue {
    /// Of a folder or a file.
    ///
    /// # Errors
    ///
    /// It cannot be read.
    pub fn new(path: &Path) -> std::io::Result<Catalogue> {
        let root = path.canonicalize()?;
        Ok(Catalogue { root, seen: BTreeMap::new(), runs: Vec::new(), version: 0, is_cut: false })
    }

    /// The runs as they were found last, newest first.
    pub fn runs(&self) -> &[RunEntry] {
        &self.runs
    }

    /// A number that changes with the runs.
    pub fn version(&self) -> u64 {
        self.version
    }

    /// There are more files than are looked at.
    pub fn is_cut(&self) -> bool {
        self.is_cut
    }

    /// The name of the folder or file.
    pub fn name(&self) -> String {
        self.root.file_name().unwrap_or(self.root.as_os_str()).to_string_lossy().into_owned()
    }

    /// Where a file of a run lies, by its path below the folder. `None` for any other file, and where a link now leads elsewhere.
    pub fn place(&self, path: &str) -> Option<PathBuf> {
        self.runs.iter().flat_map(|run| &run.files).find(|file| file.path == path)?;
        let place = self.top().join(path).canonicalize().ok()?;
        place.starts_with(&self.root).then_some(place)
    }

    /// Looks again.
    pub fn refresh(&mut self, now: SystemTime) {
        let mut found = Vec::new();
        if self.root.is_file() {
            found.extend(std::fs::metadata(&self.root).ok().map(|metadata| (self.root.clone(), metadata)));
        } else {
            walk(&self.root, &self.root, &mut found);
        }
        self.is_cut = found.len() > MOST_FILES;
        found.truncate(MOST_FILES);
        let before = std::mem::take(&mut self.seen);
        for (path, metadata) in found {
            let (size, modified) = (metadata.len(), metadata.modified().unwrap_or(UNIX_EPOCH));
            // A clock that runs ahead of this one, that of a file server, says nothing about how old the file is.
            let is_settled = now.duration_since(modified).map_or(true, |age| age > SETTLING);
            let known = before.get(&path).filter(|seen| (seen.size, seen.modified) == (size, modified));
            let kind = match known {
                Some(seen) => seen.kind,
                None if is_settled => kind_of_start(&path, size),
                // Its run waits for it.
                None => continue,
            };
            self.seen.insert(path, SeenFile { size, modified, kind });
        }
        let runs = self.planned();
        if runs != self.runs {
            self.runs = runs;
            self.version += 1;
        }
    }

    /// The folder that paths are below.
    fn top(&self) -> &Path {
        if self.root.is_file() { self.root.parent().unwrap_or(&self.root) } else { &self.root }
    }

    fn planned(&self) -> Vec<RunEntry> {
        let below = |path: &Path| path.strip_prefix(self.top()).unwrap_or(path).to_string_lossy().replace('\\', "/");
        let files: Vec<(String, &SeenFile)> = self.seen.iter().map(|(path, seen)| (below(path), seen)).collect();
        let candidates: Vec<Candidate<'_>> =
            files.iter().map(|(path, seen)| Candidate { path, kind: seen.kind }).collect();
        let plan = plan::plan(&candidates);
        let entry = |name: String, read: Vec<usize>| {
            let files: Vec<&(String, &SeenFile)> = read.iter().filter_map(|&file| files.get(file)).collect();
            let (id, _) = files.first()?;
            let modified = files.iter().map(|(_, seen)| seen.modified).max()?;
            Some(RunEntry {
                id: id.clone(),
                name,
                folder: id.rsplit_once('/').map_or("", |(folder, _)| folder).to_owned(),
                modified_ms: milliseconds(modified),
                size_bytes: files.iter().map(|(_, seen)| seen.size).sum(),
                files: files.iter().map(|(path, seen)| RunFile { path: path.clone(), size_bytes: seen.size }).collect(),
            })
        };
        let of_run = |run: plan::PlannedRun| {
            // The page shows runs with events.
            (!run.hosts.is_empty()).then(|| {
                let hosts = run.hosts.iter().map(|host| host.file);
                entry(run.name.clone(), hosts.chain(run.sidecars.iter().copied()).collect())
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
}

/// Adds the files below a folder, without hidden ones and without what links outside of `root` lead to. Links to folders are not
/// followed.
fn walk(folder: &Path, root: &Path, found: &mut Vec<(PathBuf, Metadata)>) {
    // A folder that cannot be read, or is gone by now, has nothing to show.
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    for entry in entries.flatten().filter(|entry| !entry.file_name().as_encoded_bytes().starts_with(b".")) {
        if found.len() > MOST_FILES {
            return;
        }
        let path = entry.path();
        match entry.file_type() {
            Ok(kind) if kind.is_dir() => walk(&path, root, found),
            Ok(kind) if kind.is_file() => found.extend(entry.metadata().ok().map(|metadata| (path, metadata))),
            Ok(kind) if kind.is_symlink() && path.canonicalize().is_ok_and(|target| target.starts_with(root)) => {
                let metadata = std::fs::metadata(&path).ok().filter(Metadata::is_file);
                found.extend(metadata.map(|metadata| (path, metadata)));
            }
            _ => {}
        }
    }
}

fn milliseconds(time: SystemTime) -> u64 {
    time.duration_since(UNIX_EPOCH).map_or(0, |since| u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
}
