//! Computes values that `crossprof.lake` stores and compares, so that the library contains their only implementation.

use crossprof::cli::open::instruction_identity;
use crossprof::compare::{Correlation, Level, compare_groups, level_changes, merged_scope, value_margin};
use crossprof::export;
use pyo3::exceptions::{PyKeyError, PyValueError};
use pyo3::prelude::*;

use crate::Runs;

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
    let level = Level::typical(&runs.profile(run)?);
    Ok(level.map(|it| {
        let correlation = it.correlation.map(|sums| (sums.products, sums.squares, sums.steps));
        (it.us, it.steps, it.variance_us2, it.degrees_of_freedom, correlation)
    }))
}

/// Returns the name of a run, as pages and reports show it.
#[pyfunction]
pub(crate) fn run_name(runs: &Runs, run: usize) -> PyResult<String> {
    Ok(runs.profile(run)?.metadata.name().to_owned())
}

/// Returns the scopes of a framework path, with all layers merged into one.
#[pyfunction]
pub(crate) fn scope(path: &str) -> String {
    merged_scope(path)
}

/// Returns the opcode, the hash of the shapes and the fingerprint of an HLO expression.
#[pyfunction]
pub(crate) fn instruction(expression: &str) -> Option<(String, String, String)> {
    instruction_identity(expression).map(|it| (it.opcode, it.shapes, it.fingerprint))
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
    module.add_function(wrap_pyfunction!(typical_step, module)?)?;
    module.add_function(wrap_pyfunction!(run_name, module)?)?;
    module.add_function(wrap_pyfunction!(scope, module)?)?;
    module.add_function(wrap_pyfunction!(instruction, module)?)?;
    module.add_function(wrap_pyfunction!(group_difference, module)?)?;
    module.add_function(wrap_pyfunction!(changes_of_level, module)?)?;
    module.add_function(wrap_pyfunction!(margin_of_values, module)?)?;
    module.add_function(wrap_pyfunction!(profile_schema, module)?)?;
    module.add_function(wrap_pyfunction!(columns_of, module)?)
}
