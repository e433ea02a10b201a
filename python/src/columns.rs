//! A table as columns, in the memory layout of Apache Arrow: what Python makes arrays of without looking at a single cell.

use crossprof::table::unit::word;
use crossprof::{Cell, Table};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

/// A column.
pub struct Column {
    key: &'static str,
    title: &'static str,
    unit: &'static str,
    description: &'static str,
    /// `float`, `int`, `flag`, `text`, or `absent` where no cell has a value.
    kind: &'static str,
    /// A bit a row, the lowest of the first byte first: whether it has a value.
    validity: Vec<u8>,
    /// Where the text of each row begins in `data`, and where the last one ends: 64 bits each. Empty where the cells are no texts.
    offsets: Vec<u8>,
    /// Eight bytes a row; a bit a row of flags; the texts one after the other.
    data: Vec<u8>,
}

/// `(key, title, unit, description, kind, validity, offsets, data)`
impl<'py> IntoPyObject<'py> for Column {
    type Target = PyAny;
    type Output = Bound<'py, PyAny>;
    type Error = PyErr;

    fn into_pyobject(self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let bytes = |bytes: &[u8]| PyBytes::new(py, bytes);
        let (validity, offsets, data) = (bytes(&self.validity), bytes(&self.offsets), bytes(&self.data));
        let fields = (self.key, self.title, self.unit, self.description, self.kind, validity, offsets, data);
        Ok(fields.into_pyobject(py)?.into_any())
    }
}

/// The columns of a table.
pub fn of(table: &Table) -> Vec<Column> {
    let columns = table.columns.iter().enumerate();
    let of_column = |(index, column): (usize, &crossprof::Column)| {
        let cells = || table.rows.iter().map(move |row| row.get(index).unwrap_or(&Cell::Absent));
        let mut made = Column {
            key: column.key,
            title: column.title,
            unit: word(column.unit),
            description: column.definition,
            kind: kind(cells()),
            validity: bits(cells().map(|cell| !matches!(cell, Cell::Absent))),
            offsets: Vec::new(),
            data: Vec::new(),
        };
        match made.kind {
            "float" => made.data = cells().flat_map(|cell| number(cell).to_ne_bytes()).collect(),
            "int" => made.data = cells().flat_map(|cell| integer(cell).to_ne_bytes()).collect(),
            "flag" => made.data = bits(cells().map(|cell| matches!(cell, Cell::Flag(true)))),
            "text" => {
                let mut end = 0_i64;
                made.offsets.extend(end.to_ne_bytes());
                for cell in cells() {
                    let text = text(cell);
                    made.data.extend_from_slice(text.as_bytes());
                    end += text.len() as i64;
                    made.offsets.extend(end.to_ne_bytes());
                }
            }
            _ => {}
        }
        made
    };
    columns.map(of_column).collect()
}

/// What the cells of a column are. Whole numbers among real ones count as these; anything beside texts is written as a text.
fn kind<'t>(cells: impl Iterator<Item = &'t Cell>) -> &'static str {
    cells.fold("absent", |kind, cell| match (kind, cell) {
        (kind, Cell::Absent) => kind,
        ("absent" | "float", Cell::Float(_)) | ("int", Cell::Float(_)) | ("float", Cell::Int(_)) => "float",
        ("absent" | "int", Cell::Int(_)) => "int",
        ("absent" | "flag", Cell::Flag(_)) => "flag",
        _ => "text",
    })
}

/// A bit a row, the lowest of the first byte first.
fn bits(rows: impl Iterator<Item = bool>) -> Vec<u8> {
    let mut bytes = Vec::new();
    for (index, is_set) in rows.enumerate() {
        if index % 8 == 0 {
            bytes.push(0);
        }
        if let Some(byte) = bytes.last_mut() {
            *byte |= u8::from(is_set) << (index % 8);
        }
    }
    bytes
}

fn number(cell: &Cell) -> f64 {
    match cell {
        Cell::Float(number) => *number,
        Cell::Int(number) => *number as f64,
        _ => f64::NAN,
    }
}

fn integer(cell: &Cell) -> u64 {
    match cell {
        Cell::Int(number) => *number,
        _ => 0,
    }
}

fn text(cell: &Cell) -> String {
    match cell {
        Cell::Absent => String::new(),
        Cell::Text(text) => text.clone(),
        Cell::Int(number) => number.to_string(),
        Cell::Float(number) => number.to_string(),
        Cell::Flag(flag) => flag.to_string(),
    }
}
