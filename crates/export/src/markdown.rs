//! Writes tables and the headline of a report as Markdown (GitHub's dialect), for issues and notes.

use super::text;
use base::home::shared;
use document::markup::push_row;
use pages::sections::sections;
use report::UnifiedProfile;
use table::{Cell, Table, Unit, display};

pub use document::markup::escape;

/// Returns a table with a header. Numbers are rounded for readers and right-aligned.
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

#[cfg(test)]
mod tests {
    use super::*;

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
