//! Records for each connection when it was last used, and whether a response is in progress.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

/// When a connection was last used, and how many of its responses are in progress.
pub(super) struct Activity {
    last: Mutex<Instant>,
    in_flight: AtomicUsize,
}

impl Default for Activity {
    fn default() -> Activity {
        Activity { last: Mutex::new(Instant::now()), in_flight: AtomicUsize::new(0) }
    }
}

impl Activity {
    /// Returns the time of the connection's last use.
    pub(super) fn last(&self) -> Instant {
        *self.last.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns true if a response is in progress.
    pub(super) fn is_in_flight(&self) -> bool {
        self.in_flight.load(Ordering::Relaxed) > 0
    }

    fn touch(&self) {
        *self.last.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
    }
}

/// A response that is being created or sent.
pub(super) struct InFlight(Arc<Activity>);

impl InFlight {
    /// Marks the start of a response on a connection.
    pub(super) fn new(activity: &Arc<Activity>) -> InFlight {
        activity.in_flight.fetch_add(1, Ordering::Relaxed);
        activity.touch();
        InFlight(Arc::clone(activity))
    }

    /// Records that the client accepts bytes.
    pub(super) fn touch(&self) {
        self.0.touch();
    }
}

impl Drop for InFlight {
    fn drop(&mut self) {
        self.0.touch();
        self.0.in_flight.fetch_sub(1, Ordering::Relaxed);
    }
}
