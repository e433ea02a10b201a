//! The shapes in which a result is printed or written to a file.

use std::path::Path;

use clap::ValueEnum;
use crossprof::compare::{Comparison, Subject};
use crossprof::{UnifiedProfile, export};

/// Shapes of a report or a comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum OutputFormat {
    /// One screen for people
    Text,
    /// For a pull request
    Markdown,
    /// Everything, for programs
    Json,
    /// One web page that stands for itself; only for --output
    #[value(skip)]
    Html,
}

impl OutputFormat {
    /// The shape that the name of a file asks for.
    ///
    /// # Errors
    ///
    /// A message where the name asks for none.
    pub fn of_name(path: &Path) -> Result<OutputFormat, String> {
        let extension = path.extension().map(|it| it.to_string_lossy().to_lowercase());
        Ok(match extension.as_deref() {
            Some("html" | "htm") => OutputFormat::Html,
            Some("md" | "markdown") => OutputFormat::Markdown,
            Some("json") => OutputFormat::Json,
            Some("txt") => OutputFormat::Text,
            _ => {
                let path = path.display();
                return Err(format!(
                    "--output {path}: the name says the shape and must end in .html, .md, .json or .txt."
                ));
            }
        })
    }

    /// The reports of runs. Several are one document each, but for a web page, which is of one run.
    ///
    /// # Errors
    ///
    /// A message where several runs have no such shape.
    pub fn of_runs(self, profiles: &[UnifiedProfile]) -> Result<String, String> {
        Ok(match (self, profiles) {
            (OutputFormat::Json, [only]) => export::json::profile(only),
            (OutputFormat::Json, several) => export::json::profiles(several),
            (OutputFormat::Text, several) => export::text::reports(several),
            (OutputFormat::Markdown, several) => {
                several.iter().map(export::markdown::report).collect::<Vec<_>>().join("\n")
            }
            (OutputFormat::Html, [only]) => export::html::report(only),
            (OutputFormat::Html, several) => {
                return Err(format!(
                    "a page is of one run, and there are {}: name one of their files, or use crossprof compare.",
                    several.len()
                ));
            }
        })
    }

    /// A comparison and the runs that it is of.
    pub fn of_comparison(self, comparison: &Comparison, subjects: &[Subject]) -> String {
        match self {
            OutputFormat::Text => export::comparison::text(comparison),
            OutputFormat::Markdown => export::comparison::markdown(comparison),
            OutputFormat::Json => export::comparison::json(comparison),
            OutputFormat::Html => export::comparison::html(comparison, subjects),
        }
    }
}
