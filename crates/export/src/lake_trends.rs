//! Renders the trends of a lake for a terminal and as Markdown. The sections are the same as on the page.

use base::format;
use base::home::shared;
use document::markup::escape;
use pages::lake_trends::sections;
use report::LakeTrends;

/// Returns the trends as text. `name` is the name of the file that contains the trends.
pub fn text(name: &str, trends: &LakeTrends) -> String {
    let text = document::terminal::render(&sections(trends));
    // The hint of a long table names the outputs of a run.
    let text = text.replace("--format json, --output report.html", "crossprof view");
    shared(format::with_plain_spaces(&format!("{}\n{text}", format::printable(name))))
}

/// Returns the trends as Markdown.
pub fn markdown(name: &str, trends: &LakeTrends) -> String {
    shared(format!("## {}\n\n{}", escape(name), document::markdown::render(&sections(trends))))
}
