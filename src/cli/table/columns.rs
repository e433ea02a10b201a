//! `crossprof table --columns`: prints the columns of tables, without reading a file.

use crossprof::export::{csv, json, text};
use crossprof::table::unit::word;
use crossprof::table::{Cell, Unit, column, query};
use crossprof::tables::{columns_of, columns_of_form};
use crossprof::{Column, Query, Sort, Table as Made, TableName};

use super::super::args::{Table, TableFormat};
use super::super::{FAILED, READ, complain, print_result};
use super::{fitting, known_form};

const COLUMNS: [Column; 6] = [
    column("table", "Table", Unit::Text, "The table."),
    column("key", "Key", Unit::Text, "Name used in files, filters and sort orders."),
    column("heading", "Heading", Unit::Text, "Heading that users see."),
    column("unit", "Unit", Unit::Text, "Unit of the numbers."),
    column("type", "Type", Unit::Text, "Type of the values in Arrow."),
    column("description", "Description", Unit::Text, "Meaning of the values."),
];

/// Prints the columns of one table, or of all tables, and returns the exit status.
pub(super) fn run(command: &Table, one: Option<TableName>) -> u8 {
    match listed(command, one) {
        Ok(table) => {
            let printed = match command.format {
                TableFormat::Text => text::table_text(&table, false),
                TableFormat::Csv => csv::to_csv(&table),
                TableFormat::Json => json::table(&table),
            };
            print_result(&printed, READ)
        }
        Err(message) => {
            complain(&message);
            FAILED
        }
    }
}

fn listed(command: &Table, one: Option<TableName>) -> Result<Made, String> {
    let tables: Vec<TableName> = one.map_or(TableName::ALL.to_vec(), |one| vec![one]);
    let mut rows = Vec::new();
    for &name in &tables {
        let of_table = if command.by.is_empty() {
            columns_of(name)
        } else {
            known_form(name, &command.by)?;
            columns_of_form(name, &command.by)
        };
        rows.extend(
            of_table.into_iter().map(|it| {
                [name.key(), it.key, it.title, word(it.unit), it.kind.name(), it.definition].map(cell).to_vec()
            }),
        );
    }
    let query_of =
        Query { filter: command.filter.clone(), sort: command.sort.as_deref().map(Sort::parse), top: command.top };
    let table = query(&Made::new("columns", COLUMNS.to_vec(), rows), &query_of);
    fitting("columns", &table.columns, &query_of, table.matched_rows)?;
    Ok(table)
}

fn cell(text: &str) -> Cell {
    if text.is_empty() { Cell::Absent } else { Cell::Text(text.to_owned()) }
}
