//! Searches a folder for runs. The search runs in time slices, so that a server without threads can answer requests
//! between two slices. Only the start of a new or changed file is read. Folders are watched if the system supports it,
//! and otherwise walked periodically.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::fs::Metadata;
use std::io;
use std::ops::Bound;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use crossprof::input::plan::FileKind;

use super::files::{kind_of_start, shown};
use super::listing::{Listing, ScannedFile};
use super::watch::Watch;

/// Age of a change below which a file may be incomplete.
const SETTLING: Duration = Duration::from_secs(2);

/// Maximum number of files that a scan lists. A folder with more files is not a folder of profiles.
const MOST_FILES: usize = 1_000_000;

/// Pause before a folder without a watch is walked again, in addition to ten times the duration of a walk.
const WALK_PAUSE: Duration = Duration::from_millis(500);

/// Pause before a watched folder is walked again, because a watch does not report changes behind links.
const WATCHED_PAUSE: Duration = Duration::from_secs(60);

/// Minimum interval between updates of the list while folders or files are unread.
const PUBLISHING: Duration = Duration::from_millis(500);

/// A file that the scan has found.
struct SeenFile {
    size: u64,
    modified: SystemTime,
    /// `None` until the file's start has been read.
    kind: Option<FileKind>,
}

/// A folder that the scan has read.
#[derive(Default)]
struct SeenFolder {
    files: BTreeMap<OsString, SeenFile>,
    folders: BTreeSet<OsString>,
}

struct Unread {
    folder: PathBuf,
    /// True if the known subfolders are read too.
    is_walk: bool,
}

/// How changes in folders are found.
enum Watching {
    On(Watch),
    Off,
}

/// The scan of a folder or a file.
pub(super) struct Scan {
    /// The folder or file, as a canonical path.
    root: PathBuf,
    /// The folder to which paths are relative.
    top: PathBuf,
    /// The name of the file, if `root` is a file.
    only: Option<OsString>,
    folders: BTreeMap<PathBuf, SeenFolder>,
    files: usize,
    unread: Vec<Unread>,
    /// Files whose start must be read.
    unknown: Vec<PathBuf>,
    /// Folders to read again soon, because a file in them was changed recently or could not be opened.
    again: BTreeSet<PathBuf>,
    watching: Watching,
    /// Reason why folders are not watched. `None` after the reason was taken.
    note: Option<String>,
    is_cut: bool,
    /// True until the first walk is complete and its files no longer change.
    is_partial: bool,
    /// True if the list has changed since it was last made.
    has_changed: bool,
    walk_started: Instant,
    walk_ended: Instant,
    /// Time at which the list was last made, and how long that took.
    published: (Instant, Duration),
}

impl Scan {
    /// Creates the scan of a folder or a file. Does not read any folder yet.
    ///
    /// # Errors
    ///
    /// Fails if the path cannot be read, or is neither a folder nor a regular file.
    pub(super) fn new(path: &Path) -> io::Result<Scan> {
        let root = path.canonicalize()?;
        let metadata = std::fs::metadata(&root)?;
        if !metadata.is_dir() && !metadata.is_file() {
            return Err(io::Error::other("it is neither a folder nor a regular file"));
        }
        let only = if metadata.is_file() { root.file_name().map(OsStr::to_owned) } else { None };
        let top = if only.is_some() { root.parent().unwrap_or(&root).to_owned() } else { root.clone() };
        let (watching, note) = match &only {
            // A single file needs no watch, because checking it takes almost no time.
            Some(_) => (Watching::Off, None),
            None => match Watch::new() {
                Ok(watch) => (Watching::On(watch), None),
                Err(reason) => (Watching::Off, Some(unwatched(&root, &reason))),
            },
        };
        let now = Instant::now();
        let first = Unread { folder: top.clone(), is_walk: true };
        Ok(Scan {
            root,
            top,
            only,
            folders: BTreeMap::new(),
            files: 0,
            unread: vec![first],
            unknown: Vec::new(),
            again: BTreeSet::new(),
            watching,
            note,
            is_cut: false,
            is_partial: true,
            has_changed: true,
            walk_started: now,
            walk_ended: now,
            published: (now, Duration::ZERO),
        })
    }

    /// Returns the folder or file, as a canonical path.
    pub(super) fn root(&self) -> &Path {
        &self.root
    }

    /// Returns the reason why folders are not watched, but only once.
    pub(super) fn take_note(&mut self) -> Option<String> {
        self.note.take()
    }

    /// Records which folders must be read again. If `is_asked` is true, a user is viewing the list, so a folder without
    /// a watch is walked.
    pub(super) fn begin(&mut self, is_asked: bool) {
        if let Watching::On(watch) = &mut self.watching {
            let changes = watch.changes();
            let read = |folder| Unread { folder, is_walk: false };
            self.unread.extend(changes.folders.into_iter().map(read));
            if changes.is_incomplete {
                self.walk();
            }
        }
        let again = std::mem::take(&mut self.again).into_iter();
        self.unread.extend(again.map(|folder| Unread { folder, is_walk: false }));
        let pause = match self.watching {
            Watching::On(_) => WATCHED_PAUSE,
            Watching::Off => WALK_PAUSE,
        };
        let pause = pause + 10 * self.walk_ended.duration_since(self.walk_started);
        if is_asked && self.unread.is_empty() && self.walk_ended.elapsed() > pause {
            self.walk();
        }
    }

    fn walk(&mut self) {
        self.walk_started = Instant::now();
        self.is_cut = false;
        self.unread.push(Unread { folder: self.top.clone(), is_walk: true });
    }

    /// Reads folders and files until `most` time has passed, but at least one folder. Returns true if no folder or file
    /// is left to read.
    pub(super) fn step(&mut self, most: Duration) -> bool {
        let start = Instant::now();
        loop {
            if let Some(file) = self.unknown.pop() {
                self.look(&file);
            } else if let Some(unread) = self.unread.pop() {
                self.read(&unread);
            } else {
                if self.walk_ended <= self.walk_started {
                    self.walk_ended = Instant::now();
                }
                // A capture that was saved just before the start is listed after it settles, so the first list is incomplete.
                let is_partial =
                    self.is_partial && !self.again.is_empty() && self.walk_started.elapsed() <= 2 * SETTLING;
                self.has_changed |= self.is_partial != is_partial;
                self.is_partial = is_partial;
                return true;
            }
            if start.elapsed() > most {
                return false;
            }
        }
    }

    /// Returns the list if it differs from `earlier`. While folders or files are unread, the list is updated only
    /// periodically.
    pub(super) fn list(&mut self, earlier: &Listing) -> Option<Listing> {
        let (at, took) = self.published;
        let is_busy = !self.unread.is_empty() || !self.unknown.is_empty();
        if !self.has_changed || (is_busy && at.elapsed() < PUBLISHING + 4 * took) {
            return None;
        }
        let start = Instant::now();
        let listing = Listing::new(self.scanned(), self.is_cut, self.is_partial, earlier);
        self.has_changed = false;
        self.published = (Instant::now(), start.elapsed());
        (listing.version != earlier.version).then_some(listing)
    }

    fn scanned(&self) -> Vec<ScannedFile> {
        let mut scanned = Vec::new();
        for (folder, seen) in &self.folders {
            let below = shown(folder.strip_prefix(&self.top).unwrap_or(folder));
            for (name, file) in &seen.files {
                let Some(kind) = file.kind.filter(|&kind| kind != FileKind::Unknown) else { continue };
                let place = folder.join(name);
                let name = shown(Path::new(name));
                let name = if below.is_empty() { name } else { format!("{below}/{name}") };
                scanned.push(ScannedFile { name, place, kind, size: file.size, modified: file.modified });
            }
        }
        scanned
    }

    /// Reads the start of a file.
    fn look(&mut self, path: &Path) {
        let Some((folder, name)) = path.parent().zip(path.file_name()) else { return };
        let kind = match kind_of_start(path) {
            // The file is tried again when a file descriptor is free.
            Err(error) if is_lack_of_descriptors(&error) => {
                self.again.insert(folder.to_owned());
                return;
            }
            kind => kind.unwrap_or(FileKind::Unknown),
        };
        if let Some(file) = self.folders.get_mut(folder).and_then(|folder| folder.files.get_mut(name)) {
            file.kind = Some(kind);
            self.has_changed |= kind != FileKind::Unknown;
        }
    }

    /// Reads a folder, and records which of its files and subfolders must be read.
    fn read(&mut self, Unread { folder, is_walk }: &Unread) {
        self.watch(folder);
        let found = match self.entries(folder) {
            Ok(found) => found,
            Err(error) if is_lack_of_descriptors(&error) => {
                // The folder is tried again when a file descriptor is free.
                self.again.insert(folder.clone());
                return;
            }
            // A folder that is unreadable or gone shows as empty.
            Err(_) => SeenFolder::default(),
        };
        let before = self.folders.remove(folder).unwrap_or_default();
        for gone in before.folders.difference(&found.folders) {
            self.forget(&folder.join(gone));
        }
        let is_new = |name: &&OsString| *is_walk || !before.folders.contains(*name);
        let folders = found.folders.iter().filter(is_new);
        self.unread.extend(folders.map(|name| Unread { folder: folder.join(name), is_walk: *is_walk }));
        self.compare(folder, &before, found);
    }

    /// Keeps the known kinds of a folder's files, and records which files must be read.
    fn compare(&mut self, folder: &Path, before: &SeenFolder, mut found: SeenFolder) {
        let now = SystemTime::now();
        let is_listed = |file: &SeenFile| file.kind.is_some_and(|kind| kind != FileKind::Unknown);
        for (name, file) in &mut found.files {
            let same = before.files.get(name).filter(|it| (it.size, it.modified) == (file.size, file.modified));
            file.kind = same.and_then(|file| file.kind);
            if file.kind.is_some() {
                continue;
            }
            // The clock of a file server may be ahead of this machine's clock.
            let is_settled = now.duration_since(file.modified).map_or(true, |age| age > SETTLING);
            if is_settled {
                self.unknown.push(folder.join(name));
            } else {
                self.again.insert(folder.to_owned());
            }
        }
        // Files that were listed before but no longer are.
        let is_kept = |(name, _): &(&OsString, &SeenFile)| found.files.get(*name).is_some_and(is_listed);
        self.has_changed |= !before.files.iter().filter(|(_, file)| is_listed(file)).all(|file| is_kept(&file));
        self.files = (self.files + found.files.len()).saturating_sub(before.files.len());
        self.folders.insert(folder.to_owned(), found);
        if self.files > MOST_FILES {
            self.is_cut = true;
            self.has_changed = true;
            self.unread.clear();
        }
    }

    /// Removes a deleted folder, and all files and folders in it, from the scan.
    fn forget(&mut self, folder: &Path) {
        let below = (Bound::Included(folder), Bound::Unbounded);
        let gone: Vec<PathBuf> = self
            .folders
            .range::<Path, _>(below)
            .map(|(path, _)| path)
            .take_while(|path| path.starts_with(folder))
            .cloned()
            .collect();
        for folder in gone {
            let seen = self.folders.remove(&folder).unwrap_or_default();
            self.files = self.files.saturating_sub(seen.files.len());
            self.has_changed = true;
        }
    }

    /// Watches a folder. If watching the folder fails, stops watching all folders.
    fn watch(&mut self, folder: &Path) {
        if let Watching::On(watch) = &mut self.watching
            && let Err(reason) = watch.add(folder)
        {
            self.watching = Watching::Off;
            self.note = Some(unwatched(&self.root, &reason));
        }
    }

    /// Returns the files and folders in a folder, except hidden files and folders. Does not follow links to folders, or
    /// links that lead out of the served folder.
    fn entries(&self, folder: &Path) -> io::Result<SeenFolder> {
        let mut found = SeenFolder::default();
        if let Some(only) = &self.only {
            let metadata = std::fs::metadata(&self.root).ok().filter(Metadata::is_file);
            found.files.extend(metadata.map(|metadata| (only.clone(), seen(&metadata))));
            return Ok(found);
        }
        for entry in std::fs::read_dir(folder)?.flatten() {
            let name = entry.file_name();
            if name.as_encoded_bytes().starts_with(b".") {
                continue;
            }
            match entry.file_type() {
                Ok(kind) if kind.is_dir() => {
                    found.folders.insert(name);
                }
                Ok(kind) if kind.is_file() => {
                    found.files.extend(entry.metadata().ok().map(|metadata| (name, seen(&metadata))));
                }
                Ok(kind) if kind.is_symlink() => {
                    let target = entry.path().canonicalize().ok().filter(|target| target.starts_with(&self.root));
                    let metadata = target.and_then(|target| std::fs::metadata(target).ok()).filter(Metadata::is_file);
                    found.files.extend(metadata.map(|metadata| (name, seen(&metadata))));
                }
                // A pipe, a socket or a device.
                _ => {}
            }
        }
        Ok(found)
    }
}

fn seen(metadata: &Metadata) -> SeenFile {
    SeenFile { size: metadata.len(), modified: metadata.modified().unwrap_or(UNIX_EPOCH), kind: None }
}

fn unwatched(root: &Path, reason: &str) -> String {
    format!(
        "{}: crossprof searches the whole folder for new runs at intervals, because it cannot watch for changes: {reason}.",
        root.display()
    )
}

/// Returns true if the process or the system has no file descriptors left.
fn is_lack_of_descriptors(error: &io::Error) -> bool {
    #[cfg(unix)]
    {
        use rustix::io::Errno;
        Errno::from_io_error(error).is_some_and(|error| matches!(error, Errno::MFILE | Errno::NFILE))
    }
    #[cfg(not(unix))]
    {
        let _ = error;
        false
    }
}
