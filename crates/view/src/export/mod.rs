//! The report in other shapes: JSON and its schema, tables (CSV, Markdown, text), the terminal's one screen, a web page; a
//! comparison of reports as text, Markdown, JSON and a web page; a range of the timeline as a trace.

mod blocks;
pub mod chrome_trace;
pub mod columns;
pub mod comparison;
pub mod csv;
mod findings;
mod host;
pub mod html;
pub mod json;
pub mod markdown;
mod memory;
pub mod text;
mod value;
