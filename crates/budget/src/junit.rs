//! Renders the result of a check as JUnit XML, which CI systems read: one suite per run, one test case per limit.
//!
//! Programs that read JUnit XML do not agree on one schema. This module uses only elements and attributes that all of
//! them read (`testsuites`, `testsuite`, `testcase`, `failure`, `skipped`, `properties`, `system-out`). All times are
//! 0, because checking a limit takes no time. The attribute is written because some readers show "NaN" without it.

use super::check_report::{CheckReport, Counts, LimitReport, RunReport, Status, counts};
use super::text::baseline_text;
use base::format::printable;

/// Renders the whole result.
pub fn to_junit(report: &CheckReport) -> String {
    let mut text = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    text.push_str(&format!("<testsuites name=\"crossprof check\" {}>\n", numbers(report.counts)));
    for run in &report.runs {
        push_run(run, &mut text);
    }
    text.push_str("</testsuites>\n");
    text
}

/// An absent number is a failure and not an error, because crossprof itself worked.
fn numbers(counts: Counts) -> String {
    let failures = counts.fail + counts.missing;
    let tests = counts.pass + failures + counts.skipped;
    format!("tests=\"{tests}\" failures=\"{failures}\" errors=\"0\" skipped=\"{}\" time=\"0\"", counts.skipped)
}

fn push_run(run: &RunReport, text: &mut String) {
    let name = escape(&run.run.run_name);
    text.push_str(&format!("  <testsuite name=\"{name}\" {}>\n", numbers(counts(run.limits.iter()))));
    text.push_str("    <properties>\n");
    let baseline = baseline_text(run).map(|baseline| ("baseline", baseline));
    for (key, value) in [("file", run.run.file.clone())].into_iter().chain(baseline) {
        text.push_str(&format!("      <property name=\"{key}\" value=\"{}\"/>\n", escape(&value)));
    }
    text.push_str("    </properties>\n");
    for limit in &run.limits {
        text.push_str(&format!("    <testcase classname=\"{name}\" name=\"{}\" time=\"0\">\n", escape(limit.title())));
        push_outcome(limit, text);
        text.push_str("    </testcase>\n");
    }
    text.push_str("  </testsuite>\n");
}

fn push_outcome(limit: &LimitReport, text: &mut String) {
    let message = escape(&limit.message);
    match limit.status {
        Status::Pass => text.push_str(&format!("      <system-out>{message}</system-out>\n")),
        Status::Skipped => text.push_str(&format!("      <skipped message=\"{message}\"/>\n")),
        Status::Fail | Status::Missing => {
            let kind = limit.status.label();
            text.push_str(&format!("      <failure type=\"{kind}\" message=\"{message}\">{message}\n"));
            text.push_str(&format!("Rule: {}", escape(&limit.rule)));
            if let Some(why) = &limit.why {
                text.push_str(&format!("\nWhy: {}", escape(why)));
            }
            text.push_str("</failure>\n");
        }
    }
}

/// Escapes text for XML elements and attributes. XML cannot represent control characters and the code points U+FFFE and
/// U+FFFF, so they are written as escapes (`\u{fffe}`).
fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in printable(text).chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            '\u{fffe}' | '\u{ffff}' => escaped.extend(c.escape_unicode()),
            c => escaped.push(c),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_markup_and_nothing_is_lost() {
        assert_eq!(escape("a<b & 'c' > \"d\""), "a&lt;b &amp; &#39;c&#39; &gt; &quot;d&quot;");
        let odd = escape("\u{1}\u{fffe}");
        assert!(odd.is_ascii() && odd.contains("fffe"), "{odd}");
    }
}
