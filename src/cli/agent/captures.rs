//! Captures that the tools have opened.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use crate::cli::input::walk;
use crate::cli::open::{Known, Opened};
use crate::cli::progress::Progress;

/// Maximum number of open captures. More open captures would fill the memory.
const KEPT: usize = 3;

/// Captures by path, most recently used last.
pub(crate) struct Captures {
    /// Folders that all files must be below. If `None`, files may be anywhere.
    folders: Option<Vec<PathBuf>>,
    opened: Vec<Kept>,
}

struct Kept {
    path: PathBuf,
    /// Part of the capture that is measured. If `None`, the counted steps are measured.
    window: Option<String>,
    state: State,
    opened: Opened,
}

/// Number, total size and last modification time of a capture's files. If they change, the capture is read again.
#[derive(Clone, Debug, PartialEq, Eq)]
struct State(usize, u64, Option<SystemTime>);

impl Captures {
    /// Creates a registry without open captures. If `folders` is given, only files below these folders are read.
    pub(crate) fn new(folders: Option<Vec<PathBuf>>) -> Captures {
        let resolved = |folder: PathBuf| folder.canonicalize().unwrap_or(folder);
        Captures { folders: folders.map(|all| all.into_iter().map(resolved).collect()), opened: Vec::new() }
    }

    /// Returns the folders that all files must be below.
    pub(crate) fn folders(&self) -> Option<&[PathBuf]> {
        self.folders.as_deref()
    }

    /// Returns the capture at a path. Reads the capture if it is not open or has changed.
    ///
    /// # Errors
    ///
    /// Fails with a message if the path is outside the folders, or if it contains no run.
    pub(crate) fn open(&mut self, path: &str) -> Result<&mut Opened, String> {
        self.open_window(path, None)
    }

    /// Returns the capture at a path, measured in a window: `main`, `all`, `active`, `steps:FIRST-LAST` or `FROM-TO`.
    ///
    /// # Errors
    ///
    /// Fails as [`Captures::open`] does, and if the window is invalid.
    pub(crate) fn open_window(&mut self, path: &str, window: Option<&str>) -> Result<&mut Opened, String> {
        let path = self.allowed(path)?;
        let (mut files, mut problems) = (Vec::new(), Vec::new());
        walk(&path, &mut files, &mut problems);
        for file in &files {
            self.inside(file)?;
        }
        let state = State::of(&files);
        match self.opened.iter().position(|kept| kept.path == path && kept.window.as_deref() == window) {
            Some(at) if self.opened.get(at).is_some_and(|kept| kept.state == state) => {
                let kept = self.opened.remove(at);
                self.opened.push(kept);
            }
            at => {
                at.map(|at| self.opened.remove(at));
                if self.opened.len() >= KEPT {
                    self.opened.remove(0);
                }
                // Files that describe the model may be in a folder above the capture, outside the folders.
                let searches = self.folders.is_none();
                let mut progress = Progress::watched(Arc::default());
                let window = window.map(str::to_owned);
                let known = Known { window: window.clone(), ..Known::default() };
                let opened =
                    Opened::read_with(std::slice::from_ref(&path), Vec::new(), &known, searches, &mut progress)?;
                self.opened.push(Kept { path, window, state, opened });
            }
        }
        self.opened.last_mut().map(|kept| &mut kept.opened).ok_or_else(|| "The capture cannot be opened.".to_owned())
    }

    /// Returns the real path of a capture if the capture may be read. Relative paths are also looked up below the
    /// folders.
    fn allowed(&self, path: &str) -> Result<PathBuf, String> {
        let given = Path::new(path);
        let below = self.folders.iter().flatten().map(|folder| folder.join(given));
        let found = std::iter::once(given.to_owned()).chain(below).find(|path| path.exists());
        let found = found.ok_or_else(|| format!("{path}: there is no such file or folder."))?;
        self.inside(&found)
    }

    /// Returns the real path of a file.
    ///
    /// # Errors
    ///
    /// Fails with a message if the file is outside the folders, for example behind a link.
    pub(crate) fn inside(&self, path: &Path) -> Result<PathBuf, String> {
        let real = path.canonicalize().map_err(|error| format!("{}: cannot be read: {error}", path.display()))?;
        match &self.folders {
            Some(folders) if !folders.iter().any(|folder| real.starts_with(folder)) => {
                Err(format!("{}: this path leads out of the folders that may be read.", path.display()))
            }
            _ => Ok(real),
        }
    }
}

impl State {
    fn of(files: &[PathBuf]) -> State {
        let found: Vec<_> = files.iter().filter_map(|file| std::fs::metadata(file).ok()).collect();
        let bytes = found.iter().map(std::fs::Metadata::len).fold(0, u64::saturating_add);
        State(files.len(), bytes, found.iter().filter_map(|it| it.modified().ok()).max())
    }
}

/// Returns the message for a missing run.
pub(super) fn no_run(run: usize, runs: usize) -> String {
    format!("There is no run {run}: the capture contains {runs}, counted from 0.")
}
