//! The shapes in which a result is printed or written to a file.

use std::path::Path;

use clap::ValueEnum;

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
}
