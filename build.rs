//! With the feature `view`, embeds the built page in the program. The environment variable `CROSSPROF_PAGE` names the folder
//! that `cargo xtask build` wrote.

use std::io::{Error, Result};
use std::path::{Path, PathBuf};

const PAGE: &str = "CROSSPROF_PAGE";

fn main() -> Result<()> {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-env-changed={PAGE}");
    if std::env::var_os("CARGO_FEATURE_VIEW").is_none() {
        return Ok(());
    }
    let mut list = String::from("&[\n");
    match std::env::var_os(PAGE).filter(|folder| !folder.is_empty()) {
        Some(folder) => {
            // Relative to the root of the checkout, where this script runs.
            let folder = PathBuf::from(folder);
            let folder = folder.canonicalize().map_err(|error| missing(&folder, &error.to_string()))?;
            if !folder.join("index.html").is_file() {
                return Err(missing(&folder, "it holds no index.html"));
            }
            println!("cargo::rerun-if-changed={}", folder.display());
            add(&folder, "", &mut list)?;
        }
        None => println!(
            "cargo::warning=The page is not inside this program: `crossprof view` will ask for it (--page). To put it in, \
             build the page (cargo xtask build), then build this program with {PAGE}=dist."
        ),
    }
    list.push(']');
    let out = std::env::var_os("OUT_DIR").ok_or_else(|| Error::other("cargo sets OUT_DIR"))?;
    std::fs::write(Path::new(&out).join("page_files.rs"), list)
}

fn missing(folder: &Path, reason: &str) -> Error {
    Error::other(format!("{PAGE}={}: {reason}. `cargo xtask build` writes the page to dist/.", folder.display()))
}

/// Adds the files of a folder and its subfolders, in the order of their names.
fn add(folder: &Path, prefix: &str, list: &mut String) -> Result<()> {
    let mut entries = std::fs::read_dir(folder)?.collect::<Result<Vec<_>>>()?;
    entries.sort_by_key(std::fs::DirEntry::file_name);
    for entry in entries {
        let path = entry.path();
        let name = format!("{prefix}{}", entry.file_name().to_string_lossy());
        if entry.file_type()?.is_dir() {
            add(&path, &format!("{name}/"), list)?;
        } else {
            list.push_str(&format!("    ({name:?}, include_bytes!({path:?})),\n"));
        }
    }
    Ok(())
}
