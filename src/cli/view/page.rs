//! The files of the page: those inside this program, or those of a folder.

use std::fs::File;
use std::path::{Path, PathBuf};

use super::files::open_regular;

/// Written by the build script from the folder that `CROSSPROF_PAGE` named.
const EMBEDDED: &[(&str, &[u8])] = include!(concat!(env!("OUT_DIR"), "/page_files.rs"));

/// The page's script that makes it start without a network, which a page that is served does not need: the server's own script, which
/// opens the runs of the address, takes its place.
pub const REPLACED: &str = "offline.js";

/// A file of the page.
pub enum PageFile {
    /// Part of this program.
    Embedded(&'static [u8]),
    /// A file of a folder, and its size.
    OfFolder(File, u64),
}

/// Where the page's files come from.
pub enum Page {
    /// The files that this program embeds.
    Embedded,
    /// A folder, resolved.
    Folder(PathBuf),
}

impl Page {
    /// The page of a folder or, without one, the page inside this program.
    ///
    /// # Errors
    ///
    /// There is none: a sentence.
    pub fn find(folder: Option<&Path>) -> Result<Page, String> {
        let page = match folder {
            Some(folder) => match folder.canonicalize() {
                Ok(folder) => Page::Folder(folder),
                Err(error) => return Err(format!("--page {}: cannot be read: {error}.", folder.display())),
            },
            None => Page::Embedded,
        };
        match (page.file("index.html"), folder) {
            (Some(_), _) => Ok(page),
            (None, Some(folder)) => Err(format!(
                "--page {}: this folder holds no index.html. Give the folder dist/ of the page.",
                folder.display()
            )),
            (None, None) => {
                Err("This program was built without the page. Give the page's folder with --page, or build the \
                program again with CROSSPROF_PAGE=dist after `cargo xtask build`."
                    .to_owned())
            }
        }
    }

    /// A file of the page by its path below it.
    pub fn file(&self, path: &str) -> Option<PageFile> {
        match self {
            Page::Embedded => {
                EMBEDDED.iter().find(|(name, _)| *name == path).map(|(_, bytes)| PageFile::Embedded(bytes))
            }
            Page::Folder(folder) => {
                let file = folder.join(path).canonicalize().ok().filter(|file| file.starts_with(folder))?;
                open_regular(&file).ok().map(|(file, size)| PageFile::OfFolder(file, size))
            }
        }
    }
}

/// The media type of a file, by its name.
pub fn media_type(path: &str) -> &'static str {
    match path.rsplit('.').next().unwrap_or_default() {
        "html" => "text/html; charset=utf-8",
        "js" => "text/javascript; charset=utf-8",
        "css" => "text/css; charset=utf-8",
        "json" | "webmanifest" => "application/json",
        "wasm" => "application/wasm",
        "svg" => "image/svg+xml",
        "png" => "image/png",
        "txt" => "text/plain; charset=utf-8",
        _ => "application/octet-stream",
    }
}
