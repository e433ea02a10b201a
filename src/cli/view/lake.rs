//! A lake as the served folder. Its tables are Parquet files, which only the Python package reads. The page shows their export.

use std::path::{Path, PathBuf};

/// Folder that identifies a lake.
const TABLES: &str = "schema=1";
/// Names of an export in the folder of its lake.
const EXPORTS: [&str; 2] = ["trend.json.gz", "trend.json"];

/// Returns the path to serve: for a lake, the file with its trends, and for anything else the path itself.
///
/// # Errors
///
/// Fails with the command that writes the file, if the lake has none.
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
