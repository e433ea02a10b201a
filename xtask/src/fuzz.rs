//! `cargo xtask fuzz`: builds and starts the `fuzzing` package, which drives damaged inputs through the whole library.

use crate::{Result, cache, process, toolchain};
use std::path::Path;
use std::process::Command;

/// Duration of the `fuzz` check of `cargo xtask test`, in seconds.
const CHECK_SECONDS: &str = "30";

/// `cargo xtask fuzz [--seconds N] [--seed N] | --replay FILE... | --write-corpus FOLDER`
pub(crate) fn command(words: &[String]) -> Result {
    let mut cargo = Command::new(toolchain::own_cargo());
    cargo.args(["run", "--locked", "--quiet", "--package", "fuzzing"]).current_dir(cache::repository());
    // The profile of tests has overflow checks and is fast enough.
    process::run(cargo.args(["--bin", "fuzz", "--profile", "test", "--"]).args(words))
}

/// Runs the fuzzing program in `folder` for a short time. Each call drives the same cases.
pub(crate) fn check(folder: &Path) -> Result {
    process::run(Command::new(folder.join("fuzz")).args(["--seconds", CHECK_SECONDS]).current_dir(cache::repository()))
}
