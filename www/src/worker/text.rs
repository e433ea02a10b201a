//! Tables as texts.

use crossprof::export::{csv, markdown};
use crossprof::table::Table;

use crate::protocol::analyst::TextFormat;
use crate::table::cell;

/// A table in the format that is asked for.
pub fn text(table: &Table, format: TextFormat) -> String {
    match format {
        TextFormat::Csv => csv::to_csv(table),
        TextFormat::Tsv => cell::tsv(&table.columns, &table.rows),
        TextFormat::Markdown => markdown::to_markdown(table),
    }
}
