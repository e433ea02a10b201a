//! Paths of profiles for tests: the project's own profiles, and optional real profiles.

use std::path::{Path, PathBuf};

/// Returns the repository's root.
pub(crate) fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// Returns the folder of real profiles: `$CROSSPROF_TRACES`, or next to the repository. Tests that use it are marked
/// `#[ignore = "reads real profiles"]`. Such tests run only if they are requested, and then fail if the profiles are
/// missing.
pub(crate) fn traces() -> PathBuf {
    let is_asked_for = std::env::args().any(|word| word == "--ignored" || word == "--include-ignored");
    assert!(is_asked_for, "a test of real profiles needs #[ignore = \"reads real profiles\"]");
    let folder = std::env::var_os("CROSSPROF_TRACES").map_or_else(|| root().join("../shared/traces"), PathBuf::from);
    assert!(folder.is_dir(), "no real profiles at {}: set CROSSPROF_TRACES to their folder", folder.display());
    folder
}

/// Returns the real profile at `path`, relative to the folder of real profiles. Profilers name files after hosts, and `*`
/// stands for the name of a host, as in `mi300x-8gpu-conv/*.xplane.pb`.
pub(crate) fn real(path: &str) -> PathBuf {
    let Some((folder, suffix)) = path.split_once("/*") else {
        let file = traces().join(path);
        assert!(file.is_file(), "there is no {}", file.display());
        return file;
    };
    let found = files(&traces().join(folder), &[suffix]);
    let [file] = found.as_slice() else { panic!("{path} is not one file: {found:?}") };
    file.clone()
}

/// Returns the input at `path` below the folder of cases, which is next to the folder of real profiles.
pub(crate) fn case(path: &str) -> PathBuf {
    let file = traces().join("../cases").join(path);
    assert!(file.is_file(), "there is no {}", file.display());
    file
}

/// Returns the content of a real profile.
pub(crate) fn real_bytes(path: &str) -> Vec<u8> {
    std::fs::read(real(path)).expect("a readable sample")
}

/// Returns all files below `folder` whose names end with one of `suffixes`, sorted.
pub(crate) fn files(folder: &Path, suffixes: &[&str]) -> Vec<PathBuf> {
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

/// Returns the project's own profiles: fixtures of the tests, and examples of the page.
pub(crate) fn own() -> Vec<PathBuf> {
    let suffixes = [".xplane.pb", ".xplane.pb.gz", ".trace.json.gz"];
    let mut found = files(&root().join("tests/data"), &suffixes);
    found.extend(files(&root().join("www/assets/examples"), &suffixes));
    assert!(found.len() >= 20, "fixtures are missing");
    found
}
