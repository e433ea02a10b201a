//! Table of what-if estimates: the peak of each program after a change, computed from the lifetimes of its buffers.

use crate::record::{Made, TableRecord};
use memory::{Change, Recorded, RecordedProgram, WhatIf};

use crate::profile_table::{float, text};
use table::{Cell, Column, Table, Unit, column};

pub(crate) const TABLE: TableRecord = TableRecord {
    forms: &["scope", "buffer", "argument", "batch"],
    ..TableRecord::new("memory-what-if", columns, Made::KeptMemory(table, has_rows))
};

/// Maximum number of rows for each program.
const MOST: usize = 20;

const REMATERIALIZED: &str = "Nothing else changes. A scope is computed again when its backward pass begins, and \
    its values that later scopes read are kept.";
const WITHOUT: &str = "Nothing replaces the buffer.";
const DONATED: &str = "The new value is written into the argument's memory, and nothing reads the old value \
    afterwards.";
const AT_BATCH: &str =
    "Values with a dimension that the batch size divides grow with it, except parameters, state and constants.";
const TOGETHER: &str = "The assumptions of all combined changes.";

const COLUMNS: [Column; 7] = [
    column("module", "Program", Unit::Text, "Program with its number."),
    column(
        "change",
        "Change",
        Unit::Text,
        "Change to the program: `rematerialize=SCOPE`, `without=BUFFER`, `donate=ARGUMENT` or `batch=SIZE`.",
    )
    .caveat("Changes can be combined: `--change 'rematerialize=a,b; donate=0; batch=64'`."),
    column("peak_heap_bytes", "Peak", Unit::Bytes, "Current peak."),
    column(
        "estimated_peak_bytes",
        "Estimated peak",
        Unit::Bytes,
        "Peak with the change, estimated from lifetimes alone.",
    )
    .caveat("After the change, the compiler would choose other fusions, another order and other addresses."),
    column("saved_bytes", "Saved", Unit::Bytes, "Current peak minus the estimate. Negative if the peak grows."),
    column("saved_percent", "Saved, share", Unit::Percent, "Savings as a share of the current peak."),
    column("assumes", "Assumes", Unit::Text, "Assumptions of the estimate."),
];

/// Returns the columns of the table.
pub(crate) fn columns() -> Vec<Column> {
    COLUMNS.to_vec()
}

/// Returns the table of a run, sorted by the peak of the program, largest first. `variant` selects
/// one kind of change (`scope`, `buffer`, `argument` or `batch`), or is a change in the format of
/// [`Change::parse`].
pub(crate) fn table(recorded: &Recorded, variant: &str) -> Table {
    let mut programs: Vec<(u64, &RecordedProgram, &WhatIf)> = Vec::new();
    for program in &recorded.programs {
        if let Some(what_if) = program.what_if() {
            programs.push((what_if.peak_bytes(), program, what_if));
        }
    }
    base::sort::sort_by(&mut programs, |a, b| b.0.cmp(&a.0).then_with(|| a.1.name.cmp(&b.1.name)));
    let mut cells = Vec::new();
    for (_, program, what_if) in programs {
        cells.extend(changes(program, what_if, variant).into_iter().map(|(name, change, assumes)| {
            let (peak, estimate) = (what_if.peak_bytes(), what_if.peak_with(&change));
            let saved = i128::from(peak) - i128::from(estimate);
            let saved_cell = u64::try_from(saved).map_or(Cell::Float(saved as f64), Cell::Int);
            let percent = (peak > 0).then(|| 100.0 * saved as f64 / peak as f64);
            vec![
                text(&program.name),
                text(&name),
                Cell::Int(peak),
                Cell::Int(estimate),
                saved_cell,
                float(percent),
                text(assumes),
            ]
        }));
    }
    Table::new("memory-what-if", columns(), cells)
}

/// Returns true if the table has rows in this form. Does not compute an estimate.
pub(crate) fn has_rows(recorded: &Recorded, variant: &str) -> bool {
    let mut all = recorded.programs.iter().filter_map(|program| Some((program, program.what_if()?)));
    all.any(|(program, what_if)| !changes(program, what_if, variant).is_empty())
}

/// Returns the changes with their names and assumptions.
fn changes(program: &RecordedProgram, what_if: &WhatIf, variant: &str) -> Vec<(String, Change, &'static str)> {
    match variant {
        "buffer" => {
            let names = what_if.largest().into_iter().take(MOST).map(|live| what_if.name(live.buffer));
            let without = |name: String| {
                (format!("without={name}"), Change { without: vec![name], ..Change::default() }, WITHOUT)
            };
            names.map(without).collect()
        }
        "argument" => {
            let arguments = program.unshared_arguments();
            let all: Vec<i64> = arguments.iter().map(|argument| argument.number).collect();
            let donate =
                |name: String, donated| (format!("donate={name}"), Change { donated, ..Change::default() }, DONATED);
            let single = arguments.iter().take(MOST).map(|argument| {
                let name = if argument.name.is_empty() { argument.number.to_string() } else { argument.name.clone() };
                donate(name, vec![argument.number])
            });
            let together = (all.len() > 1).then(|| donate("all of them".to_owned(), all.clone()));
            together.into_iter().chain(single).collect()
        }
        "batch" => {
            let Some(old) = what_if.batch_size() else { return Vec::new() };
            let sizes =
                [old / 4, old / 2, old.saturating_mul(2), old.saturating_mul(4)].into_iter().filter(|&size| size > 0);
            sizes
                .map(|new| (format!("batch={new}"), Change { batch: Some((old, new)), ..Change::default() }, AT_BATCH))
                .collect()
        }
        "" | "scope" => {
            let scopes = what_if.scopes();
            let remat = |name: String, scopes| {
                (
                    format!("rematerialize={name}"),
                    Change { rematerialized: scopes, ..Change::default() },
                    REMATERIALIZED,
                )
            };
            let together = (scopes.len() > 1).then(|| remat("all of them".to_owned(), scopes.clone()));
            let single = scopes.iter().take(MOST).map(|scope| remat(scope.clone(), vec![scope.clone()]));
            together.into_iter().chain(single).collect()
        }
        // Invalid changes were rejected on input. A change that does not apply to this program has no row.
        text => Change::parse(text, what_if.batch_size())
            .map(|change| (text.to_owned(), change, TOGETHER))
            .into_iter()
            .collect(),
    }
}
