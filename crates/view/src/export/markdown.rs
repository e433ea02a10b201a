//! Writes tables and the headline of a report as Markdown (GitHub's dialect), for issues and notes.

use super::text;
use super::value::display;
use crate::document;
use crate::pages::sections::sections;
use crate::table::{Cell, Table, Unit};
use base::format;
use base::home::shared;
use report::UnifiedProfile;

/// Returns a table with a header. Numbers are formatted for readers and right-aligned.
pub fn to_markdown(table: &Table) -> String {
    let mut text = String::new();
    let titles: Vec<String> = table.columns.iter().map(|column| column.title.to_owned()).collect();
    push_row(&mut text, &titles);
    let rules: Vec<String> =
        table.columns.iter().map(|c| if c.unit == Unit::Text { "---" } else { "---:" }.to_owned()).collect();
    push_row(&mut text, &rules);
    for row in &table.rows {
        let cells: Vec<String> = table
            .columns
            .iter()
            .zip(row)
            .map(|(column, cell)| match cell {
                Cell::Text(name) => escape(name),
                other => display(other, column.unit),
            })
            .collect();
        push_row(&mut text, &cells);
    }
    shared(text)
}

/// Returns the headline figures and the main tables of a run.
pub fn report(profile: &UnifiedProfile) -> String {
    shared(format!("## {}\n\n{}", escape(&text::title(profile)), document::markdown::render(&sections(profile))))
}

/// Appends a row of cells that are already Markdown.
pub(crate) fn push_row(text: &mut String, cells: &[String]) {
    text.push_str("| ");
    text.push_str(&cells.join(" | "));
    text.push_str(" |\n");
}

/// Escapes every character that could start markup, so that text from a trace is never markup.
pub fn escape(name: &str) -> String {
    let mut escaped = String::with_capacity(name.len());
    let text = format::printable(name);
    for (at, c) in text.char_indices() {
        // GitHub turns every address into a link.
        let begins_link = match c {
            ':' => text.get(at..).is_some_and(|rest| rest.starts_with("://")),
            '.' => text.get(..at).is_some_and(|before| before.to_ascii_lowercase().ends_with("www")),
            _ => false,
        };
        match c {
            _ if begins_link => escaped.extend(['\\', c]),
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '\\' | '|' | '*' | '_' | '`' | '[' | ']' | '#' | '~' | '$' | '@' => {
                escaped.push('\\');
                escaped.push(c);
            }
            c => escaped.push(c),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_never_become_markup() {
        assert_eq!(escape("<img onerror=x>|*a_b*"), "&lt;img onerror=x>\\|\\*a\\_b\\*");
        assert_eq!(escape("[x](javascript:1)\n# h"), "\\[x\\](javascript:1) \\# h");
        assert_eq!(escape("see http://a.b, WWW.a.b: 1.5"), "see http\\://a.b, WWW\\.a.b: 1.5");
    }

    #[test]
    fn the_report_has_its_tables() {
        let text = report(&report::example::profile());
        assert!(text.starts_with("## demo, TPU v6 Lite"), "{text}");
        assert!(
            text.contains(
                "### Kernel time by category\n\n|  |  |  |\n| --- | ---: | ---: |\n| matmul | 60.5 µs | 60.5 % |"
            ),
            "{text}"
        );
    }
}
