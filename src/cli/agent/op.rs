//! Tool `op`: returns one op with its numbers, its neighbourhood in the compiled program, and its source lines.

use std::path::{Path, PathBuf};

use base::suggest;
use crossprof::export::digest::ids;
use crossprof::table::CellRef;
use crossprof::{Column, TableName};
use schemars::JsonSchema;
use serde::Deserialize;

use super::answer::{Answer, text, value};
use super::captures::{Captures, no_run};
use super::table::index;
use crate::cli::input::read_small;
use crate::cli::open::{Against, AskedHlo, Opened};

/// Number of source lines to show before and after the op's line.
const AROUND: usize = 3;
/// Size of the largest source file that is read, in bytes.
const MOST_SOURCE_BYTES: u64 = 4 << 20;
/// Largest number of programs that are listed if several programs contain an op with the same name.
const MOST_PROGRAMS: usize = 20;

/// Arguments of `op`.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Request {
    /// Path of the capture.
    capture: String,
    /// Index of the run. 0 if absent.
    #[serde(default)]
    run: usize,
    /// Id or name of the op: `op:fusion.12`, `fusion.12`, `fusion.12@PROGRAM`.
    op: String,
    /// Number of steps to the farthest operands and users that are printed. 1 if absent.
    #[serde(default)]
    radius: Option<u32>,
    /// Part of the capture to measure: `main` (the counted steps), `all`, `active`, `steps:FIRST-LAST`, or `FROM-TO` in
    /// microseconds from the start. `main` if absent.
    #[serde(default)]
    window: Option<String>,
    /// Largest size of the answer in bytes. 4000 if absent.
    #[serde(default)]
    max_bytes: Option<usize>,
}

/// An op as the value of each column.
type Found = Vec<(Column, serde_json::Value)>;

/// Answers a request.
pub(super) fn call(captures: &mut Captures, request: &Request) -> Result<(Answer, Option<usize>), String> {
    let (wanted, program) = ids::parts_of_op(&request.op);
    let opened = captures.open_window(&request.capture, request.window.as_deref())?;
    let run = index(opened, request.run)?;
    let (found, programs) = find(opened, run, wanted, program)?;
    let profile = opened.profiles.get(request.run).ok_or_else(|| no_run(request.run, opened.profiles.len()))?;
    let mut answer = Answer::about("op", profile);
    let mut source = None;
    let (mut name, mut program) = (wanted.to_owned(), program.map(str::to_owned));
    for (column, value) in found {
        match (column.key, value.as_str()) {
            ("hlo_op_name", Some(text)) => name = text.to_owned(),
            ("program_id", _) if !value.is_null() => {
                program = Some(value.as_str().map_or_else(|| value.to_string(), str::to_owned));
            }
            ("source_info", Some(text)) => source = Some(text.to_owned()),
            _ => {}
        }
        if value.is_null() {
            continue;
        }
        answer.define_column(&column);
        answer.facts.insert(column.key.to_owned(), value);
    }
    if !answer.facts.contains_key("model_flops") && !answer.facts.contains_key("flops") {
        let reason = "The FLOPs and bytes of this op are unknown, so it has no rate and no bound.";
        let remedy = "A custom call needs a cost estimate in the program: pl.pallas_call(..., cost_estimate=...).";
        answer.missing("column:flops", reason, Some(remedy));
    }
    answer.evidence.push(format!("op:{}", ids::of_text(&name)));
    answer.evidence.push("table:ops".to_owned());
    if programs.len() > 1 {
        answer.fact("programs_with_this_op", programs.join(" "));
        answer.evidence.extend(programs.iter().map(|program| format!("op:{}@{program}", ids::of_text(&name))));
    }
    let radius = request.radius.unwrap_or(1);
    match opened.hlo(request.run, &asked(&name, program, radius), Against::Nothing) {
        Ok(printed) => answer.lines.extend(printed.lines().map(text)),
        Err(message) => {
            let reason = message.lines().next().unwrap_or_default().to_owned();
            answer.missing("hlo", &reason, None);
        }
    }
    match source {
        None => answer.missing("source", "The capture records no source line for this op.", None),
        Some(place) => match snippet(captures, &place) {
            Ok(lines) => answer.lines.extend(lines),
            Err(reason) => answer.missing("source", &reason, None),
        },
    }
    Ok((answer, request.max_bytes))
}

fn asked(op: &str, program: Option<String>, radius: u32) -> AskedHlo {
    AskedHlo {
        program,
        op: Some(op.to_owned()),
        radius,
        computation: None,
        by: "layers".to_owned(),
        open: Vec::new(),
        critical_path: false,
        against_program: None,
        format: "text".to_owned(),
    }
}

/// Of the ops with this name or id, returns the op with the most self time, and the programs that contain such ops.
fn find(opened: &mut Opened, run: u32, wanted: &str, program: Option<&str>) -> Result<(Found, Vec<String>), String> {
    let looked = opened.session.rows(run, &opened.settings, TableName::Ops, "", |rows| {
        let columns = rows.columns();
        let place = |key: &str| columns.iter().position(|column| column.key == key);
        let name_at = place("hlo_op_name").unwrap_or_default();
        let program_of = |row: usize| match place("program_id").map(|at| rows.cell(row, at)) {
            Some(CellRef::Text(text)) => text.to_owned(),
            Some(CellRef::Int(number)) => number.to_string(),
            _ => String::new(),
        };
        let name_of = |row: usize| match rows.cell(row, name_at) {
            CellRef::Text(name) => name,
            _ => "",
        };
        let named: Vec<usize> = (0..rows.len()).filter(|&row| ids::fits(wanted, name_of(row))).collect();
        let is_of = |row: &usize| program.is_none_or(|program| ids::fits(program, &program_of(*row)));
        let Some(&first) = named.iter().find(|row| is_of(row)) else {
            let mut names: Vec<&str> = (0..rows.len()).map(name_of).collect();
            names.dedup();
            let question = suggest::question(&suggest::words(wanted, &names));
            return Err(format!("The run has no op {}.{question}", text(wanted)));
        };
        rows.prepare(&[u32::try_from(first).unwrap_or(u32::MAX)]);
        let found = columns.iter().enumerate().map(|(at, column)| (*column, value(rows.cell(first, at)))).collect();
        let mut programs: Vec<String> = named.iter().map(|&row| program_of(row)).filter(|it| !it.is_empty()).collect();
        programs.dedup();
        programs.truncate(MOST_PROGRAMS);
        Ok((found, programs))
    });
    looked.unwrap_or_else(|| Err("This run has no ops table.".to_owned()))
}

/// Returns the lines of source around `file:line`. Reads only Python files below the folders of the registry or, without
/// folders, below the working directory, because a trace may name any file on this machine.
fn snippet(captures: &Captures, place: &str) -> Result<Vec<String>, String> {
    let (file, line) = place.rsplit_once(':').ok_or("The source line must have the form FILE:LINE.")?;
    let line: usize = line.parse().map_err(|_| "The source line must have the form FILE:LINE.".to_owned())?;
    let here = std::env::current_dir().map(|folder| vec![folder]).unwrap_or_default();
    let folders: Vec<PathBuf> = captures.folders().map_or(here, <[PathBuf]>::to_vec);
    let given = Path::new(file);
    let candidates = std::iter::once(given.to_owned()).chain(folders.iter().map(|folder| folder.join(given)));
    let real = candidates.filter_map(|path| path.canonicalize().ok()).find(|real| {
        let is_inside = |folder: &PathBuf| folder.canonicalize().is_ok_and(|folder| real.starts_with(folder));
        real.extension().is_some_and(|end| end == "py") && folders.iter().any(is_inside)
    });
    let real = real.ok_or("The source file is not a Python file below a folder that may be read.")?;
    let bytes =
        read_small(&real, MOST_SOURCE_BYTES).map_err(|error| format!("The source could not be read: {error}."))?;
    let content = String::from_utf8_lossy(&bytes);
    let first = line.saturating_sub(AROUND).max(1);
    let numbered = content.lines().enumerate().map(|(at, text)| (at + 1, text));
    let near = numbered.skip(first - 1).take(2 * AROUND + 1);
    let lines = near.map(|(number, code)| {
        let mark = if number == line { ">" } else { " " };
        format!("{mark} {}:{number}: {}", text(file), text(code))
    });
    Ok(lines.collect())
}
