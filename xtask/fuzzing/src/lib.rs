//! Fuzzing: damages inputs of every format, and checks promises that must hold for all of them.
//!
//! ```text
//! corpus (whole inputs) -> mutate (seeded) -> drive (read, report, tables, pages, exports, comparison, budgets)
//! ```
//!
//! `cargo xtask fuzz` uses the stable toolchain. The command drives cases in child processes that have a time limit and
//! a memory limit. The cargo-fuzz targets in fuzz/ have their own mutations, but also use [`drive`].

pub mod corpus;
pub mod drive;
mod format;
pub mod mutate;
mod random;
pub mod wire;

pub use format::Format;
pub use random::Random;
