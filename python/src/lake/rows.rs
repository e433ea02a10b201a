//! Makes the rows of a capture for each table of the lake.

use std::collections::HashMap;
use std::sync::Arc;

use crossprof::cli::open::{InstructionIdentity, Opened, instruction_identity, name_without_number};
use crossprof::compare::merged_scope;
use crossprof::table::{CellRef, Rows};
use crossprof::{Column, Query, TableName};
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};

use super::layout::{Cell, Field, Row, Table};

/// A capture whose rows are made.
pub(super) struct Capture<'a> {
    /// The unified profile.
    pub(super) report: &'a Value,
    /// Number of (step, device) pairs in the window, if known.
    pub(super) device_steps: Cell,
    pub(super) opened: &'a mut Opened,
    pub(super) run: usize,
    /// Identities of the ops, in the order of their table. Two tables of the lake contain them.
    pub(super) identities: Vec<OpIdentity>,
}

/// Identity of an op in all builds of its program.
pub(super) struct OpIdentity {
    key: String,
    scope: String,
    instruction: Option<InstructionIdentity>,
}

impl Capture<'_> {
    /// Returns the rows of a table, in any order. `empty` is a row with the values that all rows of the capture have.
    ///
    /// # Errors
    ///
    /// Fails with a message if the lake has no table of this name, or if the native table cannot be made.
    pub(super) fn rows(&mut self, name: &str, table: &Table, empty: &Row) -> Result<Vec<Row>, String> {
        match name {
            "captures" => Ok(vec![filled(table, empty, self.report)]),
            "hosts" => Ok(self.records(table, empty, &["multi_device", "hosts"])),
            "devices" => Ok(self.records(table, empty, &["multi_device", "device_stats"])),
            "steps" => Ok(self.records(table, empty, &["steps"])),
            "step_parts" => Ok(self.records(table, empty, &["step_breakdown", "steps"])),
            "findings" => Ok(self.records(table, empty, &["findings"])),
            "memory" => Ok(self.memory(table, empty)),
            "ops" => Ok(merged(table, self.ops(table, empty)?)),
            "op_programs" => self.ops(table, empty),
            "collectives" => self.collectives(table, empty),
            _ => Err(format!("The lake has no rows of a capture in the table {name}.")),
        }
    }

    /// Returns a row for each record of a list in the profile.
    fn records(&self, table: &Table, empty: &Row, path: &[&str]) -> Vec<Row> {
        list_at(self.report, path).iter().map(|record| filled(table, &of_host(table, empty, record), record)).collect()
    }

    /// Returns a row for each device, and a row for each class of the device's buffers. Sums are meaningful only over rows of
    /// one of these two kinds.
    fn memory(&self, table: &Table, empty: &Row) -> Vec<Row> {
        let mut rows = Vec::new();
        for device in list_at(self.report, &["memory", "devices"]) {
            rows.push(filled(table, empty, device));
            for class in list_at(device, &["by_class"]) {
                let name = device.get("device_name").unwrap_or(&Value::Null);
                let record =
                    Map::from_iter([("class".to_owned(), class.clone()), ("device_name".to_owned(), name.clone())]);
                rows.push(filled(table, empty, &Value::Object(record)));
            }
        }
        rows
    }

    /// Returns a row for each op of each program, the op with the most self time first.
    fn ops(&mut self, table: &Table, empty: &Row) -> Result<Vec<Row>, String> {
        let device_steps = self.device_steps.clone();
        let mut identities = std::mem::take(&mut self.identities);
        let rows = self.native("ops", "", |native| {
            if identities.is_empty() {
                identities = native.identities();
            }
            let columns = native.columns_of(table);
            let rows = native.asked.iter().zip(&identities).map(|(&row, identity)| {
                let own = |field: &Field| match field.name.as_str() {
                    "op_key" => Some(Cell::text(&identity.key)),
                    "scope" => Some(Cell::text(&identity.scope)),
                    "opcode" => identity.instruction.as_ref().map(|it| Cell::text(&it.opcode)),
                    "shapes" => identity.instruction.as_ref().map(|it| Cell::text(&it.shapes)),
                    "fingerprint" => identity.instruction.as_ref().map(|it| Cell::text(&it.fingerprint)),
                    "device_steps" => Some(device_steps.clone()),
                    _ => None,
                };
                native.filled(table, &columns, empty, row, own)
            });
            rows.collect()
        });
        self.identities = identities;
        rows
    }

    fn collectives(&mut self, table: &Table, empty: &Row) -> Result<Vec<Row>, String> {
        self.native("collectives", "op", |native| {
            let columns = native.columns_of(table);
            native.asked.iter().map(|&row| native.filled(table, &columns, empty, row, |_| None)).collect()
        })
    }

    /// Calls `make` with a table of the run.
    fn native<T>(&mut self, name: &str, by: &str, make: impl FnOnce(Native<'_>) -> T) -> Result<T, String> {
        let query = Query::default();
        self.opened
            .rows(self.run, name, by, &query, |_: TableName, _: &[Column], rows, asked| make(Native { rows, asked }))
    }
}

/// A table of the run.
struct Native<'a> {
    rows: &'a dyn Rows,
    /// Indices of the rows in the table's order.
    asked: &'a [u32],
}

impl Native<'_> {
    /// Returns the position of a column, if the run's table has the column.
    fn column(&self, key: &str) -> Option<usize> {
        self.rows.columns().iter().position(|column| column.key == key)
    }

    /// Returns the position of the source of each column of a lake's table.
    fn columns_of(&self, table: &Table) -> Vec<Option<usize>> {
        table.fields.iter().map(|field| self.column(field.source.first()?)).collect()
    }

    fn text(&self, row: u32, column: Option<usize>) -> Option<&str> {
        match self.rows.cell(row as usize, column?) {
            CellRef::Text(text) => Some(text),
            _ => None,
        }
    }

    /// Returns the identities of the ops in a table of ops.
    fn identities(&self) -> Vec<OpIdentity> {
        let [expression, path, name, category] =
            ["hlo_op_expression", "tf_op_name", "hlo_op_name", "category"].map(|key| self.column(key));
        let identity = |&row: &u32| {
            let text = |column| self.text(row, column);
            let instruction = text(expression).and_then(instruction_identity);
            let scope = merged_scope(text(path).unwrap_or_default());
            // An op without an HLO expression has its name without the number instead of opcode and shapes.
            let (opcode, shapes) = match &instruction {
                Some(it) => (Some(it.opcode.as_str()), Some(it.shapes.as_str())),
                None => (text(name).map(name_without_number), None),
            };
            let key = hash(&(&scope, text(category), opcode, shapes));
            OpIdentity { key, scope, instruction }
        };
        self.asked.iter().map(identity).collect()
    }

    /// Returns a row of the lake. `own` returns the values that the lake computes.
    fn filled(
        &self,
        table: &Table,
        columns: &[Option<usize>],
        empty: &Row,
        row: u32,
        own: impl Fn(&Field) -> Option<Cell>,
    ) -> Row {
        let of_column = |field: &Field, column: usize| match self.rows.cell(row as usize, column) {
            CellRef::Absent => Cell::Null,
            CellRef::Text(text) => Cell::text(text),
            CellRef::Int(value) => field.integer(value),
            CellRef::Float(value) => field.number(value),
            CellRef::Flag(flag) => Cell::Flag(flag),
        };
        let cells = table.fields.iter().zip(columns).zip(empty);
        cells
            .map(|((field, column), before)| {
                column.map(|column| of_column(field, column)).or_else(|| own(field)).unwrap_or_else(|| before.clone())
            })
            .collect()
    }
}

/// Returns a row with the columns of a record of the profile.
fn filled(table: &Table, empty: &Row, record: &Value) -> Row {
    let cell = |field: &Field| {
        let (first, rest) = field.source.split_first()?;
        let found = rest.iter().try_fold(record.get(first)?, |at, key| at.get(key))?;
        Some(field.cell_of(found)).filter(|cell| *cell != Cell::Null)
    };
    table.fields.iter().zip(empty).map(|(field, before)| cell(field).unwrap_or_else(|| before.clone())).collect()
}

/// Returns `empty` with the host of a record. Rows about a host or device belong to its host.
fn of_host(table: &Table, empty: &Row, record: &Value) -> Row {
    let mut row = empty.clone();
    let host = record.get("host").and_then(Value::as_str).filter(|host| !host.is_empty());
    if let (Some(host), Some(cell)) = (host, table.place("host").and_then(|at| row.get_mut(at))) {
        *cell = Cell::text(host);
    }
    row
}

/// Columns whose values are added when ops are merged.
const SUMS: [&str; 6] = ["self_time_ps", "total_time_ps", "occurrences", "executions", "flops", "bytes_accessed"];

/// Returns a row for each key, with the sums over its ops. The other values come from the op with the most self time, which
/// is the first.
fn merged(table: &Table, ops: Vec<Row>) -> Vec<Row> {
    let (Some(key), Some(count)) = (table.place("op_key"), table.place("num_ops")) else { return ops };
    let sums: Vec<usize> = SUMS.iter().filter_map(|name| table.place(name)).collect();
    let mut places: HashMap<Arc<str>, usize> = HashMap::new();
    let mut rows: Vec<Row> = Vec::new();
    for mut op in ops {
        if let Some(cell) = op.get_mut(count) {
            *cell = Cell::Int(1);
        }
        let Some(Cell::Text(name)) = op.get(key) else { continue };
        match places.get(name).and_then(|&at| rows.get_mut(at)) {
            Some(so_far) => sums.iter().chain([&count]).for_each(|&at| add(so_far, &op, at)),
            None => {
                places.insert(name.clone(), rows.len());
                rows.push(op);
            }
        }
    }
    rows
}

/// Adds the number at `place` of a row to another row.
fn add(so_far: &mut Row, row: &Row, place: usize) {
    if let (Some(cell), Some(Cell::Int(more))) = (so_far.get_mut(place), row.get(place)) {
        *cell = match cell {
            Cell::Int(sum) => sum.checked_add(*more).map_or(Cell::Null, Cell::Int),
            _ => Cell::Int(*more),
        };
    }
}

/// Returns the list at a path. The list is empty if there is none.
fn list_at<'a>(value: &'a Value, path: &[&str]) -> &'a [Value] {
    let found = path.iter().try_fold(value, |at, key| at.get(key));
    found.and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

/// Returns the first 16 hexadecimal digits of the SHA-256 of parts.
fn hash(parts: &(&String, Option<&str>, Option<&str>, Option<&str>)) -> String {
    let text = serde_json::to_string(parts).unwrap_or_default();
    Sha256::digest(text).iter().take(8).map(|byte| format!("{byte:02x}")).collect()
}
