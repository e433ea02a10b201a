//! Renders the findings table as a list, because sentences do not fit in columns.

use base::format::{printable, shorten};
use document::columns::SENTENCE;
use document::terminal::wrapped;
use table::{Cell, Table};

/// Renders the severity, rule and title of each finding. The evidence, the remedy and the numbers follow if the table
/// has columns for them.
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

#[cfg(test)]
mod tests {
    use super::*;
    use report::{Confidence, Finding, FindingSeverity, UnifiedProfile};

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
    fn a_table_of_findings_is_a_list() {
        let table = tables::of_report(&profile(1), tables::TableName::Findings).unwrap();
        let text = list(&table, 60);
        assert!(
            text.starts_with("warning      idle_gaps                 Finding 0\n             Seen: <b>. word"),
            "{text}"
        );
        assert!(text.contains("\n             What to do: Do it.\nnot_checked  idle_gaps"), "{text}");
        assert!(!text.contains("Numbers") && text.lines().all(|line| line.chars().count() <= 60), "{text}");
    }
}
