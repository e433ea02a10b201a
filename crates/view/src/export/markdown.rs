//! Tables and the headline of a report as Markdown (GitHub's dialect), for issues and notes.

use super::{findings, host, text};
use crate::table::{Cell, Table, Unit, unit};
use crate::tables::{TableName, of_report};
use base::format;
use report::UnifiedProfile;

/// A table with a heading row; numbers as people read them, right-aligned.
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
    text
}

/// The headline figures and the main tables of a run.
pub fn report(profile: &UnifiedProfile) -> String {
    let mut text = format!("## {}\n\n", escape(&text::title(profile)));
    for (label, value) in text::headlines(profile) {
        text.push_str(&format!("- **{label}**: {}\n", escape(&value)));
    }
    text.push_str(&findings::markdown(profile, escape));
    let of_host = if profile.metadata.num_devices == 0 { host::TABLES } else { &[] };
    let of_host = of_host.iter().map(|&(name, heading, ..)| (name, heading));
    for (name, heading) in of_host.chain([
        (TableName::Categories, "Kernel time by category"),
        (TableName::TopKernels, "Top kernels"),
        (TableName::Devices, "Devices"),
        (TableName::Warnings, "Warnings"),
    ]) {
        let Some(table) = of_report(profile, name) else { continue };
        if !table.rows.is_empty() {
            text.push_str(&format!("\n### {heading}\n\n{}", to_markdown(&table)));
        }
    }
    text
}

/// A value as people read it.
pub fn display(cell: &Cell, unit: Unit) -> String {
    match (cell, unit) {
        (Cell::Absent, _) => format::DASH.to_owned(),
        (Cell::Text(text), _) => format::printable(text),
        (Cell::Flag(true), _) => "yes".to_owned(),
        (Cell::Flag(false), _) => String::new(),
        (Cell::Int(value), Unit::Bytes) => format::bytes(*value),
        (Cell::Int(value), Unit::Text | Unit::Count | Unit::Number | Unit::Flag) => format::count(*value),
        // A number without a fraction may be a whole one, whatever its unit.
        (Cell::Int(value), _) => unit::short(*value as f64, unit),
        (Cell::Float(value), _) => unit::short(*value, unit),
    }
}

fn push_row(text: &mut String, cells: &[String]) {
    text.push_str("| ");
    text.push_str(&cells.join(" | "));
    text.push_str(" |\n");
}

/// Text from a trace is never markup: every character that could start any is escaped.
pub fn escape(name: &str) -> String {
    let mut escaped = String::with_capacity(name.len());
    let text = format::printable(name);
    for (at, c) in text.char_indices() {
        // GitHub makes a link of every address.
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
    fn every_number_has_its_unit() {
        let shown = |value: f64, unit: Unit| display(&Cell::Float(value), unit);
        for (unit, text) in [
            (Unit::TimeUs, "1.50 s"),
            (Unit::Percent, "1\u{202f}500\u{202f}000 %"),
            (Unit::Bytes, "1.43 MiB"),
            (Unit::GigabytesPerSecond, "1.50 PB/s"),
            (Unit::GibibytesPerSecond, "1\u{202f}500\u{202f}000 GiB/s"),
            (Unit::GigaflopsPerSecond, "1.50 PFLOP/s"),
            (Unit::Flops, "1.50 MFLOP"),
            (Unit::FlopsPerByte, "1\u{202f}500\u{202f}000 FLOP/B"),
            (Unit::Number, "1\u{202f}500\u{202f}000"),
        ] {
            assert_eq!(shown(1.5e6, unit), text);
        }
        // A whole number of microseconds is a time all the same.
        assert_eq!(display(&Cell::Int(1000), Unit::TimeUs), "1.00 ms");
        assert_eq!(display(&Cell::Int(1000), Unit::Count), "1\u{202f}000");
    }

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
                "| Category | Self time | Share | Count |\n| --- | ---: | ---: | ---: |\n| matmul | 60.5 µs |"
            ),
            "{text}"
        );
    }
}
