//! The report in other shapes: JSON and its schema, tables (CSV, Markdown, text), the terminal's one screen.

pub mod csv;
#[cfg(test)]
pub(crate) mod example;
mod findings;
pub mod json;
pub mod markdown;
pub mod text;
