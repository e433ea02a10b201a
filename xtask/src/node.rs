//! Node.js and the packages of the npm registry.

use crate::{Result, apt, cache, process};
use std::path::PathBuf;
use std::process::Command;

/// Returns Node.js. Installs Node.js if it is missing.
pub(crate) fn node() -> Result<PathBuf> {
    if let Some(node) = process::which("node") {
        return Ok(node);
    }
    apt::install("Node.js", &["nodejs", "npm"])?;
    process::which("node").ok_or("Node.js was installed and is still not on PATH.".into())
}

/// Returns the folder of an npm package in the given version. Installs the package if it is missing.
pub(crate) fn package(name: &str, version: &str) -> Result<PathBuf> {
    node()?;
    let prefix = cache::folder("npm")?.join(format!("{name}-{version}"));
    let folder = prefix.join("node_modules").join(name);
    let complete = prefix.join("complete");
    if complete.is_file() {
        return Ok(folder);
    }
    if process::which("npm").is_none() {
        apt::install("npm", &["npm"])?;
    }
    cache::make(&prefix)?;
    eprintln!("Installing {name} {version}.");
    process::run(
        Command::new("npm")
            .args([
                "install",
                "--silent",
                "--no-audit",
                "--no-fund",
                "--ignore-scripts",
                "--no-package-lock",
                "--prefix",
            ])
            .arg(&prefix)
            .arg(format!("{name}@{version}"))
            .current_dir(&prefix),
    )?;
    cache::mark(&complete)?;
    Ok(folder)
}

/// Returns the version of a package in tests/end2end/package.json.
fn version(package: &str) -> Result<String> {
    let file = cache::read(&cache::repository().join("tests/end2end/package.json"))?;
    let version = file.split_once(&format!("\"{package}\"")).and_then(|(_, rest)| rest.split('"').nth(1));
    version.map(str::to_owned).ok_or_else(|| format!("tests/end2end/package.json names no {package}."))
}

/// Returns a Node.js command for the scripts in tests/end2end. The scripts can import the packages in `names`. The
/// package.json in that folder contains the versions of the packages.
pub(crate) fn with_packages(names: &[&str]) -> Result<Command> {
    let mut folders = Vec::new();
    for name in names {
        folders.extend(package(name, &version(name)?)?.parent().map(PathBuf::from));
    }
    let path = std::env::join_paths(folders).map_err(|error| format!("NODE_PATH cannot be made: {error}"))?;
    let mut command = Command::new(node()?);
    command.env("NODE_PATH", path).current_dir(cache::repository());
    Ok(command)
}

/// Returns a Node.js command for the scripts in tests/end2end that need playwright-core, axe-core and the browser.
pub(crate) fn playwright() -> Result<Command> {
    let mut command = with_packages(&["playwright-core", "axe-core"])?;
    command.env("CHROME", crate::browser::chromium()?);
    Ok(command)
}
