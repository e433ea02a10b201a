//! `cargo xtask fuzz`: damaged inputs through everything, by the package `fuzzing`, which this program only builds and starts.

use crate::{Result, cache, process, toolchain};
use std::path::Path;
use std::process::Command;

/// How long `cargo xtask test` fuzzes.
const CHECK_SECONDS: &str = "30";

/// `cargo xtask fuzz [--seconds N] [--seed N] | --replay FILE... | --write-corpus FOLDER`
pub fn command(words: &[String]) -> Result {
    let mut cargo = Command::new(toolchain::own_cargo());
    cargo.args(["run", "--locked", "--quiet", "--package", "fuzzing"]).current_dir(cache::repository());
    // The profile of tests: with the checks of arithmetic, and fast enough.
    process::run(cargo.args(["--bin", "fuzz", "--profile", "test", "--"]).args(words))
}

/// A short run, of the same cases every time, by the program in `folder`.
pub fn check(folder: &Path) -> Result {
    process::run(Command::new(folder.join("fuzz")).args(["--seconds", CHECK_SECONDS]).current_dir(cache::repository()))
}
