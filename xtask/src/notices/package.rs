//! Packages and their sources.

use crate::Result;
use std::fmt;
use std::path::PathBuf;

/// A package and its version.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Package {
    pub name: String,
    pub version: String,
}

impl Package {
    /// Finds the folder with the package's sources, which is inside one of the folders in `sources`.
    pub(super) fn folder(&self, sources: &[PathBuf]) -> Result<PathBuf> {
        let name = format!("{}-{}", self.name, self.version);
        let found = sources.iter().map(|folder| folder.join(&name)).find(|folder| folder.is_dir());
        found.ok_or_else(|| format!("The sources of {self} are not there: run `cargo fetch --locked`."))
    }
}

impl fmt::Display for Package {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.name, self.version)
    }
}
