//! The report in other shapes: JSON and its schema, tables (CSV, Markdown, text), the terminal's one screen, a web page; a
//! comparison of reports as text, Markdown, JSON and a web page; a range of the timeline as a trace.

pub mod chrome_trace;
pub mod columns;
pub mod comparison;
pub mod csv;
mod findings;
pub mod html;
pub mod json;
pub mod markdown;
pub mod text;
pub(crate) mod value;
