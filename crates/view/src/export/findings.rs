//! What to do first, for the one screen of a terminal and for Markdown: the three most important findings.

use super::columns::SENTENCE;
use crate::most_time::most_time;
use crate::table::{Cell, Table};
use base::format::{self, printable, shorten};
use report::{Finding, FindingSeverity, UnifiedProfile};

/// Findings on the one screen; `crossprof table findings` prints them all.
const FIRST: usize = 3;

/// The findings that fired, the most important first.
fn fired(profile: &UnifiedProfile) -> impl Iterator<Item = &Finding> {
    profile.findings.iter().filter(|finding| finding.severity != FindingSeverity::NotChecked)
}

/// A heading and, for each of the first findings, its line and what was seen, at most `width` wide; then what takes most of the
/// time. Empty where none fired and no op ran.
pub(super) fn text(profile: &UnifiedProfile, width: usize) -> String {
    let count = fired(profile).count();
    let most_time = most_time(profile);
    if count == 0 && most_time.is_none() {
        return String::new();
    }
    let mut text = "\nWhat to do first\n".to_owned();
    let mut push = |severity: FindingSeverity, title: &str, message: &str| {
        text.push_str(&format!("  {:<10}{}\n", severity.label(), shorten(&printable(title), SENTENCE)));
        let lines = wrapped(&shorten(&printable(message), SENTENCE), width.saturating_sub(12));
        for line in lines.iter().filter(|line| !line.is_empty()) {
            text.push_str(&format!("{:12}{line}\n", ""));
        }
    };
    for finding in fired(profile).take(FIRST) {
        push(finding.severity, &finding.title, &finding.message);
    }
    // What the shares are of stands in the table of categories below.
    if let Some(found) = most_time {
        push(FindingSeverity::Note, &found.title, "");
    }
    if count == 0 {
        return text;
    }
    let left = count.saturating_sub(FIRST);
    let more = if left > 0 { format!("and {} more: ", format::count(left as u64)) } else { "remedies: ".to_owned() };
    text.push_str(&format!("  {more}crossprof table findings\n"));
    text
}

/// The findings as a Markdown list, with the remedies, and what takes most of the time; `escape` makes text from a trace harmless.
pub(super) fn markdown(profile: &UnifiedProfile, escape: fn(&str) -> String) -> String {
    let item = |severity: FindingSeverity, title: &str, text: &str| {
        format!("1. **{}** ({}): {}\n", escape(title), severity.label(), escape(text.trim_end()))
    };
    let first = fired(profile).take(FIRST);
    let mut items: Vec<String> =
        first.map(|it| item(it.severity, &it.title, &format!("{} {}", it.message, it.remedy))).collect();
    items.extend(most_time(profile).map(|found| item(FindingSeverity::Note, &found.title, &found.text)));
    if items.is_empty() { String::new() } else { format!("\n### What to do first\n\n{}", items.concat()) }
}

/// A table of findings as a list, since sentences do not fit in columns: severity, rule and title, then what was seen, what to
/// do and the numbers, each where the table has it.
pub(super) fn list(table: &Table, width: usize) -> String {
    let mut text = String::new();
    for row in &table.rows {
        let cell = |key: &str| {
            let position = table.columns.iter().position(|column| column.key == key);
            match position.and_then(|position| row.get(position)) {
                Some(Cell::Text(text)) => shorten(&printable(text), SENTENCE),
                _ => String::new(),
            }
        };
        text.push_str(&format!("{:<13}{:<26}{}\n", cell("severity"), cell("id"), cell("title")));
        for (label, key) in [("", "message"), ("What to do: ", "remedy"), ("Numbers: ", "evidence")] {
            let value = cell(key);
            for line in
                wrapped(&format!("{label}{value}"), width.saturating_sub(13)).iter().filter(|_| !value.is_empty())
            {
                text.push_str(&format!("{:13}{line}\n", ""));
            }
        }
    }
    text
}

/// Lines of whole words, each at most `width` characters unless a word is longer.
pub(super) fn wrapped(text: &str, width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split(' ') {
        match lines.last_mut() {
            Some(line) if line.chars().count() + 1 + word.chars().count() <= width => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use report::Confidence;

    fn profile(count: usize) -> UnifiedProfile {
        let finding = |number: usize| Finding {
            id: "idle_gaps".to_owned(),
            severity: FindingSeverity::Warning,
            confidence: Confidence::High,
            title: format!("Finding {number}"),
            message: "Seen: <b>. ".to_owned() + &"word ".repeat(30),
            remedy: "Do it.".to_owned(),
            evidence: Vec::new(),
            time_at_stake_percent: None,
            view: None,
            filter: None,
        };
        let mut profile = report::example::profile();
        profile.findings = (0..count).map(finding).collect();
        profile.findings.push(Finding { severity: FindingSeverity::NotChecked, ..finding(99) });
        profile
    }

    #[test]
    fn three_are_told_and_the_rest_counted() {
        assert_eq!(text(&UnifiedProfile::default(), 100), "");
        // The example's ops take 60.5 µs and 39.5 µs.
        let named = "  note      Most time: 60.5 % matmul, 39.5 % copy\n";
        assert_eq!(text(&profile(0), 100), format!("\nWhat to do first\n{named}"));
        let five = text(&profile(5), 60);
        assert!(five.contains("  warning   Finding 0\n") && five.contains("Finding 2") && !five.contains("Finding 3"));
        assert!(five.ends_with(&format!("{named}  and 2 more: crossprof table findings\n")), "{five}");
        assert!(five.lines().all(|line| line.chars().count() <= 60), "{five}");
        assert!(text(&profile(2), 100).ends_with("  remedies: crossprof table findings\n"));
    }

    #[test]
    fn a_table_of_findings_is_a_list() {
        let table = crate::tables::of_report(&profile(1), crate::tables::TableName::Findings).unwrap();
        let text = list(&table, 60);
        assert!(
            text.starts_with("warning      idle_gaps                 Finding 0\n             Seen: <b>. word"),
            "{text}"
        );
        assert!(text.contains("\n             What to do: Do it.\nnot_checked  idle_gaps"), "{text}");
        assert!(!text.contains("Numbers") && text.lines().all(|line| line.chars().count() <= 60), "{text}");
    }

    #[test]
    fn markdown_lists_them_with_remedies() {
        assert_eq!(markdown(&UnifiedProfile::default(), str::to_owned), "");
        let list = markdown(&profile(4), |text| text.replace('<', "&lt;"));
        assert!(list.starts_with("\n### What to do first\n\n1. **Finding 0** (warning): Seen: &lt;b>. word"), "{list}");
        assert!(list.contains("Do it.") && !list.contains("Finding 3"), "{list}");
        assert!(list.ends_with(
            "1. **Most time: 60.5 % matmul, 39.5 % copy** (note): Of the 100 µs of device ops in the window.\n"
        ));
    }
}
