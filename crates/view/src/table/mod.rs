//! Tables as values: columns with units, rows of cells, and the questions asked of them (filter, order, the first rows).
//!
//! A table that is made from a run may have a million rows, so it is not built: [`Rows`] gives any cell of it, and
//! [`query`](query()) copies out those rows that are asked for.

mod column;
mod filter;
mod filter_check;
mod passing;
mod query;
mod search;
mod shared;
mod sorts;
pub mod unit;

pub use column::{Column, Kind, column, columns};
pub use filter::{Filter, has_column, is_called, terms};
pub use query::{Query, Sort, asked_rows, query, query_indexed, query_passing};
pub use shared::{SharedColumn, SharedTexts};
pub use sorts::Sorts;
pub use unit::Unit;

use serde::de::{Deserialize, Deserializer, Visitor};
use serde::ser::{Serialize, SerializeMap, SerializeSeq, Serializer};

/// A value. What was not measured is [`Cell::Absent`].
#[derive(Clone, Debug, PartialEq)]
pub enum Cell {
    /// The value was not measured.
    Absent,
    /// Text as in the trace.
    Text(String),
    /// A whole number.
    Int(u64),
    /// A real number.
    Float(f64),
    /// Yes or no.
    Flag(bool),
}

/// Rows under columns.
#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    /// Word of the command line and of file names.
    pub name: &'static str,
    /// The columns.
    pub columns: Vec<Column>,
    /// The rows, each as long as `columns`.
    pub rows: Vec<Vec<Cell>>,
    /// Rows that passed the filter: as many as `rows` unless only some were asked for.
    pub matched_rows: u64,
    /// Rows of the whole table.
    pub total_rows: u64,
}

impl Table {
    /// All rows of a small table.
    pub fn new(name: &'static str, columns: Vec<Column>, rows: Vec<Vec<Cell>>) -> Table {
        let count = rows.len() as u64;
        Table { name, columns, rows, matched_rows: count, total_rows: count }
    }
}

/// A cell of a table that is not built: texts are borrowed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum CellRef<'a> {
    /// The value was not measured.
    Absent,
    /// Text as in the trace.
    Text(&'a str),
    /// A whole number.
    Int(u64),
    /// A real number.
    Float(f64),
    /// Yes or no.
    Flag(bool),
}

impl<'a> CellRef<'a> {
    /// Text; absent where it is empty.
    pub fn text(text: &'a str) -> CellRef<'a> {
        if text.is_empty() { CellRef::Absent } else { CellRef::Text(text) }
    }

    /// A real number, where there is one.
    pub fn float(value: Option<f64>) -> CellRef<'a> {
        value.map_or(CellRef::Absent, CellRef::Float)
    }

    /// A whole number, where there is one.
    pub fn int(value: Option<u64>) -> CellRef<'a> {
        value.map_or(CellRef::Absent, CellRef::Int)
    }

    /// Yes or no, where it is known.
    pub fn flag(value: Option<bool>) -> CellRef<'a> {
        value.map_or(CellRef::Absent, CellRef::Flag)
    }

    /// A copy that stands alone.
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
    /// The value, with its text borrowed.
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

/// A table that gives any of its cells on request, to several threads at once. The values of a column are of its
/// [kind](Column::kind). Rows are in the table's own order, which a query without a sort keeps.
pub trait Rows: Sync {
    /// Word of the command line and of file names.
    fn name(&self) -> &'static str;
    /// The columns.
    fn columns(&self) -> &[Column];
    /// Number of rows.
    fn len(&self) -> usize;
    /// The cell of `row` in the column with index `column`; [`CellRef::Absent`] outside the table.
    fn cell(&self, row: usize, column: usize) -> CellRef<'_>;
    /// The texts that the table keeps once for all cells: a filter searches each of them once. None where each cell has its
    /// own.
    fn shared_texts(&self) -> SharedTexts<'_> {
        SharedTexts::default()
    }
    /// The column with this index, where its texts are shared ones.
    fn shared_column(&self, _column: usize) -> Option<SharedColumn<'_>> {
        None
    }
    /// Says that the cells of these rows are asked for next: a table may work out at once what each would take long for.
    fn prepare(&self, _rows: &[u32]) {}
    /// True without rows.
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

/// An array of objects whose keys are the columns' in their order; what was not measured is `null`.
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

/// Reads what the serialiser writes. Whole numbers come back as [`Cell::Int`], also those that were real numbers without a
/// fraction.
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
