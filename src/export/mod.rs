//! The report in other shapes: JSON and its schema, tables (CSV, Markdown, text), the terminal's one screen, a web page; a
//! comparison of reports as text, Markdown, JSON and a web page.

pub(crate) mod columns;
pub mod comparison;
pub mod csv;
mod definitions;
#[cfg(test)]
pub(crate) mod example;
mod findings;
mod host;
pub mod html;
pub mod json;
pub mod markdown;
pub(crate) mod markup;
pub mod text;
