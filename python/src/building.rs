//! One column, built cell by cell.

use arrow_buffer::{BooleanBufferBuilder, Buffer, NullBufferBuilder};
use arrow_data::ArrayData;
use arrow_schema::{ArrowError, DataType};
use crossprof::table::CellRef;

/// A column that is built. Its type is that of its values; whole numbers among real ones count as these. Where there is no value stands a 0 or an
/// empty text.
pub struct Builder {
    /// Number of rows.
    rows: usize,
    is_there: NullBufferBuilder,
    values: Values,
    /// A table's columns have values of one kind; this one had others.
    is_mixed: bool,
}

enum Values {
    /// No cell has had a value yet, of this many.
    None(usize),
    Floats(Vec<f64>),
    Ints(Vec<u64>),
    Flags(BooleanBufferBuilder),
    /// The texts one after the other, and where each begins and the last one ends.
    Texts {
        text: Vec<u8>,
        ends: Vec<i64>,
    },
}

impl Builder {
    /// A builder for `rows` rows.
    pub fn new(rows: usize) -> Builder {
        Builder { rows, is_there: NullBufferBuilder::new(rows), values: Values::None(0), is_mixed: false }
    }

    /// The next row's cell.
    #[inline]
    pub fn push(&mut self, cell: CellRef<'_>) {
        match (&mut self.values, cell) {
            (_, CellRef::Absent) => return self.push_nothing(),
            (Values::Floats(all), CellRef::Float(value)) => all.push(value),
            (Values::Floats(all), CellRef::Int(value)) => all.push(value as f64),
            (Values::Ints(all), CellRef::Int(value)) => all.push(value),
            (Values::Flags(all), CellRef::Flag(value)) => all.append(value),
            (Values::Texts { text, ends }, CellRef::Text(value)) => {
                text.extend_from_slice(value.as_bytes());
                ends.push(text.len() as i64);
            }
            (Values::None(so_far), _) => {
                let so_far = *so_far;
                self.begin(so_far, cell);
                return self.push(cell);
            }
            (Values::Ints(all), CellRef::Float(value)) => {
                let reals = all.iter().map(|&whole| whole as f64).chain([value]);
                self.values = Values::Floats(reals.collect());
            }
            _ => self.is_mixed = true,
        }
        self.is_there.append_non_null();
    }

    #[inline]
    fn push_nothing(&mut self) {
        match &mut self.values {
            Values::None(so_far) => {
                *so_far += 1;
                return;
            }
            Values::Floats(all) => all.push(0.0),
            Values::Ints(all) => all.push(0),
            Values::Flags(all) => all.append(false),
            Values::Texts { text, ends } => ends.push(text.len() as i64),
        }
        self.is_there.append_null();
    }

    /// Takes the type of the first value; the `so_far` rows before it have none.
    #[cold]
    fn begin(&mut self, so_far: usize, first: CellRef<'_>) {
        self.values = match first {
            CellRef::Absent => return,
            CellRef::Float(_) => Values::Floats(zeros(self.rows, so_far)),
            CellRef::Int(_) => Values::Ints(zeros(self.rows, so_far)),
            CellRef::Text(_) => Values::Texts { text: Vec::new(), ends: zeros(self.rows + 1, so_far + 1) },
            CellRef::Flag(_) => {
                let mut flags = BooleanBufferBuilder::new(self.rows);
                flags.append_n(so_far, false);
                Values::Flags(flags)
            }
        };
        // Even none at all would make it write a bit for each row from here on.
        if so_far > 0 {
            self.is_there.append_n_nulls(so_far);
        }
    }

    /// The column.
    pub fn finish(mut self) -> Result<ArrayData, ArrowError> {
        if self.is_mixed {
            return Err(ArrowError::SchemaError("A column has values of several kinds".to_owned()));
        }
        let (kind, buffers) = match self.values {
            Values::None(rows) => return ArrayData::builder(DataType::Null).len(rows).build(),
            Values::Floats(all) => (DataType::Float64, vec![Buffer::from_vec(all)]),
            Values::Ints(all) => (DataType::UInt64, vec![Buffer::from_vec(all)]),
            Values::Flags(mut all) => (DataType::Boolean, vec![all.finish().into_inner()]),
            Values::Texts { text, ends } => (DataType::LargeUtf8, vec![Buffer::from_vec(ends), Buffer::from_vec(text)]),
        };
        ArrayData::builder(kind).len(self.is_there.len()).nulls(self.is_there.finish()).buffers(buffers).build()
    }
}

/// A list for `rows` rows, of which the first `so_far` are zeros.
fn zeros<T: Clone + Default>(rows: usize, so_far: usize) -> Vec<T> {
    let mut values = Vec::with_capacity(rows);
    values.resize(so_far, T::default());
    values
}
