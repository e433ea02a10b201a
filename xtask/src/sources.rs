//! The build id, which is a digest of all sources of the page.
//!
//! The id does not depend on git, and is the same on every machine for the same sources. The id shows whether dist/ is
//! up to date.

use crate::{Result, cache};
use sha2::{Digest, Sha256};
use std::path::{Path, PathBuf};

/// Files and folders that contain the page's sources.
const SOURCES: [&str; 13] = [
    "Cargo.toml",
    "Cargo.lock",
    ".cargo/config.toml",
    "Trunk.toml",
    "index.html",
    "docs/schema",
    "docs/third-party-notices.txt",
    "crates",
    "src",
    "www/Cargo.toml",
    "www/src",
    "www/style",
    "www/assets",
];

/// Returns twelve hexadecimal digits that identify the sources and the build variant.
pub(crate) fn build_id(variant: &str) -> Result<String> {
    let root = cache::repository();
    let mut files = Vec::new();
    for name in SOURCES.iter().chain(["xtask/src/build.rs", "xtask/src/build"].iter()) {
        collect(&root.join(name), &mut files)?;
    }
    files.sort();
    let mut digest = Sha256::new();
    digest.update(variant);
    for file in files {
        let name = file.strip_prefix(root).unwrap_or(&file).to_string_lossy().replace('\\', "/");
        let bytes = std::fs::read(&file).map_err(|error| format!("{}: {error}", file.display()))?;
        // The lengths separate a file's name from its bytes.
        digest.update(format!("{} {name} {}\n", name.len(), bytes.len()));
        digest.update(bytes);
    }
    Ok(hexadecimal(&digest.finalize()))
}

/// Returns twelve hexadecimal digits that identify some bytes.
pub(crate) fn digest(bytes: &[u8]) -> String {
    hexadecimal(&Sha256::digest(bytes))
}

fn hexadecimal(digest: &[u8]) -> String {
    digest.iter().take(6).map(|byte| format!("{byte:02x}")).collect()
}

/// Returns the files with this extension below a path, sorted by path.
pub(crate) fn with_extension(path: &Path, extension: &str) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    collect(path, &mut files)?;
    files.retain(|file| file.extension().is_some_and(|it| it == extension));
    files.sort();
    Ok(files)
}

/// Collects every file below a path. Collects nothing if the path does not exist.
pub(crate) fn collect(path: &Path, into: &mut Vec<PathBuf>) -> Result {
    if path.is_file() {
        into.push(path.to_owned());
        return Ok(());
    }
    let Ok(entries) = std::fs::read_dir(path) else { return Ok(()) };
    for entry in entries {
        let entry = entry.map_err(|error| format!("{}: {error}", path.display()))?;
        collect(&entry.path(), into)?;
    }
    Ok(())
}
