//! Prints the progress of a build. One line announces each step with its usual duration, and one line follows when the
//! build ends.

use std::time::Instant;

/// Counts the steps of a build.
pub(super) struct Steps {
    number: usize,
    start: Instant,
}

impl Steps {
    pub(super) fn new() -> Steps {
        Steps { number: 0, start: Instant::now() }
    }

    /// Prints the next step and its usual duration on two cores.
    pub(super) fn start(&mut self, what: &str, usually: &str) {
        self.number += 1;
        eprintln!("[{} | {:.0} s] {what} (usually {usually})", self.number, self.start.elapsed().as_secs_f64());
    }

    /// Prints the result and the duration of the build.
    pub(super) fn end(&self, what: &str) {
        eprintln!("[done | {:.0} s] {what}", self.start.elapsed().as_secs_f64());
    }
}
