//! What a table shows: which rows, in which order, and which of them lie in the window. Pure values.

pub mod cell;
pub mod filter;
pub mod sort;
pub mod window;

use crossprof::export::tables::{Cell, Table};

use filter::Filter;
use sort::Order;

/// The rows that pass a filter, in an order (the table's own where none is given).
pub fn select(table: &Table, filter: &str, order: Option<Order>) -> Vec<Vec<Cell>> {
    let filter = Filter::parse(filter);
    let texts = |row: &Vec<Cell>| -> Vec<String> {
        row.iter()
            .zip(&table.columns)
            .map(|(cell, column)| match cell {
                Cell::Text(text) => text.clone(),
                Cell::Flag(true) => column.title.to_owned(),
                other => cell::short(other, column.unit, cell::WHOLE_CHARS),
            })
            .collect()
    };
    let passes = |row: &&Vec<Cell>| filter.is_empty() || filter.passes(texts(row).iter().map(String::as_str));
    let mut rows: Vec<Vec<Cell>> = table.rows.iter().filter(passes).cloned().collect();
    if let Some(order) = order {
        sort::sort(&mut rows, order);
    }
    rows
}
