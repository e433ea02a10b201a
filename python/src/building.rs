//! Builds a column of a table cell by cell.

use arrow_buffer::{BooleanBufferBuilder, Buffer, NullBufferBuilder};
use arrow_data::ArrayData;
use arrow_schema::{ArrowError, DataType};
use crossprof::table::{CellRef, Kind};
use crossprof::text::home::{may_have, without_home};

/// Whole numbers below this limit are exact as floats, and fit in an `i64`.
const WHOLE_BELOW: f64 = 9_007_199_254_740_992.0;

/// A column under construction. The type of the column comes from its declaration, not from the values. A row without a
/// value contains 0 or an empty text.
pub(crate) struct Builder {
    is_there: NullBufferBuilder,
    values: Values,
    /// The first value that does not fit the type.
    misfit: Option<String>,
}

enum Values {
    Floats(Vec<f64>),
    Ints(Vec<i64>),
    Flags(BooleanBufferBuilder),
    /// All texts, concatenated, with the start of each text and the end of the last text.
    Texts {
        text: Vec<u8>,
        ends: Vec<i64>,
    },
}

impl Builder {
    /// Creates a builder for `rows` rows.
    pub(crate) fn new(kind: Kind, rows: usize) -> Builder {
        let values = match kind {
            Kind::Float => Values::Floats(Vec::with_capacity(rows)),
            Kind::Int => Values::Ints(Vec::with_capacity(rows)),
            Kind::Flag => Values::Flags(BooleanBufferBuilder::new(rows)),
            Kind::Text => {
                let mut ends = Vec::with_capacity(rows + 1);
                ends.push(0);
                Values::Texts { text: Vec::new(), ends }
            }
        };
        Builder { is_there: NullBufferBuilder::new(rows), values, misfit: None }
    }

    /// Appends the cell of the next row.
    #[inline]
    pub(crate) fn push(&mut self, cell: CellRef<'_>) {
        match (&mut self.values, cell) {
            (_, CellRef::Absent) => return self.push_nothing(),
            (Values::Floats(all), CellRef::Float(value)) => all.push(value),
            (Values::Floats(all), CellRef::Int(value)) => all.push(value as f64),
            (Values::Ints(all), CellRef::Int(value)) if i64::try_from(value).is_ok() => all.push(value.cast_signed()),
            (Values::Ints(all), CellRef::Float(value)) if value.abs() < WHOLE_BELOW && value.fract() == 0.0 => {
                all.push(value as i64);
            }
            (Values::Flags(all), CellRef::Flag(value)) => all.append(value),
            (Values::Texts { .. }, CellRef::Text(value)) if may_have(value) => {
                return self.push_text(&without_home(value));
            }
            (Values::Texts { .. }, CellRef::Text(value)) => return self.push_text(value),
            _ => return self.reject(cell),
        }
        self.is_there.append_non_null();
    }

    /// Appends a text as it is. [`Builder::push`] replaces home folders.
    #[inline]
    pub(crate) fn push_text(&mut self, value: &str) {
        let Values::Texts { text, ends } = &mut self.values else { return self.reject(CellRef::Text(value)) };
        text.extend_from_slice(value.as_bytes());
        ends.push(text.len() as i64);
        self.is_there.append_non_null();
    }

    #[inline]
    fn push_nothing(&mut self) {
        match &mut self.values {
            Values::Floats(all) => all.push(0.0),
            Values::Ints(all) => all.push(0),
            Values::Flags(all) => all.append(false),
            Values::Texts { text, ends } => ends.push(text.len() as i64),
        }
        self.is_there.append_null();
    }

    #[cold]
    fn reject(&mut self, cell: CellRef<'_>) {
        let value = match cell {
            CellRef::Int(value) => value.to_string(),
            CellRef::Float(value) => value.to_string(),
            CellRef::Flag(value) => value.to_string(),
            CellRef::Text(text) => format!("{text:?}"),
            CellRef::Absent => return,
        };
        self.misfit.get_or_insert(value);
        self.push_nothing();
    }

    /// Returns the finished column.
    ///
    /// # Errors
    ///
    /// Fails if a value does not fit the column's type: a whole number above 2^63-1, or a value of another type.
    pub(crate) fn finish(mut self) -> Result<ArrayData, ArrowError> {
        if let Some(value) = self.misfit {
            return Err(ArrowError::InvalidArgumentError(value));
        }
        let (kind, buffers) = match self.values {
            Values::Floats(all) => (DataType::Float64, vec![Buffer::from_vec(all)]),
            Values::Ints(all) => (DataType::Int64, vec![Buffer::from_vec(all)]),
            Values::Flags(mut all) => (DataType::Boolean, vec![all.finish().into_inner()]),
            Values::Texts { text, ends } => (DataType::LargeUtf8, vec![Buffer::from_vec(ends), Buffer::from_vec(text)]),
        };
        ArrayData::builder(kind).len(self.is_there.len()).nulls(self.is_there.finish()).buffers(buffers).build()
    }
}
