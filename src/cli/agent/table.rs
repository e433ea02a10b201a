//! Tool `table`: returns rows of a table of a run.

use crossprof::export::digest::ids;
use crossprof::table::{Cell, is_called};
use crossprof::{Query, Sort, Table, TableName};
use schemars::JsonSchema;
use serde::Deserialize;

use super::answer::{Answer, value};
use super::captures::{Captures, no_run};
use crate::cli::open::Opened;
use crate::cli::table::{fitting, known_form, select};
use base::suggest;

/// Largest number of rows that are copied for an answer.
const MOST_ROWS: u32 = 1000;
/// Number of rows if the request does not specify it.
const ROWS: u32 = 20;

/// Arguments of `table`.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Request {
    /// Path of the capture.
    capture: String,
    /// Index of the run. 0 if absent.
    #[serde(default)]
    run: usize,
    /// Name of the table: `ops`, `steps`, `collectives`, ... The `open` tool lists all tables.
    table: String,
    /// Form of the table, if it has several forms (`op-tree` by `scope`).
    #[serde(default)]
    by: String,
    /// Words that rows must contain. `column:word` and `column>number` test one column, and a minus in front excludes
    /// the rows that match.
    #[serde(default)]
    filter: String,
    /// Key of the column to sort by. A minus in front of the key puts the largest value first.
    #[serde(default)]
    sort: Option<String>,
    /// Largest number of rows. 20 if absent.
    #[serde(default)]
    limit: Option<u32>,
    /// Keys of the columns to return, in this order. `all` stands for every column. If absent, the leading columns are
    /// returned.
    #[serde(default)]
    columns: Vec<String>,
    /// Part of the capture to measure: `main` (the counted steps), `all`, `active`, `steps:FIRST-LAST`, or `FROM-TO` in
    /// microseconds from the start. `main` if absent.
    #[serde(default)]
    window: Option<String>,
    /// Largest size of the answer in bytes. 4000 if absent.
    #[serde(default)]
    max_bytes: Option<usize>,
}

/// Answers a request.
pub(super) fn call(captures: &mut Captures, request: &Request) -> Result<(Answer, Option<usize>), String> {
    let name = TableName::from_key(&request.table).ok_or_else(|| {
        let keys = TableName::ALL.map(|name| name.key());
        let question = suggest::question(&suggest::words(&request.table, &keys));
        format!("There is no table {}. The tables are {}.{question}", request.table, keys.join(", "))
    })?;
    if name.is_of_area() {
        return Err(format!("The table {} covers a range of time. Call the tool `range` instead.", name.key()));
    }
    known_form(name, &request.by)?;
    let query = query(&request.filter, request.sort.as_deref(), request.limit);
    let opened = captures.open_window(&request.capture, request.window.as_deref())?;
    let run = index(opened, request.run)?;
    let table = opened.session.table(run, &opened.settings, name, &request.by, &query);
    let table = table.ok_or_else(|| no_run(request.run, opened.profiles.len()))?;
    let answer = of_table(opened, run, name, table, &query, &request.columns)?;
    Ok((Answer { tool: "table", ..answer }, request.max_bytes))
}

pub(super) fn query(filter: &str, sort: Option<&str>, limit: Option<u32>) -> Query {
    Query { filter: filter.to_owned(), sort: sort.map(Sort::parse), top: Some(limit.unwrap_or(ROWS).min(MOST_ROWS)) }
}

/// Returns the index of a run in its session.
pub(super) fn index(opened: &Opened, run: usize) -> Result<u32, String> {
    let known = u32::try_from(run).ok().filter(|_| run < opened.profiles.len());
    known.ok_or_else(|| no_run(run, opened.profiles.len()))
}

/// Makes the answer of a table: its rows with ids, and the units and definitions of its columns.
pub(super) fn of_table(
    opened: &mut Opened,
    run: u32,
    name: TableName,
    table: Table,
    query: &Query,
    columns: &[String],
) -> Result<Answer, String> {
    fitting(table.name, &table.columns, query, table.matched_rows)?;
    let profile = opened.profiles.get(run as usize).ok_or_else(|| no_run(run as usize, opened.profiles.len()))?;
    let mut answer = Answer::about("table", profile);
    answer.evidence = row_ids(name, &table);
    let has_ids = !answer.evidence.is_empty();
    answer.evidence.insert(0, format!("table:{}", name.key()));
    let words = if columns.is_empty() { select::LEADING.to_owned() } else { columns.join(",") };
    let table = select::selected(name, table, &words)?;
    answer.fact("table", name.key());
    answer.fact("matched_rows", table.matched_rows);
    answer.fact("total_rows", table.total_rows);
    answer.columns = table.columns.iter().map(|column| column.key.to_owned()).collect();
    table.columns.iter().for_each(|column| answer.define_column(column));
    answer.rows = table.rows.iter().map(|row| row.iter().map(|cell| value(cell.as_ref())).collect()).collect();
    if has_ids {
        // The first column contains the id of each row. Other tools accept it.
        answer.columns.insert(0, "id".to_owned());
        let ids: Vec<String> = answer.evidence.drain(1..).collect();
        answer.rows.iter_mut().zip(ids).for_each(|(row, id)| row.insert(0, id.into()));
    }
    answer.leave_out("rows", table.matched_rows.saturating_sub(table.rows.len() as u64));
    for (at, column) in table.columns.iter().enumerate() {
        let is_absent = |row: &Vec<Cell>| row.get(at).is_none_or(|cell| *cell == Cell::Absent);
        if !table.rows.is_empty() && table.rows.iter().all(is_absent) {
            answer.missing(&format!("column:{}", column.key), "No listed row has a value in this column.", None);
        }
    }
    if table.rows.is_empty() && table.total_rows == 0 {
        let why = opened.session.why_empty(run, &opened.settings, name);
        let why = why.unwrap_or_else(|| "The measured part of this run has no such rows.".to_owned());
        answer.missing(&format!("table:{}", name.key()), &why, None);
    }
    Ok(answer)
}

/// Returns the id of each row. Empty if the table's rows have no ids.
fn row_ids(name: TableName, table: &Table) -> Vec<String> {
    let (kind, key) = match name {
        TableName::Ops | TableName::Roofline => ("op", "hlo_op_name"),
        TableName::Findings => ("finding", "id"),
        TableName::Warnings => ("warning", "code"),
        TableName::Layers => ("scope", "path"),
        TableName::Steps => ("step", "name"),
        _ => return Vec::new(),
    };
    let place = |key: &str| table.columns.iter().position(|column| is_called(column.key, column.title, key));
    let (Some(at), program) = (place(key), place("program_id").filter(|_| kind == "op")) else { return Vec::new() };
    let text = |row: &[Cell], at: usize| match row.get(at) {
        Some(Cell::Text(text)) => text.clone(),
        Some(Cell::Int(number)) => number.to_string(),
        _ => String::new(),
    };
    let is_repeated = |name: &str| table.rows.iter().filter(|row| text(row, at) == name).count() > 1;
    let index = place("index");
    let id = |row: &Vec<Cell>| {
        let name = match text(row, at) {
            // A step without a name is identified by its index.
            name if name.is_empty() => index.map(|at| text(row, at)).unwrap_or_default(),
            name => name,
        };
        let program = program.map(|at| text(row, at)).filter(|program| !program.is_empty() && is_repeated(&name));
        let program = program.map_or(String::new(), |program| format!("@{}", ids::of_text(&program)));
        format!("{kind}:{}{program}", ids::of_text(&name))
    };
    table.rows.iter().map(id).collect()
}
