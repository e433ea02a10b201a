//! Progress of reading, as a bar on standard error or as counters that another thread shows. The bar appears only on a
//! terminal, and only if the load is slow.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// Time that a load must take before the bar appears.
const PATIENCE: Duration = Duration::from_millis(400);

/// Counters of the bytes read and of all bytes, for another thread that shows the progress.
#[derive(Debug, Default)]
pub struct Watched {
    done: AtomicU64,
    total: AtomicU64,
}

impl Watched {
    /// Returns the number of bytes read so far, and the total size of all files. The total is 0 if it is not known, or
    /// not known yet.
    pub fn bytes(&self) -> (u64, u64) {
        (self.done.load(Ordering::Relaxed), self.total.load(Ordering::Relaxed))
    }
}

/// Progress over all files of a command, in bytes.
pub(super) struct Progress {
    total: Option<u64>,
    done: u64,
    started: Instant,
    shown: Shown,
}

enum Shown {
    /// A bar. The bar is created only if the load takes longer than [`PATIENCE`].
    Bar(Option<ProgressBar>),
    Elsewhere(Arc<Watched>),
}

impl Progress {
    /// Shows the progress as a bar on the terminal.
    pub(super) fn bar() -> Progress {
        Progress::shown(Shown::Bar(None))
    }

    /// Shows no bar, but counts into `watched`, which another thread reads.
    pub(super) fn watched(watched: Arc<Watched>) -> Progress {
        Progress::shown(Shown::Elsewhere(watched))
    }

    fn shown(shown: Shown) -> Progress {
        Progress { total: None, done: 0, started: Instant::now(), shown }
    }

    /// Starts a new set of files. `total` is their size in bytes, if it is known.
    pub(super) fn begin(&mut self, total: Option<u64>) {
        self.end();
        (self.total, self.done, self.started) = (total, 0, Instant::now());
        if let Shown::Elsewhere(watched) = &self.shown {
            watched.done.store(0, Ordering::Relaxed);
            watched.total.store(total.unwrap_or(0), Ordering::Relaxed);
        }
    }

    /// Adds `bytes` to the bytes read.
    pub(super) fn advance(&mut self, bytes: u64) {
        self.done = self.done.saturating_add(bytes);
        match &mut self.shown {
            Shown::Elsewhere(watched) => watched.done.store(self.done, Ordering::Relaxed),
            Shown::Bar(None) if self.started.elapsed() <= PATIENCE => {}
            Shown::Bar(bar) => bar.get_or_insert_with(|| started_bar(self.total)).set_position(self.done),
        }
    }

    /// Removes the bar, so that other output can be printed.
    pub(super) fn end(&mut self) {
        if let Shown::Bar(bar) = &mut self.shown
            && let Some(bar) = bar.take()
        {
            bar.finish_and_clear();
        }
    }
}

fn started_bar(total: Option<u64>) -> ProgressBar {
    // indicatif draws nothing if standard error is not a terminal.
    let bar = ProgressBar::with_draw_target(total, ProgressDrawTarget::stderr());
    let template = match total {
        Some(_) => "{bar:30} {bytes} of {total_bytes}, {bytes_per_sec}",
        None => "{bytes}, {bytes_per_sec}",
    };
    match ProgressStyle::with_template(template) {
        Ok(style) => bar.with_style(style),
        Err(_) => bar,
    }
}
