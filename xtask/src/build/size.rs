//! Limits the number of bytes that browsers download.

use crate::{Result, sources};
use flate2::{Compression, write::GzEncoder};
use std::io::Write;
use std::path::Path;

/// Limit of the page's main program, compressed.
const LIMIT_BYTES: usize = 450_000;
/// Limit of the reader, which supports every format and out-of-memory logs.
const READER_LIMIT_BYTES: usize = 460_000;
/// Limit of the deputy, which renders pages and documents that need no events. It is fetched last.
const DEPUTY_LIMIT_BYTES: usize = 760_000;
/// Limit of the analyst, which contains all metrics, rules, tables and pages. It is fetched once the page is usable, while
/// the user looks for a file, so its size delays no user.
const ANALYST_LIMIT_BYTES: usize = 1_160_000;

struct Size {
    name: String,
    raw_bytes: usize,
    gzip_bytes: usize,
}

/// Prints the sizes of the page's wasm files.
pub fn print(dist: &Path) -> Result {
    for size in wasm_sizes(dist)? {
        println!("{}: {} kB, {} kB gzipped", size.name, size.raw_bytes / 1000, size.gzip_bytes / 1000);
    }
    Ok(())
}

/// Fails if a wasm file exceeds its limit.
pub fn check(dist: &Path) -> Result {
    print(dist)?;
    let sizes = wasm_sizes(dist)?;
    if sizes.len() < 4 {
        return Err("dist/ lacks a wasm file of the page, of the reader, of the analyst or of its deputy.".into());
    }
    let limit = |size: &Size| match size.name.as_str() {
        name if name.starts_with("analyst") => ANALYST_LIMIT_BYTES,
        name if name.starts_with("deputy") => DEPUTY_LIMIT_BYTES,
        name if name.starts_with("worker") => READER_LIMIT_BYTES,
        _ => LIMIT_BYTES,
    };
    match sizes.iter().find(|size| size.gzip_bytes > limit(size)) {
        Some(size) => {
            let limit = limit(size);
            Err(format!("{} has {} bytes gzipped, over the limit of {limit}.", size.name, size.gzip_bytes))
        }
        None => Ok(()),
    }
}

fn wasm_sizes(dist: &Path) -> Result<Vec<Size>> {
    sources::with_extension(dist, "wasm")?
        .iter()
        .map(|file| {
            let bytes = std::fs::read(file).map_err(|error| format!("{}: {error}", file.display()))?;
            let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
            let packed = encoder.write_all(&bytes).and_then(|()| encoder.finish());
            let packed = packed.map_err(|error| format!("{}: {error}", file.display()))?;
            let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
            Ok(Size { name, raw_bytes: bytes.len(), gzip_bytes: packed.len() })
        })
        .collect()
}
