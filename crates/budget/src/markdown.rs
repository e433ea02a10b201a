//! Renders the result of a check as GitHub Markdown, for a pull request or a job summary.

use super::check_report::{CheckReport, LimitReport, RunReport, Status};
use super::text::{self, TextRow};
use document::markup::escape;

/// Renders the whole result: a heading with the outcome, one table per run, and a sentence for each failed limit.
pub fn to_markdown(report: &CheckReport) -> String {
    let (symbol, verdict) = if report.holds { ("✅", "holds") } else { ("❌", "does not hold") };
    let mut text = format!("## {symbol} The performance budget {verdict}\n\n");
    text.push_str(&format!("{}.\n", text::counts_text(report.counts)));
    for run in &report.runs {
        push_run(run, &mut text);
    }
    text
}

fn push_run(run: &RunReport, text: &mut String) {
    text.push_str(&format!("\n### {}\n\n", escape(&text::run_text(&run.run))));
    if let Some(baseline) = text::baseline_text(run) {
        text.push_str(&format!("Baseline: {}\n\n", escape(&baseline)));
    }
    text.push_str("| Result | Limit | Value | Bound | Margin |\n| --- | --- | ---: | ---: | ---: |\n");
    for limit in &run.limits {
        let TextRow { title, value, bound, margin } = text::row(limit);
        let cells = [title, value, bound, margin].map(|cell| escape(&cell));
        text.push_str(&format!("| {} | {} |\n", result(limit), cells.join(" | ")));
    }
    let mut told = run.limits.iter().filter(|limit| limit.status != Status::Pass).peekable();
    if told.peek().is_some() {
        text.push('\n');
    }
    for limit in told {
        text.push_str(&format!("- **{}** {}", escape(limit.title()), escape(&limit.message)));
        if let Some(why) = &limit.why {
            text.push_str(&format!(" _Why:_ {}", escape(why)));
        }
        text.push('\n');
    }
}

/// Returns the result as a symbol and a word, because neither is clear on its own.
fn result(limit: &LimitReport) -> &'static str {
    match limit.status {
        Status::Pass => "✅ pass",
        Status::Fail => "❌ fail",
        Status::Missing => "❓ missing",
        Status::Skipped => "➖ skipped",
    }
}
