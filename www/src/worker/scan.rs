//! The second worker.
