//! Tables as text.

use crossprof::export::{csv, markdown};
use crossprof::table::Table;

use crate::protocol::analyst::TextFormat;
use crate::table::cell;

/// Formats a table.
pub fn text(table: &Table, format: TextFormat) -> String {
    match format {
        TextFormat::Csv => csv::to_csv(table),
        TextFormat::Tsv => cell::tsv(&table.columns, &table.rows),
        TextFormat::Markdown => markdown::to_markdown(table),
    }
}
