//! What every crate of crossprof uses: time, warnings, errors, and how text, numbers, JSON and protobuf are read and written.

#![warn(clippy::indexing_slicing, clippy::panic, clippy::unwrap_used)]

// What `#[derive(Fields)]` makes names this crate from outside.
extern crate self as base;

mod error;
pub mod fields;
pub mod format;
pub mod framework_path;
pub mod home;
pub mod json;
pub mod json_text;
pub mod number;
pub mod out_of_memory;
pub mod sort;
pub mod source_line;
pub mod suggest;
mod units;
mod warning;
pub mod wire;
mod words;

pub use error::Error;
pub use units::Ps;
pub use warning::{Cut, Severity, Warning, WarningCode, cut};
