//! Finds model configurations that the user did not name: `crossprof.json` and `config.json` next to a profile or in the
//! folders above it. Training programs write such files next to their checkpoints.
//!
//! ```text
//! checkpoints/gemma/config.json                                                              <- found
//! checkpoints/gemma/profiler_traces/plugins/profile/2026_01_05_10_00_00/host.trace.json.gz
//! ```
//!
//! The search for such files begins in the profile's own folder. The search ends at the first folder with a
//! configuration, at the root folder of a checkpoint or source tree, or after [`LEVELS`] folders. A file with one of
//! these names is skipped if it does not describe a model.

use std::path::{Path, PathBuf};

/// Names of the files that may contain a model configuration. If both exist, the last name takes precedence.
pub(super) const NAMES: [&str; 2] = ["config.json", "crossprof.json"];

/// Number of folders to search: six from `plugins/profile/<run>` up to the folder of the checkpoint, and one more if there
/// is a log folder for each step.
const LEVELS: usize = 7;

/// Returns the folders to search for `profile`, nearest folder first.
pub(super) fn folders_above(profile: &Path) -> Vec<PathBuf> {
    let mut folders = Vec::new();
    let mut folder = profile.parent().map(Path::to_owned);
    while let Some(this) = folder.filter(|_| folders.len() < LEVELS) {
        let is_last = is_root(&this);
        folder = above(&this);
        folders.push(this);
        if is_last {
            break;
        }
    }
    folders
}

/// Returns true if the search need not go above this folder, because no folder above it belongs to the run.
fn is_root(folder: &Path) -> bool {
    folder.file_name().is_some_and(|name| name == "checkpoints") || folder.join(".git").exists()
}

/// Returns the parent folder. The path stays absolute or relative. `..` is the parent of the current folder. Returns
/// `None` at the root of the file system.
fn above(folder: &Path) -> Option<PathBuf> {
    let ends_up = folder.as_os_str().is_empty() || folder.ends_with("..") || folder == Path::new(".");
    if ends_up {
        let up = if folder == Path::new(".") { PathBuf::from("..") } else { folder.join("..") };
        // The parent of the root is the root itself.
        let same = std::fs::canonicalize(&up).ok()?;
        let here = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
        return std::fs::canonicalize(here).ok().filter(|here| *here != same).map(|_| up);
    }
    folder.parent().map(Path::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_are_looked_into_up_to_the_checkpoints() {
        let texts = |path: &str| -> Vec<String> {
            folders_above(Path::new(path)).iter().map(|it| it.to_string_lossy().replace('\\', "/")).collect()
        };
        assert_eq!(
            texts("/x/checkpoints/a/plugins/t.json"),
            ["/x/checkpoints/a/plugins", "/x/checkpoints/a", "/x/checkpoints"]
        );
        assert_eq!(texts("/a/t.json"), ["/a", "/"]);
        assert_eq!(texts("/1/2/3/4/5/6/7/8/9/t.json").len(), LEVELS);
        assert_eq!(above(Path::new("a")), Some(PathBuf::new()));
        assert_eq!(above(Path::new("/")), None);
        // Relative paths continue above the current folder, unless that folder is the root.
        assert!(above(Path::new("")).is_none_or(|up| up == Path::new("..")));
    }
}
