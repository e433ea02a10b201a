//! Makes the files of a capture for `crossprof.lake`, and computes values that it compares, so that the library contains their
//! only implementation.

mod layout;
mod parquet_file;
mod rows;

use std::collections::HashMap;
use std::num::NonZero;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::thread::{self, available_parallelism};

use arrow_schema::ArrowError;
use bytes::Bytes;
use crossprof::compare::{Correlation, Level, compare_groups, level_changes, value_margin};
use crossprof::{export, table};
use pyo3::exceptions::{PyKeyError, PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::{PyBytes, PyDict};
use serde_json::{Map, Value};

use crate::Runs;
use crate::building::Builder;
use crate::columns::Columns;
use layout::{Cell, Kind, Row, Table};

/// The tables of a lake.
#[pyclass(frozen)]
pub(crate) struct LakeTables(HashMap<String, Table>);

impl LakeTables {
    fn table(&self, name: &str) -> PyResult<&Table> {
        self.0.get(name).ok_or_else(|| PyKeyError::new_err(name.to_owned()))
    }
}

#[pymethods]
impl LakeTables {
    /// Creates the tables that this JSON text declares.
    #[new]
    fn new(text: &str) -> PyResult<LakeTables> {
        serde_json::from_str(text).map(LakeTables).map_err(|error| PyValueError::new_err(error.to_string()))
    }

    /// Returns a Parquet file with these rows, sorted. Columns that a row lacks are null. A time is a number of microseconds.
    fn file<'py>(&self, py: Python<'py>, table: &str, rows: Vec<Bound<'py, PyDict>>) -> PyResult<Bound<'py, PyBytes>> {
        let table = self.table(table)?;
        let rows: Vec<Row> = rows.iter().map(|row| table.row_of(row)).collect::<PyResult<_>>()?;
        Ok(PyBytes::new(py, &file(table, rows)?))
    }

    /// Reads files that [`LakeTables::file`] or [`LakeCapture::files`] wrote. Returns the rows of all files in order, and the number
    /// of rows in each file. The number is `None` for a file that is damaged, or that another version wrote. A time is a number of
    /// microseconds.
    fn read(&self, py: Python<'_>, table: &str, files: Vec<PyBackedBytes>) -> PyResult<(Columns, Vec<Option<usize>>)> {
        let table = self.table(table)?;
        py.detach(|| read(table, files)).map_err(|error| PyRuntimeError::new_err(error.to_string()))
    }
}

fn read(table: &Table, files: Vec<PyBackedBytes>) -> Result<(Columns, Vec<Option<usize>>), ArrowError> {
    let kind = |kind: Kind| match kind {
        Kind::Int64 | Kind::Timestamp => table::Kind::Int,
        Kind::Double => table::Kind::Float,
        Kind::Bool => table::Kind::Flag,
        Kind::String => table::Kind::Text,
    };
    let mut builders: Vec<Builder> =
        table.fields.iter().map(|field| Builder::new(kind(field.kind), files.len())).collect();
    let mut counts = Vec::with_capacity(files.len());
    for columns in decoded(table, files) {
        let Some(columns) = columns else {
            counts.push(None);
            continue;
        };
        counts.push(columns.first().map(Vec::len));
        for (builder, cells) in builders.iter_mut().zip(&columns) {
            for cell in cells {
                match cell {
                    // The path of a capture stays as the user gave it.
                    Cell::Text(text) => builder.push_text(text),
                    other => builder.push(other.as_ref()),
                }
            }
        }
    }
    let rows = counts.iter().flatten().sum();
    let names = table.fields.iter().map(|field| field.name.as_str());
    let columns = names.zip(builders).map(|(name, builder)| Ok((name, builder.finish()?)));
    Ok((Columns::without_descriptions(rows, columns.collect::<Result<_, ArrowError>>()?), counts))
}

/// Returns the columns of each file, decoded on all cores. `None` for a file that is damaged, or that another version wrote.
fn decoded(table: &Table, files: Vec<PyBackedBytes>) -> Vec<Option<Vec<Vec<Cell>>>> {
    let decode = |file: &PyBackedBytes| {
        let bytes = Bytes::copy_from_slice(file);
        // The decoder may panic for a damaged file.
        catch_unwind(AssertUnwindSafe(|| parquet_file::decoded(table, bytes))).ok()?.ok()?
    };
    let cores = available_parallelism().map_or(1, NonZero::get);
    let parts: Vec<&[PyBackedBytes]> = files.chunks(files.len().div_ceil(cores).max(1)).collect();
    thread::scope(|scope| {
        let threads: Vec<_> =
            parts.iter().map(|part| scope.spawn(|| part.iter().map(decode).collect::<Vec<_>>())).collect();
        let results = threads.into_iter().zip(&parts);
        results.flat_map(|(thread, part)| thread.join().unwrap_or_else(|_| vec![None; part.len()])).collect()
    })
}

/// Returns the file of these rows.
fn file(table: &Table, mut rows: Vec<Row>) -> PyResult<Vec<u8>> {
    table.sort(&mut rows);
    parquet_file::encoded(table, &rows).map_err(|error| PyRuntimeError::new_err(error.to_string()))
}

/// A capture whose rows are written to a lake.
#[pyclass(frozen)]
pub(crate) struct LakeCapture {
    runs: Py<Runs>,
    run: usize,
    report: Value,
}

#[pymethods]
impl LakeCapture {
    /// Reads the profile of a run.
    #[new]
    fn new(py: Python<'_>, runs: Py<Runs>, run: usize) -> PyResult<LakeCapture> {
        let read = || runs.get().profile(run, |profile| serde_json::to_value(profile));
        let report = py.detach(read)?.map_err(|error| PyValueError::new_err(error.to_string()))?;
        Ok(LakeCapture { runs, run, report })
    }

    /// Returns parts of the profile as a JSON object, without home folders.
    fn parts(&self, names: Vec<String>) -> String {
        let part = |name: String| self.report.get(&name).cloned().map(|part| (name, part));
        let parts: Map<String, Value> = names.into_iter().filter_map(part).collect();
        crossprof::text::home::shared(Value::Object(parts).to_string())
    }

    /// Returns the number of (step, device) pairs in the window, if known.
    #[getter]
    fn device_steps(&self) -> Option<i64> {
        self.report.pointer("/step_ops/device_steps").and_then(Value::as_i64)
    }

    /// Returns the names of the modules of the ops in the window.
    fn modules(&self) -> Vec<&str> {
        let ops = self.report.get("step_ops").and_then(|it| it.get("ops")).and_then(Value::as_array);
        ops.into_iter().flatten().filter_map(|op| op.get("module").and_then(Value::as_str)).collect()
    }

    /// Returns the Parquet file of each of these tables for which the capture has rows.
    ///
    /// `keys` contains the values that all rows have, and `own` the values of the row of `captures` that are not in the
    /// profile.
    fn files<'py>(
        &self,
        py: Python<'py>,
        tables: &LakeTables,
        names: Vec<String>,
        keys: &Bound<'py, PyDict>,
        own: &Bound<'py, PyDict>,
    ) -> PyResult<Vec<(String, Bound<'py, PyBytes>)>> {
        let mut wanted = Vec::with_capacity(names.len());
        for name in names {
            let table = tables.table(&name)?;
            let mut empty = table.row_of(keys)?;
            if name == "captures" {
                let own = table.row_of(own)?;
                empty.iter_mut().zip(own).filter(|(_, own)| *own != Cell::Null).for_each(|(cell, own)| *cell = own);
            }
            wanted.push((name, table, empty));
        }
        let made = py.detach(|| {
            let mut opened = self.runs.get().opened();
            let device_steps = self.device_steps().map_or(Cell::Null, Cell::Int);
            let mut capture = rows::Capture {
                report: &self.report,
                device_steps,
                opened: &mut opened,
                run: self.run,
                identities: Vec::new(),
            };
            let mut made = Vec::with_capacity(wanted.len());
            for (name, table, empty) in wanted {
                let rows = capture.rows(&name, table, &empty).map_err(PyValueError::new_err)?;
                if !rows.is_empty() {
                    made.push((name, file(table, rows)?));
                }
            }
            Ok::<_, PyErr>(made)
        })?;
        Ok(made.into_iter().map(|(name, bytes)| (name, PyBytes::new(py, &bytes))).collect())
    }
}

/// Typical step of a capture: mean in microseconds, number of steps, variance of the mean, degrees of freedom, and the sums
/// for the correlation of consecutive steps (products, squares, steps).
type LevelWords = (f64, u64, Option<f64>, f64, Option<(f64, f64, f64)>);

fn level((us, steps, variance_us2, degrees_of_freedom, correlation): LevelWords) -> Level {
    let correlation = correlation.map(|(products, squares, steps)| Correlation { products, squares, steps });
    Level { us, steps, variance_us2, degrees_of_freedom, correlation }
}

/// Returns the typical step of a run. Returns `None` if the steps of the run are unknown.
#[pyfunction]
pub(crate) fn typical_step(runs: &Runs, run: usize) -> PyResult<Option<LevelWords>> {
    let level = runs.profile(run, Level::typical)?;
    Ok(level.map(|it| {
        let correlation = it.correlation.map(|sums| (sums.products, sums.squares, sums.steps));
        (it.us, it.steps, it.variance_us2, it.degrees_of_freedom, correlation)
    }))
}

/// Returns the name of a run, as pages and reports show it.
#[pyfunction]
pub(crate) fn run_name(runs: &Runs, run: usize) -> PyResult<String> {
    runs.profile(run, |profile| profile.metadata.name().to_owned())
}

/// Means of the later and the earlier group, margin, smallest provable difference (all in microseconds) and verdict.
type GroupWords = (f64, f64, Option<f64>, Option<f64>, String);

/// Compares the typical steps of two groups of captures.
#[pyfunction]
pub(crate) fn group_difference(
    ours: Vec<LevelWords>,
    theirs: Vec<LevelWords>,
    threshold: f64,
) -> PyResult<Option<GroupWords>> {
    let levels = |words: Vec<LevelWords>| words.into_iter().map(level).collect::<Vec<_>>();
    let found = compare_groups(&levels(ours), &levels(theirs), threshold);
    let word = |it: crossprof::compare::StepTimeVerdict| {
        let value = serde_json::to_value(it).map_err(|error| PyValueError::new_err(error.to_string()))?;
        value.as_str().map(str::to_owned).ok_or_else(|| PyValueError::new_err("A verdict is a word."))
    };
    found.map(|it| Ok((it.ours_us, it.theirs_us, it.margin_us, it.least_provable_us, word(it.verdict)?))).transpose()
}

/// Returns the indices of captures that begin a new level, and the indices of outliers.
#[pyfunction]
pub(crate) fn changes_of_level(levels: Vec<LevelWords>) -> (Vec<usize>, Vec<usize>) {
    let found = level_changes(&levels.into_iter().map(level).collect::<Vec<_>>());
    (found.firsts, found.outliers)
}

/// Returns the difference that the means of two groups of values must exceed. `None` if it is unknown.
#[pyfunction]
pub(crate) fn margin_of_values(ours: Vec<f64>, theirs: Vec<f64>) -> Option<f64> {
    value_margin(&ours, &theirs)
}

/// Returns the JSON Schema of the profile, which contains the definition of each field.
#[pyfunction]
pub(crate) fn profile_schema() -> &'static str {
    export::json::schema()
}

/// Returns the key, unit and definition of each column of a table.
#[pyfunction]
pub(crate) fn columns_of(table: &str) -> PyResult<Vec<(&'static str, &'static str, &'static str)>> {
    let columns = crossprof::cli::open::columns_of(table).ok_or_else(|| PyKeyError::new_err(table.to_owned()))?;
    Ok(columns.iter().map(|it| (it.key, crossprof::table::unit::word(it.unit), it.definition)).collect())
}

/// Adds the functions to the module.
pub(crate) fn add(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("ROWS_OF_A_GROUP", parquet_file::ROWS_OF_A_GROUP)?;
    module.add("ZSTD_LEVEL", parquet_file::ZSTD_LEVEL)?;
    module.add_class::<LakeTables>()?;
    module.add_class::<LakeCapture>()?;
    module.add_function(wrap_pyfunction!(typical_step, module)?)?;
    module.add_function(wrap_pyfunction!(run_name, module)?)?;
    module.add_function(wrap_pyfunction!(group_difference, module)?)?;
    module.add_function(wrap_pyfunction!(changes_of_level, module)?)?;
    module.add_function(wrap_pyfunction!(margin_of_values, module)?)?;
    module.add_function(wrap_pyfunction!(profile_schema, module)?)?;
    module.add_function(wrap_pyfunction!(columns_of, module)?)
}
