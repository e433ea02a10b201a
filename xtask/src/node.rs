//! Node.js and the packages of the npm registry.

use crate::{Result, apt, cache, process};
use std::path::PathBuf;
use std::process::Command;

/// Returns Node.js. Installs it if it is missing.
pub(crate) fn node() -> Result<PathBuf> {
    if let Some(node) = process::which("node") {
        return Ok(node);
    }
    apt::install("Node.js", &["nodejs", "npm"])?;
    process::which("node").ok_or("Node.js was installed and is still not on PATH.".into())
}

/// Returns the folder of this version of an npm package. Installs it if it is missing.
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

/// Returns a Node.js command that finds these packages of tests/end2end/package.json, for the scripts in that folder.
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

/// Returns a Node.js command with playwright-core, axe-core and the browser in its environment, for the scripts of
/// tests/end2end.
pub(crate) fn playwright() -> Result<Command> {
    let mut command = with_packages(&["playwright-core", "axe-core"])?;
    command.env("CHROME", crate::browser::chromium()?);
    Ok(command)
}
