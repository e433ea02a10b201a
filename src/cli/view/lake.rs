//! Serves a lake. The tables of a lake are Parquet files, which only the Python package reads. The page therefore shows
//! the export of the lake.

use std::path::{Path, PathBuf};

/// Folder whose presence shows that the folder around it is a lake.
const TABLES: &str = "schema=1";
/// Names that the export has in the folder of its lake.
const EXPORTS: [&str; 2] = ["trend.json.gz", "trend.json"];

/// Returns the path to serve. If `path` is a lake, returns the file with its trends. For any other path, returns the
/// path itself.
///
/// # Errors
///
/// If the lake has no such file, fails with the command that writes it.
pub(super) fn export_of(path: &Path) -> Result<PathBuf, String> {
    if !path.join(TABLES).is_dir() {
        return Ok(path.to_owned());
    }
    let export = EXPORTS.iter().map(|name| path.join(name)).find(|export| export.is_file());
    export.ok_or_else(|| {
        let lake = path.display();
        format!(
            "{lake}: this is a lake. Write its trends first: crossprof lake export {lake} --output {}",
            path.join(EXPORTS[0]).display()
        )
    })
}
