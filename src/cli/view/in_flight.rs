//! State of a connection: when it was last used, and if a response is being made or sent.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

/// State of a connection.
pub struct Activity {
    last: Mutex<Instant>,
    in_flight: AtomicUsize,
}

impl Default for Activity {
    /// A connection that was opened now.
    fn default() -> Activity {
        Activity { last: Mutex::new(Instant::now()), in_flight: AtomicUsize::new(0) }
    }
}

impl Activity {
    /// When the connection was last used.
    pub fn last(&self) -> Instant {
        *self.last.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Is a response being made or sent?
    pub fn is_in_flight(&self) -> bool {
        self.in_flight.load(Ordering::Relaxed) > 0
    }

    fn touch(&self) {
        *self.last.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
    }
}

/// A response that is being made or sent.
pub struct InFlight(Arc<Activity>);

impl InFlight {
    /// A response on a connection.
    pub fn new(activity: &Arc<Activity>) -> InFlight {
        activity.in_flight.fetch_add(1, Ordering::Relaxed);
        activity.touch();
        InFlight(Arc::clone(activity))
    }

    /// Notes that the client takes bytes.
    pub fn touch(&self) {
        self.0.touch();
    }
}

impl Drop for InFlight {
    fn drop(&mut self) {
        self.0.touch();
        self.0.in_flight.fetch_sub(1, Ordering::Relaxed);
    }
}
