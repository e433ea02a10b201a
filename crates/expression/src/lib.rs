//! The expressions that users write: limits of budgets, conditions of `--fail-on`, and filters of tables.
//!
//! ```text
//! step_timing.avg_step_time_us < 150 ms      a limit             crates/budget
//! slower > 3 %                               a condition         crates/budget
//! mean > 1.5 ms                              a term of a filter  crates/table
//!
//! keyword  = word, not followed by another character of a word
//! name     = letters, digits, "_" and "-", or a text in quotation marks
//! relation = "<" | "<=" | ">" | ">=" | "==" | "!=" | "≤" | "≥"
//! amount   = digits [ unit ]                                     150 ms, 1.5e3, 150_000, 97 %
//! ```
//!
//! This crate reads keywords, names, relations and amounts, converts amounts between units, and reports errors with a
//! position and the nearest names. Other crates combine these elements into expressions, and define the meaning of
//! names. Parsers are `winnow` functions. A parser backtracks if the text does not begin with its construct
//! ([`ErrMode::Backtrack`]), and fails for good if the construct contains a mistake ([`ErrMode::Cut`]).

#![warn(clippy::indexing_slicing, clippy::panic, clippy::unwrap_used)]

mod amount;
mod error;
mod excerpt;
mod relation;
mod token;
mod unit;

pub use amount::{Amount, Misfit, amount, digits};
pub use error::Error;
pub use excerpt::excerpt;
pub use relation::{Relation, relation};
pub use token::{Input, Parsed, ahead, at, blank, expected, failure, is_word, keyword, name, parse, quoted, wrong};
pub use unit::{Dimension, Unit, shift};
pub use winnow::error::ErrMode;
pub use winnow::{Parser, combinator, token as tokens};
