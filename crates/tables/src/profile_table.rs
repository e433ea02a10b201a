//! Common parts of tables from a unified profile: columns with a function that makes the cell of a
//! row.

use table::{Cell, Column, Table, columns};

/// Column with the function that makes its cell from a row.
type ProfileColumn<R> = (Column, fn(&R) -> Cell);

/// All columns of a table.
pub(crate) type ProfileColumns<R, const N: usize> = [ProfileColumn<R>; N];

/// Creates the table from these rows.
pub(crate) fn of_rows<'a, R: 'a>(
    name: &'static str,
    fields: &[ProfileColumn<R>],
    rows: impl IntoIterator<Item = &'a R>,
) -> Table {
    let row = |row: &R| fields.iter().map(|(_, cell)| cell(row)).collect();
    Table::new(name, columns(fields), rows.into_iter().map(row).collect())
}

/// Creates a text.
pub(crate) fn text(text: &str) -> Cell {
    Cell::Text(text.to_owned())
}

/// Creates a text, or an absent cell.
pub(crate) fn optional_text(value: &Option<String>) -> Cell {
    value.as_deref().map_or(Cell::Absent, text)
}

/// Creates an integer, or an absent cell.
pub(crate) fn int(value: Option<u64>) -> Cell {
    value.map_or(Cell::Absent, Cell::Int)
}

/// Creates a real number, or an absent cell.
pub(crate) fn float(value: Option<f64>) -> Cell {
    value.map_or(Cell::Absent, Cell::Float)
}
