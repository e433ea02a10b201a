//! A table as columns, in the memory layout of Apache Arrow: what Python makes arrays of without looking at a single cell.

use std::borrow::Cow;

use crossprof::table::unit::word;
use crossprof::table::{CellRef, Rows};
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

/// The columns of the rows with these indices.
pub fn of(rows: &dyn Rows, asked: &[u32]) -> Vec<Column> {
    let columns = rows.columns().iter().enumerate();
    let of_column = |(index, column): (usize, &crossprof::Column)| {
        let cells = || asked.iter().map(move |&row| rows.cell(row as usize, index));
        let Values { kind, validity, offsets, data } = values(cells, asked.len());
        let (key, title, unit, description) = (column.key, column.title, word(column.unit), column.definition);
        Column { key, title, unit, description, kind, validity, offsets, data }
    };
    columns.map(of_column).collect()
}

/// What the cells of a column come to; see [`Column`]. Where there is no value stands a 0 or an empty text.
struct Values {
    kind: &'static str,
    validity: Vec<u8>,
    offsets: Vec<u8>,
    data: Vec<u8>,
}

/// The values of a column. Whole numbers among real ones count as these; anything beside texts is written as a text.
fn values<'t, Cells: Iterator<Item = CellRef<'t>>>(cells: impl Fn() -> Cells, rows: usize) -> Values {
    let real = || numbers("float", cells(), rows, |cell| real(cell).map(f64::to_ne_bytes));
    let of_one_kind = match cells().find(|cell| *cell != CellRef::Absent) {
        None => return absent(rows),
        Some(CellRef::Flag(_)) => flags(cells(), rows),
        Some(CellRef::Float(_)) => real(),
        Some(CellRef::Int(_)) => numbers("int", cells(), rows, |cell| whole(cell).map(u64::to_ne_bytes)).or_else(real),
        Some(_) => None,
    };
    of_one_kind.unwrap_or_else(|| texts(cells(), rows))
}

/// `None` where a cell is no such number.
fn numbers<'t>(
    kind: &'static str,
    cells: impl Iterator<Item = CellRef<'t>>,
    rows: usize,
    number: impl Fn(CellRef<'t>) -> Option<[u8; 8]>,
) -> Option<Values> {
    let (mut validity, mut data) = (Bits::with_capacity(rows), Vec::with_capacity(8 * rows));
    for cell in cells {
        let is_there = cell != CellRef::Absent;
        data.extend_from_slice(&if is_there { number(cell)? } else { [0; 8] });
        validity.push(is_there);
    }
    Some(Values { kind, validity: validity.finish(), offsets: Vec::new(), data })
}

fn absent(rows: usize) -> Values {
    Values { kind: "absent", validity: vec![0; rows.div_ceil(8)], offsets: Vec::new(), data: Vec::new() }
}

/// `None` where a cell is something else than yes, no or absent.
fn flags<'t>(cells: impl Iterator<Item = CellRef<'t>>, rows: usize) -> Option<Values> {
    let (mut validity, mut set) = (Bits::with_capacity(rows), Bits::with_capacity(rows));
    for cell in cells {
        let (is_there, is_set) = match cell {
            CellRef::Absent => (false, false),
            CellRef::Flag(is_set) => (true, is_set),
            _ => return None,
        };
        validity.push(is_there);
        set.push(is_set);
    }
    Some(Values { kind: "flag", validity: validity.finish(), offsets: Vec::new(), data: set.finish() })
}

fn texts<'t>(cells: impl Iterator<Item = CellRef<'t>>, rows: usize) -> Values {
    let (mut validity, mut offsets, mut data) =
        (Bits::with_capacity(rows), Vec::with_capacity(8 * rows + 8), Vec::new());
    offsets.extend(0_i64.to_ne_bytes());
    for cell in cells {
        validity.push(cell != CellRef::Absent);
        data.extend_from_slice(text(cell).as_bytes());
        offsets.extend((data.len() as i64).to_ne_bytes());
    }
    Values { kind: "text", validity: validity.finish(), offsets, data }
}

/// A bit a row, the lowest of the first byte first.
struct Bits {
    bytes: Vec<u8>,
    /// What comes behind them.
    last: u8,
    rows: usize,
}

impl Bits {
    fn with_capacity(rows: usize) -> Bits {
        Bits { bytes: Vec::with_capacity(rows.div_ceil(8)), last: 0, rows: 0 }
    }

    fn push(&mut self, bit: bool) {
        self.last |= u8::from(bit) << (self.rows % 8);
        self.rows += 1;
        if self.rows.is_multiple_of(8) {
            self.bytes.push(std::mem::take(&mut self.last));
        }
    }

    fn finish(mut self) -> Vec<u8> {
        if !self.rows.is_multiple_of(8) {
            self.bytes.push(self.last);
        }
        self.bytes
    }
}

fn real(cell: CellRef<'_>) -> Option<f64> {
    match cell {
        CellRef::Float(number) => Some(number),
        CellRef::Int(number) => Some(number as f64),
        _ => None,
    }
}

fn whole(cell: CellRef<'_>) -> Option<u64> {
    match cell {
        CellRef::Int(number) => Some(number),
        _ => None,
    }
}

fn text(cell: CellRef<'_>) -> Cow<'_, str> {
    match cell {
        CellRef::Absent => Cow::Borrowed(""),
        CellRef::Text(text) => Cow::Borrowed(text),
        CellRef::Int(number) => Cow::Owned(number.to_string()),
        CellRef::Float(number) => Cow::Owned(number.to_string()),
        CellRef::Flag(flag) => Cow::Owned(flag.to_string()),
    }
}
