//! Limits the number of bytes that browsers download.

use crate::{Result, cache, sources};
use flate2::{Compression, write::GzEncoder};
use std::io::Write;
use std::path::Path;

/// Maximum size of the page's main program when it is compressed.
const LIMIT_BYTES: usize = 490_000;
/// Maximum size of the reader, which supports every file format and out-of-memory logs.
const READER_LIMIT_BYTES: usize = 500_000;
/// Maximum size of the analyst, which contains all metrics, rules, tables, pages and comparisons. The user does not
/// have to wait for the analyst, because the page fetches the analyst while the user looks for a file.
const ANALYST_LIMIT_BYTES: usize = 1_820_000;
/// Maximum size of the graph worker. The page fetches this worker last, and compiles it only when the user opens a
/// graph.
const GRAPH_LIMIT_BYTES: usize = 320_000;
/// Maximum total size of the files that the browser fetches after the page, without the graph worker: the programs of
/// the other workers, the examples, the schema, and the files that only the service worker fetches.
const FETCHED_LATER_LIMIT_BYTES: usize = 2_490_000;

/// A file of the page.
struct Size {
    /// Path below dist/, with slashes.
    name: String,
    raw_bytes: usize,
    gzip_bytes: usize,
}

impl Size {
    fn is_program(&self) -> bool {
        self.name.ends_with(".wasm")
    }

    fn limit_bytes(&self) -> usize {
        match self.name.as_str() {
            name if name.starts_with("analyst") => ANALYST_LIMIT_BYTES,
            name if name.starts_with("graph") => GRAPH_LIMIT_BYTES,
            name if name.starts_with("worker") => READER_LIMIT_BYTES,
            _ => LIMIT_BYTES,
        }
    }
}

pub(crate) fn print(dist: &Path) -> Result {
    print_of(&sizes(dist)?, &cache::read(&dist.join("index.html"))?);
    Ok(())
}

/// Fails if a program exceeds its limit, or if the files that the browser fetches after the page exceed their limit.
pub(crate) fn check(dist: &Path) -> Result {
    let (sizes, page) = (sizes(dist)?, cache::read(&dist.join("index.html"))?);
    print_of(&sizes, &page);
    check_of(&sizes, &page)
}

fn print_of(sizes: &[Size], page: &str) {
    for size in sizes.iter().filter(|size| size.is_program()) {
        println!("{}: {} kB, {} kB gzipped", size.name, size.raw_bytes / 1000, size.gzip_bytes / 1000);
    }
    println!("fetched after the page: {} kB gzipped", fetched_later_bytes(sizes, page) / 1000);
}

fn check_of(sizes: &[Size], page: &str) -> Result {
    let programs: Vec<&Size> = sizes.iter().filter(|size| size.is_program()).collect();
    if programs.len() != 4 {
        return Err(format!("dist/ has {} programs instead of page, reader, analyst and graph.", programs.len()));
    }
    if let Some(size) = programs.into_iter().find(|size| size.gzip_bytes > size.limit_bytes()) {
        let limit = size.limit_bytes();
        return Err(format!("{} has {} bytes gzipped, over the limit of {limit}.", size.name, size.gzip_bytes));
    }
    match fetched_later_bytes(sizes, page) {
        bytes if bytes > FETCHED_LATER_LIMIT_BYTES => Err(format!(
            "The files fetched after the page have {bytes} bytes gzipped, over the limit of {FETCHED_LATER_LIMIT_BYTES}."
        )),
        _ => Ok(()),
    }
}

/// Sums the compressed sizes of the files that index.html does not name, without the graph worker. The page or its
/// service worker fetches these files later.
fn fetched_later_bytes(sizes: &[Size], page: &str) -> usize {
    let is_named = |name: &str| page.contains(&format!("\"{name}\"")) || page.contains(&format!("\"./{name}\""));
    let later = sizes
        .iter()
        .filter(|size| size.name != "index.html" && !size.name.starts_with("graph") && !is_named(&size.name));
    later.map(|size| size.gzip_bytes).sum()
}

fn sizes(dist: &Path) -> Result<Vec<Size>> {
    let mut files = Vec::new();
    sources::collect(dist, &mut files)?;
    files.sort();
    let size = |file: &Path| {
        let bytes = std::fs::read(file)?;
        let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
        encoder.write_all(&bytes)?;
        let name = file.strip_prefix(dist).unwrap_or(file).to_string_lossy().replace('\\', "/");
        Ok(Size { name, raw_bytes: bytes.len(), gzip_bytes: encoder.finish()?.len() })
    };
    let failed = |file: &Path, error: std::io::Error| format!("{}: {error}", file.display());
    files.iter().map(|file| size(file).map_err(|error| failed(file, error))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: &str = "<link href=\"./www-1_bg.wasm\"><link rel=\"manifest\" href=\"manifest.webmanifest\">";

    fn sizes(files: &[(&str, usize)]) -> Vec<Size> {
        let size = |&(name, gzip_bytes): &(&str, usize)| Size { name: name.into(), raw_bytes: 0, gzip_bytes };
        files.iter().map(size).collect()
    }

    const FILES: [(&str, usize); 7] = [
        ("analyst_bg.wasm", ANALYST_LIMIT_BYTES),
        ("examples/a.json", 0),
        ("graph_bg.wasm", GRAPH_LIMIT_BYTES),
        ("index.html", 9),
        ("manifest.webmanifest", 99),
        ("worker_bg.wasm", READER_LIMIT_BYTES),
        ("www-1_bg.wasm", LIMIT_BYTES),
    ];

    #[test]
    fn files_that_the_page_does_not_name_count_together() {
        let mut files = FILES;
        let programs = ANALYST_LIMIT_BYTES + READER_LIMIT_BYTES;
        files[1].1 = FETCHED_LATER_LIMIT_BYTES - programs;
        assert_eq!(fetched_later_bytes(&sizes(&files), PAGE), FETCHED_LATER_LIMIT_BYTES);
        assert_eq!(check_of(&sizes(&files), PAGE), Ok(()));
        files[1].1 += 1;
        assert!(
            check_of(&sizes(&files), PAGE).unwrap_err().contains(&format!("{} bytes", FETCHED_LATER_LIMIT_BYTES + 1))
        );
    }

    #[test]
    fn each_program_has_a_limit() {
        for at in [0, 2, 5, 6] {
            let mut files = FILES;
            files[at].1 += 1;
            assert!(check_of(&sizes(&files), PAGE).unwrap_err().starts_with(files[at].0));
        }
        assert!(check_of(&sizes(&FILES[1..]), PAGE).is_err());
    }
}
