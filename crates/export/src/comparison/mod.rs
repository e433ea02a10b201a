//! Writes a comparison as one screen of text, Markdown for a pull request, JSON for programs, and a self-contained web
//! page. All outputs are made from [`compare::Comparison`]. The text, the Markdown and the web page show the sections
//! of [`pages::compare`]. Only the web page also reads the profiles, for data about single runs.

mod html;
mod json;
mod markdown;
mod median_steps;
mod runs;
mod step_charts;
mod text;

pub use html::html;
pub use json::{generate_schema, json, schema};
pub use markdown::markdown;
pub use text::text;
