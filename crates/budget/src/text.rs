//! Renders the result of a check for a terminal: a table of limits per run, then a sentence for each failed limit.

use super::check_report::{CheckReport, Counts, LimitReport, RunName, RunReport, Status, counts};
use super::unit;
use base::format::{self, DASH, printable, shorten};
use document::columns::aligned;
use expression::Unit;

/// Maximum number of characters of a limit's title in the table. The sentences below the table show the whole title.
const TITLE: usize = 64;

/// Cells of the table row that describes a limit.
pub(super) struct TextRow {
    pub title: String,
    pub value: String,
    pub bound: String,
    pub margin: String,
}

/// Returns the table row that describes a limit. A dash stands for an absent number.
pub(super) fn row(limit: &LimitReport) -> TextRow {
    let unit = limit.unit.as_deref().and_then(Unit::named);
    let dash = || DASH.to_owned();
    let (value, bound) = match (limit.value, limit.bound) {
        (Some(value), Some(bound)) => {
            let (value, bound) = unit::show_apart(value, bound, unit);
            (value, Some(bound))
        }
        (_, bound) => (dash(), bound.map(|bound| unit::show(bound, unit))),
    };
    let bound = bound.map_or_else(dash, |bound| format!("{} {bound}", limit.relation));
    let margin = limit.margin_percent.map_or_else(dash, |margin| {
        let sign = if margin > 0.0 { "+" } else { "" };
        // A narrow failure must not read "<0.1 %", because that looks like a small margin.
        if margin < 0.0 {
            format!("-{}", format::percent(-margin))
        } else {
            format!("{sign}{}", format::percent(margin))
        }
    });
    TextRow { title: printable(limit.title()), value, bound, margin }
}

/// Returns the run's name and file: "gpu-training (host.xplane.pb)".
pub(super) fn run_text(run: &RunName) -> String {
    let (name, file) = (printable(&run.run_name), printable(&run.file));
    if name == file { name } else { format!("{name} ({file})") }
}

/// Describes the baseline: a run, or "the median of 3 runs: a (a.json), b (b.json), c (c.json)".
pub(super) fn baseline_text(run: &RunReport) -> Option<String> {
    if run.baseline_group.is_empty() {
        return run.baseline.as_ref().map(run_text);
    }
    let names: Vec<String> = run.baseline_group.iter().map(run_text).collect();
    Some(format!("the median of {} runs: {}", names.len(), names.join(", ")))
}

/// Summarises the limits: "5 limits: 3 hold, 1 fails, 1 was not measured".
pub(super) fn counts_text(counts: Counts) -> String {
    let all = counts.pass + counts.fail + counts.missing + counts.skipped;
    let mut parts = Vec::new();
    for (count, one, several) in [
        (counts.pass, "holds", "hold"),
        (counts.fail, "fails", "fail"),
        (counts.missing, "was not measured", "were not measured"),
        (counts.skipped, "was skipped", "were skipped"),
    ] {
        if count > 0 {
            parts.push(format!("{} {}", format::count(count), if count == 1 { one } else { several }));
        }
    }
    let limits = if all == 1 { "limit" } else { "limits" };
    format!("{} {limits}: {}", format::count(all), parts.join(", "))
}

/// Renders the whole result.
pub fn to_text(report: &CheckReport) -> String {
    let mut text = String::new();
    for run in &report.runs {
        push_run(run, &mut text);
        if report.runs.len() > 1 {
            text.push_str(&format!("\n  {}\n", counts_text(counts(run.limits.iter()))));
        }
        text.push('\n');
    }
    let verdict = if report.holds { "The budget holds" } else { "The budget does not hold" };
    text.push_str(&format!("{verdict}. {}.\n", counts_text(report.counts)));
    text
}

fn push_run(run: &RunReport, text: &mut String) {
    text.push_str(&run_text(&run.run));
    if let Some(baseline) = baseline_text(run) {
        text.push_str(&format!(" against {baseline}"));
    }
    text.push('\n');
    let mut rows = vec![["Limit", "Value", "Bound", "Margin", "Result"].map(str::to_owned).to_vec()];
    for limit in &run.limits {
        let TextRow { title, value, bound, margin } = row(limit);
        let result = match limit.status {
            Status::Fail => "FAIL",
            Status::Missing => "MISSING",
            passed => passed.label(),
        };
        rows.push(vec![shorten(&title, TITLE), value, bound, margin, result.to_owned()]);
    }
    text.push_str(&aligned(&rows, &[false, true, true, true]));
    for limit in run.limits.iter().filter(|limit| limit.status != Status::Pass) {
        text.push_str(&format!("\n  {}: {}\n", limit.status.label(), printable(limit.title())));
        text.push_str(&format!("    {}\n", printable(&limit.message)));
        if let Some(why) = &limit.why {
            text.push_str(&format!("    Why: {}\n", printable(why)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_a_sentence() {
        let counts = Counts { pass: 3, fail: 1, missing: 0, skipped: 2 };
        assert_eq!(counts_text(counts), "6 limits: 3 hold, 1 fails, 2 were skipped");
        assert_eq!(counts_text(Counts { pass: 1, ..Counts::default() }), "1 limit: 1 holds");
    }
}
