//! What tables of a unified profile have in common: columns that say how their cells are made of a row.

use crate::table::{Cell, Column, Table, columns};

/// A column with how its cell is made of a row.
type ProfileColumn<R> = (Column, fn(&R) -> Cell);

/// All columns of a table.
pub type ProfileColumns<R, const N: usize> = [ProfileColumn<R>; N];

/// The table of these rows.
pub fn of_rows<'a, R: 'a>(
    name: &'static str,
    fields: &[ProfileColumn<R>],
    rows: impl IntoIterator<Item = &'a R>,
) -> Table {
    let row = |row: &R| fields.iter().map(|(_, cell)| cell(row)).collect();
    Table::new(name, columns(fields), rows.into_iter().map(row).collect())
}

/// A text.
pub fn text(text: &str) -> Cell {
    Cell::Text(text.to_owned())
}

/// A text, where there is one.
pub fn optional_text(value: &Option<String>) -> Cell {
    value.as_deref().map_or(Cell::Absent, text)
}

/// A whole number, where there is one.
pub fn int(value: Option<u64>) -> Cell {
    value.map_or(Cell::Absent, Cell::Int)
}

/// A real number, where there is one.
pub fn float(value: Option<f64>) -> Cell {
    value.map_or(Cell::Absent, Cell::Float)
}
