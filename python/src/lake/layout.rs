//! The tables of a lake, as `crossprof/lake/_schema.py` declares them, and the cells of their rows.

use std::sync::Arc;

use crossprof::table::CellRef;
use crossprof::text::home;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use serde::Deserialize;
use serde_json::Value;

/// A column of a table.
#[derive(Deserialize)]
pub(super) struct Field {
    pub(super) name: String,
    #[serde(rename = "type")]
    pub(super) kind: Kind,
    pub(super) unit: String,
    /// Path of the value in a record of the profile, or column of the native table. Empty if the lake computes the value.
    pub(super) source: Vec<String>,
}

/// Type of the values of a column.
#[derive(Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Kind {
    Int64,
    Double,
    String,
    Bool,
    /// Microseconds since 1970-01-01 UTC.
    Timestamp,
}

/// A table.
#[derive(Deserialize)]
pub(super) struct Table {
    /// All columns. The columns that every table has come first.
    pub(super) fields: Vec<Field>,
    /// Columns by which the rows are sorted.
    pub(super) sort: Vec<String>,
}

/// Cells of a row, in the order of [`Table::fields`].
pub(super) type Row = Vec<Cell>;

/// A value in a row.
#[derive(Clone, PartialEq, PartialOrd)]
pub(super) enum Cell {
    /// Not measured.
    Null,
    Flag(bool),
    /// Integer, or the time of a [`Kind::Timestamp`].
    Int(i64),
    Float(f64),
    Text(Arc<str>),
}

impl Cell {
    /// Returns the cell for a column under construction.
    pub(super) fn as_ref(&self) -> CellRef<'_> {
        match self {
            Cell::Null => CellRef::Absent,
            Cell::Flag(flag) => CellRef::Flag(*flag),
            Cell::Int(value) => u64::try_from(*value).map_or(CellRef::Float(*value as f64), CellRef::Int),
            Cell::Float(value) => CellRef::Float(*value),
            Cell::Text(text) => CellRef::Text(text),
        }
    }

    /// Creates a text without home folders, because lakes are shared.
    pub(super) fn text(text: &str) -> Cell {
        Cell::Text(if home::may_have(text) { home::shared(text.to_owned()).into() } else { text.into() })
    }
}

impl Table {
    /// Returns the position of a column.
    pub(super) fn place(&self, name: &str) -> Option<usize> {
        self.fields.iter().position(|field| field.name == name)
    }

    /// Returns a row with the values in a dict. Columns that the dict lacks are null.
    ///
    /// # Errors
    ///
    /// Fails if a value does not have the type of its column.
    pub(super) fn row_of(&self, values: &Bound<'_, PyDict>) -> PyResult<Row> {
        let cell = |field: &Field| match values.get_item(&field.name)? {
            Some(value) if !value.is_none() => Ok(match field.kind {
                Kind::Int64 | Kind::Timestamp => Cell::Int(value.extract()?),
                Kind::Double => Cell::Float(value.extract()?),
                Kind::Bool => Cell::Flag(value.extract()?),
                Kind::String => Cell::Text(value.extract::<String>()?.into()),
            }),
            _ => Ok(Cell::Null),
        };
        self.fields.iter().map(cell).collect()
    }

    /// Sorts rows by the columns of [`Table::sort`]. A null comes before every value.
    pub(super) fn sort(&self, rows: &mut [Row]) {
        let places: Vec<usize> = self.sort.iter().filter_map(|name| self.place(name)).collect();
        rows.sort_by(|one, other| {
            let order =
                places.iter().map(|&at| one.get(at).partial_cmp(&other.get(at)).unwrap_or(std::cmp::Ordering::Equal));
            order.fold(std::cmp::Ordering::Equal, std::cmp::Ordering::then)
        });
    }
}

impl Field {
    /// Converts a number of microseconds, FLOPs, bytes or occurrences to the type and unit of the column. The number becomes
    /// null if it does not fit.
    pub(super) fn number(&self, value: f64) -> Cell {
        let value = if self.unit == "ps" { value * 1e6 } else { value };
        match self.kind {
            Kind::Double => Cell::Float(value),
            // 2^63, to which the largest i64 is rounded, does not fit.
            Kind::Int64 if (i64::MIN as f64..i64::MAX as f64).contains(&value) => {
                Cell::Int(value.round_ties_even() as i64)
            }
            _ => Cell::Null,
        }
    }

    /// Converts an integer to the type of the column. The number becomes null if it does not fit.
    pub(super) fn integer(&self, value: u64) -> Cell {
        match self.kind {
            Kind::Int64 if self.unit != "ps" => i64::try_from(value).map_or(Cell::Null, Cell::Int),
            _ => self.number(value as f64),
        }
    }

    /// Converts a value of the profile to the type and unit of the column. A column of texts contains other values as JSON.
    pub(super) fn cell_of(&self, value: &Value) -> Cell {
        match (value, self.kind) {
            (Value::Null, _) => Cell::Null,
            (Value::String(text), Kind::String) => Cell::text(text),
            (_, Kind::String) => Cell::text(&value.to_string()),
            (Value::Bool(flag), Kind::Bool) => Cell::Flag(*flag),
            (Value::Number(number), _) => match (number.as_u64(), number.as_f64()) {
                (Some(whole), _) => self.integer(whole),
                (None, Some(number)) => self.number(number),
                (None, None) => Cell::Null,
            },
            _ => Cell::Null,
        }
    }
}
