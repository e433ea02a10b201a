//! The cache of tools and built toolchains. The folder of the cache is outside the checkout, and all checkouts share
//! it.

use crate::Result;
use std::path::{Path, PathBuf};

/// Returns the root of this checkout.
pub(crate) fn repository() -> &'static Path {
    // xtask is one level below the root.
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap_or(Path::new("."))
}

/// Returns the folder of the cache, and creates it if it is missing.
pub(crate) fn root() -> Result<PathBuf> {
    let set = |name| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let folder = set("CROSSPROF_CACHE")
        .or_else(|| set("XDG_CACHE_HOME").map(|base| base.join("crossprof")))
        .or_else(|| set("HOME").map(|home| home.join(".cache/crossprof")))
        .ok_or("There is no folder for tools: set CROSSPROF_CACHE.")?;
    make(&folder)?;
    // The path is absolute, because tools are also started from other folders.
    folder.canonicalize().map_err(|error| format!("{}: {error}", folder.display()))
}

/// Returns a folder of the cache, and creates it if it is missing.
pub(crate) fn folder(name: &str) -> Result<PathBuf> {
    let folder = root()?.join(name);
    make(&folder)?;
    Ok(folder)
}

/// Returns cargo's target folder of this checkout.
pub(crate) fn target() -> PathBuf {
    match std::env::var_os("CARGO_TARGET_DIR") {
        Some(folder) => repository().join(folder),
        None => repository().join("target"),
    }
}

/// Creates a folder and its parents.
pub(crate) fn make(folder: &Path) -> Result {
    std::fs::create_dir_all(folder).map_err(|error| format!("{} cannot be made: {error}", folder.display()))
}

/// Reads a text file.
pub(crate) fn read(path: &Path) -> Result<String> {
    std::fs::read_to_string(path).map_err(|error| format!("{} cannot be read: {error}", path.display()))
}

/// Writes a file.
pub(crate) fn write(path: &Path, bytes: impl AsRef<[u8]>) -> Result {
    std::fs::write(path, bytes).map_err(|error| format!("{} cannot be written: {error}", path.display()))
}

/// Writes a marker file. The marker file shows that its folder is complete.
pub(crate) fn mark(file: &Path) -> Result {
    write(file, "")
}
