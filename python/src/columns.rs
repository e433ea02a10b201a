//! Stores a table as columns in the memory layout of Apache Arrow. Dataframe libraries use these columns without a
//! copy.

use std::collections::HashMap;
use std::panic::resume_unwind;
use std::thread::{self, available_parallelism};

use arrow_buffer::BooleanBuffer;
use arrow_data::ArrayData;
use arrow_data::ffi::FFI_ArrowArray;
use arrow_schema::ffi::FFI_ArrowSchema;
use arrow_schema::{ArrowError, DataType, Field, Schema};
use crossprof::table::unit::word;
use crossprof::table::{CellRef, Kind, Rows};
use crossprof::{Column, TableName};
use pyo3::exceptions::{PyIndexError, PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyList};

use crate::building::Builder;

/// Number of rows in a block. Each block is added to all columns before the next block. The data from which these rows
/// are made then stays in the CPU cache.
const BLOCK: usize = 512;

/// Minimum number of rows per thread. With fewer rows, a thread costs more time than it saves.
const ROWS_OF_A_THREAD: usize = 16_384;

/// Maximum number of threads. Each thread reads all rows, so more threads would wait for memory.
const MOST_THREADS: usize = 8;

/// Name and meaning of a column. A table that was restored from a pickle stores its own names and meanings.
#[derive(Clone)]
pub(crate) struct About {
    key: String,
    title: String,
    unit: String,
    description: String,
}

/// The columns of a table, all with the same number of rows.
#[pyclass(frozen)]
pub struct Columns {
    name: String,
    rows: usize,
    columns: Vec<(About, ArrayData)>,
}

impl Columns {
    /// Creates the declared columns for the rows with these indices. A column that this run's table lacks has no
    /// values.
    ///
    /// # Errors
    ///
    /// Fails with a message if a value does not fit the type of its column.
    pub fn of(name: TableName, declared: &[Column], table: &dyn Rows, asked: &[u32]) -> Result<Columns, String> {
        let places: Vec<Place> = declared
            .iter()
            .map(|column| Place { kind: column.kind, at: table.columns().iter().position(|it| it.key == column.key) })
            .collect();
        let cores = available_parallelism().map_or(1, usize::from).min(MOST_THREADS);
        let threads = cores.min(asked.len() / ROWS_OF_A_THREAD).max(1);
        let mut made: Vec<_> = thread::scope(|scope| {
            let places = &places;
            let start = |first| scope.spawn(move || share(table, places, asked, first, threads));
            let others: Vec<_> = (1..threads).map(start).collect();
            let own = share(table, places, asked, 0, threads);
            let others = others.into_iter().map(|other| other.join().unwrap_or_else(|panic| resume_unwind(panic)));
            std::iter::once(own).chain(others).flatten().collect()
        });
        made.sort_by_key(|(place, _)| *place);
        let mut columns = Vec::with_capacity(declared.len());
        for (column, (_, data)) in declared.iter().zip(made) {
            let data = data.map_err(|error| misfit(column.key, column.kind, &error))?;
            let about = About {
                key: column.key.to_owned(),
                title: column.title.to_owned(),
                unit: word(column.unit).to_owned(),
                description: column.definition.to_owned(),
            };
            columns.push((about, data));
        }
        Ok(Columns { name: name.key().to_owned(), rows: asked.len(), columns })
    }

    /// Creates columns that have only names.
    pub(crate) fn without_descriptions(rows: usize, columns: Vec<(&str, ArrayData)>) -> Columns {
        let about = |key: &str| About {
            key: key.to_owned(),
            title: String::new(),
            unit: String::new(),
            description: String::new(),
        };
        let columns = columns.into_iter().map(|(key, data)| (about(key), data)).collect();
        Columns { name: String::new(), rows, columns }
    }

    fn schema(&self) -> Schema {
        let fields = self.columns.iter().map(|(column, data)| {
            let about = [("title", &column.title), ("unit", &column.unit), ("description", &column.description)];
            Field::new(&column.key, data.data_type().clone(), true).with_metadata(metadata(&about))
        });
        Schema::new_with_metadata(fields.collect::<Vec<_>>(), metadata(&[("table", &self.name)]))
    }

    /// Returns the value of a cell.
    fn cell<'a>(&self, data: &'a ArrayData, row: usize) -> CellRef<'a> {
        if !data.is_valid(row) {
            return CellRef::Absent;
        }
        match data.data_type() {
            DataType::Float64 => CellRef::float(data.buffer::<f64>(0).get(row).copied()),
            DataType::Int64 => match data.buffer::<i64>(0).get(row) {
                Some(&value) => u64::try_from(value).map_or(CellRef::Float(value as f64), CellRef::Int),
                None => CellRef::Absent,
            },
            DataType::LargeUtf8 => text(data, row).map_or(CellRef::Absent, CellRef::Text),
            _ => {
                let bits = data.buffers().first().map(|bits| BooleanBuffer::new(bits.clone(), 0, self.rows));
                CellRef::flag(bits.map(|bits| bits.value(row)))
            }
        }
    }
}

/// The position of a declared column in a table, if the table has it.
struct Place {
    kind: Kind,
    at: Option<usize>,
}

/// Returns the message about a value that does not fit its column.
fn misfit(key: &str, kind: Kind, error: &ArrowError) -> String {
    match error {
        ArrowError::InvalidArgumentError(value) => format!(
            "The column {key} has the value {value}, which does not fit its type, {}. The file is probably damaged; crossprof table \
             --format csv prints such values.",
            kind.name()
        ),
        other => format!("{other}. This is a bug in crossprof."),
    }
}

fn metadata(entries: &[(&str, &String)]) -> HashMap<String, String> {
    entries.iter().map(|&(name, text)| (name.to_owned(), text.clone())).collect()
}

/// A column that was built, with its position.
type Made = (usize, Result<ArrayData, ArrowError>);

/// Builds the columns at the positions `first`, `first + step`, ...
fn share(table: &dyn Rows, places: &[Place], asked: &[u32], first: usize, step: usize) -> Vec<Made> {
    let texts = table.shared_texts();
    let own = places.iter().enumerate().skip(first).step_by(step);
    let mut columns: Vec<_> = own
        .map(|(index, place)| {
            let shared = place.at.and_then(|at| table.shared_column(at));
            (index, place.at, shared, Builder::new(place.kind, asked.len()))
        })
        .collect();
    for rows in asked.chunks(BLOCK) {
        for (_, place, shared, builder) in &mut columns {
            for row in rows.iter().map(|&row| row as usize) {
                builder.push(match (shared.map(|shared| shared.number(row)), &place) {
                    (None, Some(place)) => table.cell(row, *place),
                    (None, None) | (Some(0), _) => CellRef::Absent,
                    (Some(number), _) => CellRef::text(texts.get(number as usize)),
                });
            }
        }
    }
    columns.into_iter().map(|(index, _, _, builder)| (index, builder.finish())).collect()
}

#[pymethods]
impl Columns {
    /// Returns the number of rows.
    fn __len__(&self) -> usize {
        self.rows
    }

    /// Rebuilds a table from the values that [`Columns::values`] returned. Each column consists of its key, title,
    /// unit, description, type name and values.
    #[staticmethod]
    fn rebuilt(name: String, rows: usize, columns: Vec<(Words, Bound<'_, PyList>)>) -> PyResult<Columns> {
        let mut made = Vec::with_capacity(columns.len());
        for ((key, title, unit, description, kind), values) in columns {
            if values.len() != rows {
                return Err(PyValueError::new_err(format!(
                    "The column {key} has {} values for {rows} rows.",
                    values.len()
                )));
            }
            let data = match kind.as_str() {
                "double" => filled(&values, Kind::Float, |value: &f64| CellRef::Float(*value)),
                "bool" => filled(&values, Kind::Flag, |value: &bool| CellRef::Flag(*value)),
                "int64" => filled(&values, Kind::Int, |value: &i64| {
                    u64::try_from(*value).map_or(CellRef::Float(*value as f64), CellRef::Int)
                }),
                _ => filled(&values, Kind::Text, |value: &String| CellRef::Text(value)),
            }?;
            made.push((About { key, title, unit, description }, data));
        }
        Ok(Columns { name, rows, columns: made })
    }

    /// Returns `count` rows with the indices `start`, `start + step`, ...
    fn part(&self, start: usize, step: isize, count: usize) -> PyResult<Columns> {
        let mut columns = Vec::with_capacity(self.columns.len());
        for (about, data) in &self.columns {
            let mut builder = Builder::new(kind_of(data), count);
            for index in 0..count {
                let row = start.saturating_add_signed(step.saturating_mul(index.cast_signed()));
                builder.push(if row < self.rows { self.cell(data, row) } else { CellRef::Absent });
            }
            columns
                .push((about.clone(), builder.finish().map_err(|error| PyRuntimeError::new_err(error.to_string()))?));
        }
        Ok(Columns { name: self.name.clone(), rows: count, columns })
    }

    /// Returns the key, title, unit, description and type of each column, and true if any cell has a value.
    fn about<'a>(&'a self) -> Vec<(&'a str, &'a str, &'a str, &'a str, &'static str, bool)> {
        let about = |(about, data): &'a (About, ArrayData)| {
            let About { key, title, unit, description } = about;
            let has_values = data.null_count() < data.len();
            (key.as_str(), title.as_str(), unit.as_str(), description.as_str(), kind_of(data).name(), has_values)
        };
        self.columns.iter().map(about).collect()
    }

    /// Returns the first values of the column at this position, with None for absent values.
    fn values<'py>(&self, py: Python<'py>, place: usize, most: usize) -> PyResult<Bound<'py, PyList>> {
        let (_, data) = self.columns.get(place).ok_or_else(|| PyIndexError::new_err("There is no such column."))?;
        let rows = most.min(self.rows);
        match data.data_type() {
            DataType::Float64 => list(py, data, rows, |row| data.buffer::<f64>(0).get(row).copied()),
            DataType::Int64 => list(py, data, rows, |row| data.buffer::<i64>(0).get(row).copied()),
            DataType::LargeUtf8 => list(py, data, rows, |row| text(data, row)),
            _ => {
                let bits = data.buffers().first().map(|bits| BooleanBuffer::new(bits.clone(), 0, self.rows));
                list(py, data, rows, |row| bits.as_ref().map(|bits| bits.value(row)))
            }
        }
    }

    /// Exports the whole table, as its schema and one batch, through the Arrow interface
    /// (<https://arrow.apache.org/docs/format/CDataInterface/PyCapsuleInterface.html>). Ignores the requested schema, as
    /// the interface allows.
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

/// Returns the type of a column.
fn kind_of(data: &ArrayData) -> Kind {
    match data.data_type() {
        DataType::Float64 => Kind::Float,
        DataType::Int64 => Kind::Int,
        DataType::Boolean => Kind::Flag,
        _ => Kind::Text,
    }
}

/// Key, title, unit and description of a column, and the name of its type.
type Words = (String, String, String, String, String);

/// Builds a column from these values. `None` stands for a missing value.
fn filled<T: for<'a, 'py> FromPyObject<'a, 'py, Error: Into<PyErr>>>(
    values: &Bound<'_, PyList>,
    kind: Kind,
    cell: impl for<'a> Fn(&'a T) -> CellRef<'a>,
) -> PyResult<ArrayData> {
    let mut builder = Builder::new(kind, values.len());
    for value in values {
        if value.is_none() {
            builder.push(CellRef::Absent);
        } else {
            builder.push(cell(&value.extract::<T>().map_err(Into::into)?));
        }
    }
    builder.finish().map_err(|error| PyValueError::new_err(error.to_string()))
}

fn list<'py, T: IntoPyObject<'py>>(
    py: Python<'py>,
    data: &ArrayData,
    rows: usize,
    value: impl Fn(usize) -> Option<T>,
) -> PyResult<Bound<'py, PyList>> {
    PyList::new(py, (0..rows).map(|row| if data.is_valid(row) { value(row) } else { None }))
}

/// Returns the text in a row.
fn text(data: &ArrayData, row: usize) -> Option<&str> {
    let ends = data.buffer::<i64>(0);
    let [start, end] = [ends.get(row)?, ends.get(row + 1)?].map(|&at| usize::try_from(at).unwrap_or(usize::MAX));
    std::str::from_utf8(data.buffers().get(1)?.get(start..end)?).ok()
}
