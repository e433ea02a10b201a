//! Where profiles to test with are: the project's own, and real ones that need not be there.

use std::path::{Path, PathBuf};

/// The repository's root.
pub fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// The folder of real profiles: `$CROSSPROF_TRACES`, or beside the repository. `None`, with a visible notice, where it
/// is absent.
pub fn traces() -> Option<PathBuf> {
    let folder = std::env::var_os("CROSSPROF_TRACES").map_or_else(|| root().join("../shared/traces"), PathBuf::from);
    if folder.is_dir() {
        return Some(folder);
    }
    eprintln!("skipped: no real profiles at {}; set CROSSPROF_TRACES to their folder", folder.display());
    None
}

/// All files below `folder` whose names end with one of `suffixes`, sorted.
pub fn files(folder: &Path, suffixes: &[&str]) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let Ok(entries) = std::fs::read_dir(folder) else { return found };
    for entry in entries.flatten() {
        let path = entry.path();
        if path.is_dir() {
            found.extend(files(&path, suffixes));
        } else if suffixes.iter().any(|suffix| path.to_string_lossy().ends_with(suffix)) {
            found.push(path);
        }
    }
    found.sort();
    found
}

/// The project's own profiles: fixtures of the tests and examples of the page.
pub fn own() -> Vec<PathBuf> {
    let suffixes = [".xplane.pb", ".trace.json.gz", ".trace.json"];
    let mut found = files(&root().join("tests/data"), &suffixes);
    found.extend(files(&root().join("www/assets/examples"), &suffixes));
    assert!(found.len() >= 4, "the fixtures are missing");
    found
}
