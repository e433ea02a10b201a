//! Shared basics of all crates: time, warnings, errors, sorting, and reading and writing of text, numbers, JSON and
//! protobuf.

#![warn(clippy::indexing_slicing, clippy::panic, clippy::unwrap_used)]

// `#[derive(Fields)]` generates paths that start with `::base`.
extern crate self as base;

mod error;
pub mod fields;
pub mod format;
pub mod framework_path;
pub mod home;
pub mod json;
pub mod json_text;
pub mod moment;
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
