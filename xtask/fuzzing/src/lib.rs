//! Fuzzing: damaged inputs of every format, and the promises that hold for all of them.
//!
//! ```text
//! corpus (whole inputs) -> mutate (seeded) -> drive (read, report, tables, pages, exports, comparison, budgets)
//! ```
//!
//! `cargo xtask fuzz` runs everything on the stable toolchain, with each case in a child process that has a time limit and
//! a memory limit. The cargo-fuzz targets (folder fuzz/) have their own mutations, but also use [`drive`].

pub mod corpus;
pub mod drive;
mod format;
pub mod mutate;
mod random;
pub mod wire;

pub use format::Format;
pub use random::Random;
