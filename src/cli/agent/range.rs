//! Tool `range`: returns the individual events of a range of time, or their statistics.

use crossprof::TableName;
use crossprof::tables::{AreaQuery, LineQuery};
use crossprof::timeline::{extent, step_range};
use schemars::JsonSchema;
use serde::Deserialize;

use super::answer::Answer;
use super::captures::{Captures, no_run};
use super::table::{index, of_table, query};
use crate::cli::open::Opened;
use crate::cli::table::known_form;
use crate::cli::time::Time;

/// Arguments of `range`.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Request {
    /// Path of the capture.
    capture: String,
    /// Index of the run. 0 if absent.
    #[serde(default)]
    run: usize,
    /// Start of the range, counted from the start of the capture: `1.2s`, `15ms`, `800us`, or a number of microseconds.
    #[serde(default)]
    from: Option<String>,
    /// End of the range.
    #[serde(default)]
    to: Option<String>,
    /// Name or index of a step, instead of `from` and `to`.
    #[serde(default)]
    step: Option<String>,
    /// Part of the capture, instead of `from`, `to` and `step`: `main` (the steps that the other tools measure), `active`,
    /// `steps:3-5` or `10ms-20ms`. If this part differs between devices, the range begins at the earliest start and
    /// ends at the latest end.
    #[serde(default)]
    window: Option<String>,
    /// Names of tracks, processes or devices: `GPU:0`, `GPU:*/Stream*`. All tracks if absent.
    #[serde(default)]
    lines: Vec<String>,
    /// True for one row per event. If false or absent, rows are statistics.
    #[serde(default)]
    events: bool,
    /// Grouping of the statistics: `name` (default), `op`, `category`, `scope`, `line` or `counter`.
    #[serde(default)]
    by: String,
    /// Words that rows must contain.
    #[serde(default)]
    filter: String,
    /// Key of the column to sort by. A minus in front of the key puts the largest value first.
    #[serde(default)]
    sort: Option<String>,
    /// Largest number of rows. 20 if absent.
    #[serde(default)]
    limit: Option<u32>,
    /// Keys of the columns to return. If absent, the leading columns are returned.
    #[serde(default)]
    columns: Vec<String>,
    /// Largest size of the answer in bytes. 4000 if absent.
    #[serde(default)]
    max_bytes: Option<usize>,
}

/// Answers a request.
pub(super) fn call(captures: &mut Captures, request: &Request) -> Result<(Answer, Option<usize>), String> {
    let name = if request.events { TableName::Events } else { TableName::Range };
    known_form(name, &request.by)?;
    let query = query(&request.filter, request.sort.as_deref(), request.limit);
    let opened = captures.open_window(&request.capture, request.window.as_deref())?;
    let run = index(opened, request.run)?;
    let area = area(opened, run, request)?;
    let table = opened.session.table_of_area(run, &opened.settings, name, &request.by, &area, &query);
    let table = table.ok_or_else(|| no_run(request.run, opened.profiles.len()))?.map_err(|error| error.to_string())?;
    let mut answer = of_table(opened, run, name, table, &query, &request.columns)?;
    let us = |ps: Option<i64>| ps.map(|ps| crossprof::Ps::new(ps).as_us());
    answer.number("from_us", us(area.from_ps), "µs", "Start of the range, as time since the start of the capture.");
    answer.number("to_us", us(area.to_ps), "µs", "End of the range, as time since the start of the capture.");
    Ok((Answer { tool: "range", ..answer }, request.max_bytes))
}

fn area(opened: &mut Opened, run: u32, request: &Request) -> Result<AreaQuery, String> {
    let lines = match request.lines.as_slice() {
        [] => LineQuery::All,
        lines => LineQuery::Patterns(lines.to_vec()),
    };
    let ways = [request.step.is_some(), request.window.is_some(), request.from.is_some() || request.to.is_some()];
    if ways.iter().filter(|given| **given).count() > 1 {
        return Err("Give step, or window, or from and to.".to_owned());
    }
    if request.window.is_some() {
        let found = opened.session.timeline(run, &opened.settings, |context, _| {
            let (start, window) = (extent(context).start, context.analysis.window.hull()?);
            Some(((window.start - start).as_ps(), (window.end - start).as_ps()))
        });
        let (from, to) = found.flatten().ok_or("No device ran an op in the window.")?;
        return Ok(AreaQuery { from_ps: Some(from), to_ps: Some(to), lines, counters: None });
    }
    let Some(step) = &request.step else {
        let time = |text: &Option<String>| text.as_deref().map(str::parse::<Time>).transpose();
        let (from, to) = (time(&request.from)?, time(&request.to)?);
        return Ok(AreaQuery { from_ps: from.map(|it| it.0), to_ps: to.map(|it| it.0), lines, counters: None });
    };
    let step = step.strip_prefix("step:").unwrap_or(step);
    let found = opened.session.timeline(run, &opened.settings, |context, _| {
        let range = step_range(context, context.analysis.steps.find_step(step)?)?;
        let start = extent(context).start;
        Some(((range.start - start).as_ps(), (range.end - start).as_ps()))
    });
    let (from, to) = found.flatten().ok_or_else(|| format!("The run has no step {step} with device ops."))?;
    Ok(AreaQuery { from_ps: Some(from), to_ps: Some(to), lines, counters: None })
}
