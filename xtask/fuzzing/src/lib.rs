//! Fuzzing: damaged inputs for every format, and the promises that hold for whatever is read.
//!
//! ```text
//! corpus (whole inputs) -> mutate (seeded) -> drive (read, report, tables, pages, exports, comparison, budgets)
//! ```
//!
//! `cargo xtask fuzz` runs all of it on the stable toolchain, each case in a child process with a limit of time and
//! memory. The targets of cargo-fuzz (the folder fuzz/) have separate mutations and share [`drive`].

pub mod corpus;
pub mod drive;
mod format;
pub mod mutate;
mod random;
pub mod wire;

pub use format::Format;
pub use random::Random;
