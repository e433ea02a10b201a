//! The progress bar: on standard error, only on a terminal, only for loads that take a while.

use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// Loads that are done by then show nothing.
const PATIENCE: Duration = Duration::from_millis(400);

/// Bytes read of all files of a call.
pub struct Progress {
    total: Option<u64>,
    done: u64,
    started: Instant,
    bar: Option<ProgressBar>,
}

impl Progress {
    /// For `total` bytes, where that is known.
    pub fn new(total: Option<u64>) -> Progress {
        Progress { total, done: 0, started: Instant::now(), bar: None }
    }

    /// `bytes` more were read.
    pub fn advance(&mut self, bytes: u64) {
        self.done = self.done.saturating_add(bytes);
        if self.bar.is_none() && self.started.elapsed() > PATIENCE {
            // indicatif draws nothing where standard error is not a terminal.
            let bar = ProgressBar::with_draw_target(self.total, ProgressDrawTarget::stderr());
            let template = match self.total {
                Some(_) => "{bar:30} {bytes} of {total_bytes}, {bytes_per_sec}",
                None => "{bytes}, {bytes_per_sec}",
            };
            if let Ok(style) = ProgressStyle::with_template(template) {
                bar.set_style(style);
            }
            self.bar = Some(bar);
        }
        if let Some(bar) = &self.bar {
            bar.set_position(self.done);
        }
    }
}

/// Wiped before anything else is printed.
impl Drop for Progress {
    fn drop(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}
