//! Tables as data: columns with units, rows of cells, and queries (filter, order and number of rows).
//!
//! A table of a run may have a million rows, so it is not built in memory. [`Rows`] returns any of
//! its cells, and [`query`](query()) copies only the requested rows.

#![warn(clippy::indexing_slicing, clippy::panic, clippy::unwrap_used)]

mod column;
mod display;
mod filter;
mod filter_check;
mod passing;
mod query;
mod search;
mod shared;
mod sorts;
pub mod unit;

pub use column::{Column, Kind, column, columns};
pub use display::display;
pub use filter::{Filter, has_column, is_called, terms};
pub use query::{Query, Sort, asked_rows, query, query_indexed, query_passing};
pub use shared::{SharedColumn, SharedTexts};
pub use sorts::Sorts;
pub use unit::Unit;

use serde::de::{Deserialize, Deserializer, Visitor};
use serde::ser::{Serialize, SerializeMap, SerializeSeq, Serializer};

/// Value of a cell. [`Cell::Absent`] if the value was not measured.
#[derive(Clone, Debug, PartialEq)]
pub enum Cell {
    /// Not measured.
    Absent,
    /// Text as in the trace.
    Text(String),
    /// Integer.
    Int(u64),
    /// Real number.
    Float(f64),
    /// Yes or no.
    Flag(bool),
}

/// Table with all of its cells.
#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    /// Name on the command line and in file names.
    pub name: &'static str,
    /// Columns of the table.
    pub columns: Vec<Column>,
    /// Rows, each as long as `columns`.
    pub rows: Vec<Vec<Cell>>,
    /// Number of rows that passed the filter. `rows` contains fewer if the query limits their number.
    pub matched_rows: u64,
    /// Number of rows of the whole table.
    pub total_rows: u64,
}

impl Table {
    /// Creates a table from all rows of a small table.
    pub fn new(name: &'static str, columns: Vec<Column>, rows: Vec<Vec<Cell>>) -> Table {
        let count = rows.len() as u64;
        Table { name, columns, rows, matched_rows: count, total_rows: count }
    }
}

/// Cell of a table that is not built in memory. Texts are borrowed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum CellRef<'a> {
    /// Not measured.
    Absent,
    /// Text as in the trace.
    Text(&'a str),
    /// Integer.
    Int(u64),
    /// Real number.
    Float(f64),
    /// Yes or no.
    Flag(bool),
}

impl<'a> CellRef<'a> {
    /// Creates a text. The cell is absent if the text is empty.
    pub fn text(text: &'a str) -> CellRef<'a> {
        if text.is_empty() { CellRef::Absent } else { CellRef::Text(text) }
    }

    /// Creates a real number, or an absent cell.
    pub fn float(value: Option<f64>) -> CellRef<'a> {
        value.map_or(CellRef::Absent, CellRef::Float)
    }

    /// Creates an integer, or an absent cell.
    pub fn int(value: Option<u64>) -> CellRef<'a> {
        value.map_or(CellRef::Absent, CellRef::Int)
    }

    /// Creates a flag, or an absent cell.
    pub fn flag(value: Option<bool>) -> CellRef<'a> {
        value.map_or(CellRef::Absent, CellRef::Flag)
    }

    /// Returns an owned copy.
    pub fn to_cell(self) -> Cell {
        match self {
            CellRef::Absent => Cell::Absent,
            CellRef::Text(text) => Cell::Text(text.to_owned()),
            CellRef::Int(value) => Cell::Int(value),
            CellRef::Float(value) => Cell::Float(value),
            CellRef::Flag(value) => Cell::Flag(value),
        }
    }
}

impl Cell {
    /// Returns the value with borrowed text.
    pub fn as_ref(&self) -> CellRef<'_> {
        match self {
            Cell::Absent => CellRef::Absent,
            Cell::Text(text) => CellRef::Text(text),
            Cell::Int(value) => CellRef::Int(*value),
            Cell::Float(value) => CellRef::Float(*value),
            Cell::Flag(value) => CellRef::Flag(*value),
        }
    }
}

/// Table that returns individual cells on request. Several threads can use the table at once. Each value of a column
/// has the column's [kind](Column::kind). Rows are in the table's own order, which a query without a sort keeps.
pub trait Rows: Sync {
    /// Returns the name on the command line and in file names.
    fn name(&self) -> &'static str;
    /// Returns the columns.
    fn columns(&self) -> &[Column];
    /// Returns the number of rows.
    fn len(&self) -> usize;
    /// Returns the cell of `row` in the column with index `column`. Returns [`CellRef::Absent`] outside
    /// the table.
    fn cell(&self, row: usize, column: usize) -> CellRef<'_>;
    /// Returns the texts that cells share. A filter searches each of them only once. Empty if each cell has its own text.
    fn shared_texts(&self) -> SharedTexts<'_> {
        SharedTexts::default()
    }
    /// Returns the column with this index if its texts are shared.
    fn shared_column(&self, _column: usize) -> Option<SharedColumn<'_>> {
        None
    }
    /// Announces a request for the cells of these rows. A table can then compute the values for all rows at once, which is
    /// faster than computing them cell by cell.
    fn prepare(&self, _rows: &[u32]) {}
    /// Returns true if the table has no rows.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl Rows for Table {
    fn name(&self) -> &'static str {
        self.name
    }

    fn columns(&self) -> &[Column] {
        &self.columns
    }

    fn len(&self) -> usize {
        self.rows.len()
    }

    fn cell(&self, row: usize, column: usize) -> CellRef<'_> {
        self.rows.get(row).and_then(|row| row.get(column)).map_or(CellRef::Absent, Cell::as_ref)
    }
}

/// Writes an array of objects whose keys are the columns' keys in order. Absent values are `null`.
impl Serialize for Table {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut rows = serializer.serialize_seq(Some(self.rows.len()))?;
        for row in &self.rows {
            rows.serialize_element(&Row { columns: &self.columns, cells: row })?;
        }
        rows.end()
    }
}

struct Row<'a> {
    columns: &'a [Column],
    cells: &'a [Cell],
}

impl Serialize for Row<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.cells.len()))?;
        for (column, cell) in self.columns.iter().zip(self.cells) {
            map.serialize_entry(column.key, cell)?;
        }
        map.end()
    }
}

impl Serialize for Cell {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Cell::Absent => serializer.serialize_none(),
            Cell::Text(text) => serializer.serialize_str(text),
            Cell::Int(value) => serializer.serialize_u64(*value),
            Cell::Float(value) => serializer.serialize_f64(*value),
            Cell::Flag(value) => serializer.serialize_bool(*value),
        }
    }
}

/// Reads the output of the serialiser. Integers become [`Cell::Int`], including real numbers
/// without a fraction.
impl<'de> Deserialize<'de> for Cell {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Cell, D::Error> {
        struct CellVisitor;
        impl Visitor<'_> for CellVisitor {
            type Value = Cell;
            fn expecting(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                formatter.write_str("a text, a number, a truth value or null")
            }
            fn visit_unit<E>(self) -> Result<Cell, E> {
                Ok(Cell::Absent)
            }
            fn visit_str<E>(self, text: &str) -> Result<Cell, E> {
                Ok(Cell::Text(text.to_owned()))
            }
            fn visit_u64<E>(self, value: u64) -> Result<Cell, E> {
                Ok(Cell::Int(value))
            }
            fn visit_i64<E>(self, value: i64) -> Result<Cell, E> {
                Ok(Cell::Float(value as f64))
            }
            fn visit_f64<E>(self, value: f64) -> Result<Cell, E> {
                Ok(Cell::Float(value))
            }
            fn visit_bool<E>(self, value: bool) -> Result<Cell, E> {
                Ok(Cell::Flag(value))
            }
        }
        deserializer.deserialize_any(CellVisitor)
    }
}
