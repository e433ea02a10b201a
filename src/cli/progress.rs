//! How far reading is: as a bar on standard error, only on a terminal and only for loads that take a while, or for somebody else who shows it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// Loads that are done by then show nothing.
const PATIENCE: Duration = Duration::from_millis(400);

/// Bytes read and to be read, for another thread that shows them.
#[derive(Debug, Default)]
pub struct Watched {
    done: AtomicU64,
    total: AtomicU64,
}

impl Watched {
    /// Bytes that are read, and bytes of all files; 0 of the latter where they are not known (pipes), or not yet.
    pub fn bytes(&self) -> (u64, u64) {
        (self.done.load(Ordering::Relaxed), self.total.load(Ordering::Relaxed))
    }
}

/// Bytes read of all files of a call.
pub struct Progress {
    total: Option<u64>,
    done: u64,
    started: Instant,
    shown: Shown,
}

enum Shown {
    /// A bar, once it takes a while.
    Bar(Option<ProgressBar>),
    Elsewhere(Arc<Watched>),
}

impl Progress {
    /// A bar on the terminal.
    pub fn bar() -> Progress {
        Progress::shown(Shown::Bar(None))
    }

    /// Progress without a bar: another thread looks at `watched`.
    pub fn watched(watched: Arc<Watched>) -> Progress {
        Progress::shown(Shown::Elsewhere(watched))
    }

    fn shown(shown: Shown) -> Progress {
        Progress { total: None, done: 0, started: Instant::now(), shown }
    }

    /// From now on other files are read: of `total` bytes, where that is known.
    pub fn begin(&mut self, total: Option<u64>) {
        self.end();
        (self.total, self.done, self.started) = (total, 0, Instant::now());
        if let Shown::Elsewhere(watched) = &self.shown {
            watched.done.store(0, Ordering::Relaxed);
            watched.total.store(total.unwrap_or(0), Ordering::Relaxed);
        }
    }

    /// `bytes` more were read.
    pub fn advance(&mut self, bytes: u64) {
        self.done = self.done.saturating_add(bytes);
        match &mut self.shown {
            Shown::Elsewhere(watched) => watched.done.store(self.done, Ordering::Relaxed),
            Shown::Bar(None) if self.started.elapsed() <= PATIENCE => {}
            Shown::Bar(bar) => bar.get_or_insert_with(|| started_bar(self.total)).set_position(self.done),
        }
    }

    /// Everything is read: the bar is wiped before anything else is printed.
    pub fn end(&mut self) {
        if let Shown::Bar(bar) = &mut self.shown
            && let Some(bar) = bar.take()
        {
            bar.finish_and_clear();
        }
    }
}

fn started_bar(total: Option<u64>) -> ProgressBar {
    // indicatif draws nothing where standard error is not a terminal.
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
