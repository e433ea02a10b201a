//! Presents a run as values: tables, pages and documents.

#![warn(clippy::indexing_slicing, clippy::panic, clippy::unwrap_used)]

mod document;
mod environment;
mod evidence;
pub mod export;
mod judgement;
pub mod metric;
mod most_time;
mod op_changes;
pub mod pages;
pub mod table;
pub mod tables;
/// Views of a run.
mod views {
    pub use report::View;
}
