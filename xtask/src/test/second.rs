//! The second process of `cargo xtask test`.

use crate::{Result, cache};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Instant;

/// Checks that run in the second process, in this order.
pub(super) const CHECKS: [&str; 2] = ["build", "python"];

/// The second process, while it runs.
pub(super) struct Process {
    child: Child,
    /// File that receives what the process prints.
    log: PathBuf,
    /// Start of the process.
    pub(super) started: Instant,
}

impl Process {
    /// Starts the process.
    ///
    /// # Errors
    ///
    /// Fails if the program of this process cannot be started again, or if the log cannot be created.
    pub(super) fn start() -> Result<Process> {
        let log = cache::target().join("second-process.log");
        let file = std::fs::File::create(&log).map_err(|error| format!("{} cannot be made: {error}", log.display()))?;
        let copy = file.try_clone().map_err(|error| error.to_string())?;
        let program = std::env::current_exe().map_err(|error| format!("The path of xtask is unknown: {error}"))?;
        let mut command = Command::new(program);
        command.arg("test").args(CHECKS).stdin(Stdio::null()).stdout(copy).stderr(file);
        let child = command.spawn().map_err(|error| format!("The second process did not start: {error}"))?;
        eprintln!("{} run in a second process, which writes to {}.", CHECKS.join(" and "), log.display());
        Ok(Process { child, log, started: Instant::now() })
    }

    /// Waits for the process, prints its log, and returns the lines of its summary, one per check.
    ///
    /// # Errors
    ///
    /// Fails if the log lacks the summary, because the process was killed.
    pub(super) fn wait(mut self) -> Result<Vec<String>> {
        let status = self.child.wait().map_err(|error| format!("The second process is lost: {error}"))?;
        let log = std::fs::read(&self.log).map_err(|error| format!("{}: {error}", self.log.display()))?;
        let log = String::from_utf8_lossy(&log);
        eprintln!("{log}");
        summary(&log).ok_or_else(|| format!("The second process ended without a summary ({status})."))
    }
}

/// Returns the lines of a summary, one per check. `None` if a check has no line.
fn summary(log: &str) -> Option<Vec<String>> {
    let (_, summary) = log.rsplit_once("=== summary ===")?;
    let of_check = |name: &&str| summary.lines().find(|line| line.split_whitespace().next() == Some(*name));
    CHECKS.iter().map(|name| of_check(name).map(str::to_owned)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_check_has_a_line_of_the_summary() {
        let log = "=== build: the page ===\n=== summary ===\nbuild          12.0 s  passed\npython        1.0 s  FAILED: no\n\
                   1 checks passed";
        assert_eq!(summary(log).unwrap(), ["build          12.0 s  passed", "python        1.0 s  FAILED: no"]);
        assert_eq!(summary("=== summary ===\nbuild  1.0 s  passed\n"), None);
        assert_eq!(summary("killed"), None);
    }
}
