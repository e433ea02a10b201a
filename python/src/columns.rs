//! A table as columns, in the memory layout of Apache Arrow: programs for tables take them over without a copy.

use std::collections::HashMap;
use std::panic::resume_unwind;
use std::thread::{self, available_parallelism};

use arrow_buffer::BooleanBuffer;
use arrow_data::ArrayData;
use arrow_data::ffi::FFI_ArrowArray;
use arrow_schema::ffi::FFI_ArrowSchema;
use arrow_schema::{ArrowError, DataType, Field, Schema};
use crossprof::Column;
use crossprof::table::unit::word;
use crossprof::table::{CellRef, Rows};
use pyo3::exceptions::{PyIndexError, PyRuntimeError};
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyList};

use crate::building::Builder;

/// Rows that a column takes before the next one does: what their cells are made of stays in the processor's cache.
const BLOCK: usize = 512;

/// Rows that a thread has at least: with fewer, it would cost more than it saves.
const ROWS_OF_A_THREAD: usize = 16_384;

/// Threads at most. Each walks all rows: more would wait for memory.
const MOST_THREADS: usize = 8;

/// The columns of a table, each with as many rows.
#[pyclass(frozen)]
pub struct Columns {
    name: &'static str,
    rows: usize,
    columns: Vec<(Column, ArrayData)>,
}

impl Columns {
    /// Columns of the rows with these indices.
    pub fn of(table: &dyn Rows, asked: &[u32]) -> Result<Columns, ArrowError> {
        let cores = available_parallelism().map_or(1, usize::from).min(MOST_THREADS);
        let threads = cores.min(asked.len() / ROWS_OF_A_THREAD).max(1);
        let made = thread::scope(|scope| {
            let start = |first| scope.spawn(move || share(table, asked, first, threads));
            let others: Vec<_> = (1..threads).map(start).collect();
            let own = share(table, asked, 0, threads);
            let others = others.into_iter().map(|other| other.join().unwrap_or_else(|panic| resume_unwind(panic)));
            std::iter::once(own).chain(others).collect::<Result<Vec<_>, _>>()
        })?;
        let mut made: Vec<_> = made.into_iter().flatten().collect();
        made.sort_by_key(|(place, _)| *place);
        let columns = table.columns().iter().copied().zip(made.into_iter().map(|(_, data)| data));
        Ok(Columns { name: table.name(), rows: asked.len(), columns: columns.collect() })
    }

    fn schema(&self) -> Schema {
        let fields = self.columns.iter().map(|(column, data)| {
            let about = [("title", column.title), ("unit", word(column.unit)), ("description", column.definition)];
            Field::new(column.key, data.data_type().clone(), true).with_metadata(metadata(&about))
        });
        Schema::new_with_metadata(fields.collect::<Vec<_>>(), metadata(&[("table", self.name)]))
    }
}

fn metadata(entries: &[(&str, &str)]) -> HashMap<String, String> {
    entries.iter().map(|&(name, text)| (name.to_owned(), text.to_owned())).collect()
}

/// Every column whose place is `first`, `first + step`, ..., with its place.
fn share(table: &dyn Rows, asked: &[u32], first: usize, step: usize) -> Result<Vec<(usize, ArrayData)>, ArrowError> {
    let texts = table.shared_texts();
    let places = (first..table.columns().len()).step_by(step);
    let mut columns: Vec<_> =
        places.map(|place| (place, table.shared_column(place), Builder::new(asked.len()))).collect();
    for rows in asked.chunks(BLOCK) {
        for (place, shared, builder) in &mut columns {
            for row in rows.iter().map(|&row| row as usize) {
                builder.push(match shared.map(|shared| shared.number(row)) {
                    None => table.cell(row, *place),
                    Some(0) => CellRef::Absent,
                    Some(number) => CellRef::text(texts.get(number as usize)),
                });
            }
        }
    }
    columns.into_iter().map(|(place, _, builder)| Ok((place, builder.finish()?))).collect()
}

#[pymethods]
impl Columns {
    /// The number of rows.
    fn __len__(&self) -> usize {
        self.rows
    }

    /// Key, title, unit and description of each column, and whether any cell has a value.
    fn about(&self) -> Vec<(&'static str, &'static str, &'static str, &'static str, bool)> {
        let about = |(column, data): &(Column, ArrayData)| {
            let has_values = *data.data_type() != DataType::Null;
            (column.key, column.title, word(column.unit), column.definition, has_values)
        };
        self.columns.iter().map(about).collect()
    }

    /// The first values of a column, by its place; None where there is no value.
    fn values<'py>(&self, py: Python<'py>, place: usize, most: usize) -> PyResult<Bound<'py, PyList>> {
        let (_, data) = self.columns.get(place).ok_or_else(|| PyIndexError::new_err("There is no such column."))?;
        let rows = most.min(self.rows);
        match data.data_type() {
            DataType::Float64 => list(py, data, rows, |row| data.buffer::<f64>(0).get(row).copied()),
            DataType::UInt64 => list(py, data, rows, |row| data.buffer::<u64>(0).get(row).copied()),
            DataType::LargeUtf8 => list(py, data, rows, |row| text(data, row)),
            DataType::Boolean => {
                let bits = data.buffers().first().map(|bits| BooleanBuffer::new(bits.clone(), 0, self.rows));
                list(py, data, rows, |row| bits.as_ref().map(|bits| bits.value(row)))
            }
            _ => PyList::new(py, vec![None::<bool>; rows]),
        }
    }

    /// The whole table as Arrow has it among programs
    /// (<https://arrow.apache.org/docs/format/CDataInterface/PyCapsuleInterface.html>): its schema and a batch. What is
    /// asked for is not looked at, as the interface allows.
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_array__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<(Bound<'py, PyCapsule>, Bound<'py, PyCapsule>)> {
        drop(requested_schema);
        let (schema, batch) = self.exported().map_err(|error| PyRuntimeError::new_err(error.to_string()))?;
        let schema = PyCapsule::new_with_value(py, schema, c"arrow_schema")?;
        Ok((schema, PyCapsule::new_with_value(py, batch, c"arrow_array")?))
    }
}

impl Columns {
    fn exported(&self) -> Result<(FFI_ArrowSchema, FFI_ArrowArray), ArrowError> {
        let schema = self.schema();
        let columns = self.columns.iter().map(|(_, data)| data.clone()).collect();
        let batch =
            ArrayData::builder(DataType::Struct(schema.fields.clone())).len(self.rows).child_data(columns).build()?;
        Ok((FFI_ArrowSchema::try_from(&schema)?, FFI_ArrowArray::new(&batch)))
    }
}

fn list<'py, T: IntoPyObject<'py>>(
    py: Python<'py>,
    data: &ArrayData,
    rows: usize,
    value: impl Fn(usize) -> Option<T>,
) -> PyResult<Bound<'py, PyList>> {
    PyList::new(py, (0..rows).map(|row| if data.is_valid(row) { value(row) } else { None }))
}

/// The text of a row.
fn text(data: &ArrayData, row: usize) -> Option<&str> {
    let ends = data.buffer::<i64>(0);
    let [start, end] = [ends.get(row)?, ends.get(row + 1)?].map(|&at| usize::try_from(at).unwrap_or(usize::MAX));
    std::str::from_utf8(data.buffers().get(1)?.get(start..end)?).ok()
}
