//! Formats in which a result is printed or written to a file.

use std::path::Path;

use clap::ValueEnum;
use crossprof::compare::{Comparison, Subject};
use crossprof::{UnifiedProfile, export};

/// Formats of a report or a comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum OutputFormat {
    /// A readable summary of about one screen
    Text,
    /// Markdown, for a pull request
    Markdown,
    /// The complete result as JSON, for programs
    Json,
    /// One self-contained web page. Only for --output
    #[value(skip)]
    Html,
}

impl OutputFormat {
    /// Returns the format that the file's extension selects.
    ///
    /// # Errors
    ///
    /// Fails with a message for an unknown extension.
    pub(super) fn of_name(path: &Path) -> Result<OutputFormat, String> {
        let extension = path.extension().map(|it| it.to_string_lossy().to_lowercase());
        Ok(match extension.as_deref() {
            Some("html" | "htm") => OutputFormat::Html,
            Some("md" | "markdown") => OutputFormat::Markdown,
            Some("json") => OutputFormat::Json,
            Some("txt") => OutputFormat::Text,
            _ => {
                let path = path.display();
                return Err(format!(
                    "--output {path}: the name must end in .html, .md, .json or .txt, which selects the format."
                ));
            }
        })
    }

    /// Renders one report for each run. HTML supports only one run.
    ///
    /// # Errors
    ///
    /// Fails with a message if the format does not support several runs.
    pub(super) fn of_runs(self, profiles: &[UnifiedProfile]) -> Result<String, String> {
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
                    "a page shows one run, but there are {}. Name the file of one run, or use crossprof compare.",
                    several.len()
                ));
            }
        })
    }

    /// Renders a comparison and its runs.
    pub(super) fn of_comparison(self, comparison: &Comparison, subjects: &[Subject]) -> String {
        match self {
            OutputFormat::Text => export::comparison::text(comparison),
            OutputFormat::Markdown => export::comparison::markdown(comparison),
            OutputFormat::Json => export::comparison::json(comparison),
            OutputFormat::Html => export::comparison::html(comparison, subjects),
        }
    }
}
