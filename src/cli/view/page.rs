//! Provides the files of the page, which are embedded in this program or come from a folder.

use std::fs::File;
use std::path::{Path, PathBuf};

use super::files::open_regular;

/// Files that the build script embeds from the folder that `CROSSPROF_PAGE` names.
const EMBEDDED: &[(&str, &[u8])] = include!(concat!(env!("OUT_DIR"), "/page_files.rs"));

/// Name of the script that lets the page start offline. A served page does not need this script. The server replaces it
/// with a script that opens the runs that the URL names.
pub(super) const REPLACED: &str = "offline.js";

pub(super) enum PageFile {
    /// Embedded in this program.
    Embedded(&'static [u8]),
    /// A file in a folder, with its size.
    OfFolder(File, u64),
}

/// Place from which the page's files come.
pub(super) enum Page {
    /// The files that this program embeds.
    Embedded,
    /// A folder, as a canonical path.
    Folder(PathBuf),
}

impl Page {
    /// Returns the page in a folder, or the embedded page if no folder is given.
    ///
    /// # Errors
    ///
    /// Fails with a message if there is no page.
    pub(super) fn find(folder: Option<&Path>) -> Result<Page, String> {
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
                "--page {}: this folder contains no index.html. Specify the folder dist/ of the page.",
                folder.display()
            )),
            (None, None) => {
                Err("This program was built without the page. Specify the page's folder with --page, or build the \
                program again with CROSSPROF_PAGE=dist after `cargo xtask build`."
                    .to_owned())
            }
        }
    }

    /// Returns the file with this path within the page.
    pub(super) fn file(&self, path: &str) -> Option<PageFile> {
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

/// Returns the media type of a file from its extension.
pub(super) fn media_type(path: &str) -> &'static str {
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
