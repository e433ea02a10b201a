//! `crossprof table`: prints one table of every run.

mod columns;
pub(super) mod select;

use std::io::IsTerminal;

use crossprof::export::{csv, json, text};

use base::format::counted;
use base::suggest;
use crossprof::memory::Change;
use crossprof::table::Filter;
use crossprof::tables::AreaError;
use crossprof::{Column, Query, Sort, TableName};

use super::analyze::Reports;
use super::args::{Table, TableFormat};
use super::output::Outputs;
use super::{DAMAGED, FAILED, READ, area, arguments, complain, print_result, print_text};

/// Reads the inputs, prints the table, and returns the exit status.
pub(super) fn run(command: &Table) -> u8 {
    if let Some(asked) = &command.columns {
        return columns::run(command, asked.0.or(command.table));
    }
    let name = command.name();
    let form = command.change.as_deref().unwrap_or(&command.by);
    if let Err(message) = known_form(name, &command.by).and_then(|()| known_change(command)) {
        complain(&message);
        return FAILED;
    }
    let area = match area::asked(command) {
        Ok(area) => area,
        Err(message) => {
            complain(&message);
            return FAILED;
        }
    };
    let mut reports = match super::analyze::reports(&command.inputs, &Outputs::default()) {
        Ok(reports) => reports,
        Err(message) => {
            complain(&message);
            return FAILED;
        }
    };
    if reports.profiles.is_empty() {
        return FAILED;
    }
    let query =
        Query { filter: command.filter.clone(), sort: command.sort.as_deref().map(Sort::parse), top: command.top };
    let mut is_lost = false;
    let titles = text::titles(&reports.profiles);
    let runs = asked_runs(name, &mut reports, &titles);
    let several = runs.len() > 1;
    let is_terminal = std::io::stdout().is_terminal();
    for (index, (run, title)) in runs.into_iter().enumerate() {
        let settings = &reports.settings;
        let listed = if command.arguments { reports.session.listed_events(run, settings, &area, &query) } else { None };
        let asked = listed.or_else(|| {
            let table = reports.session.table_of_area(run, settings, name, form, &area, &query)?;
            Some(table.map(|table| (table, Vec::new())))
        });
        let (table, events) = match asked {
            Some(Ok(asked)) => asked,
            Some(Err(error)) => {
                let option = match error {
                    AreaError::NoLine(_) => "--line: ",
                    AreaError::EndsBeforeStart => "--to: ",
                    AreaError::NotOfMemory => "",
                };
                complain(&format!("{option}{error}"));
                return FAILED;
            }
            None => continue,
        };
        if let Err(message) = fitting(table.name, &table.columns, &query, table.matched_rows) {
            complain(&message);
            return FAILED;
        }
        let found = command.arguments.then(|| arguments::read(&events));
        for problem in found.iter().flat_map(|(_, problems)| problems) {
            complain(problem);
            is_lost = true;
        }
        let all_columns = table.columns.len();
        // Findings are printed as a list and not as columns.
        let is_wide = is_terminal && command.format == TableFormat::Text && name != TableName::Findings;
        let words = command.select.as_deref().or(is_wide.then_some(select::LEADING)).unwrap_or(select::ALL);
        let table = match select::selected(name, table, words) {
            Ok(table) => table,
            Err(message) => {
                complain(&message);
                return FAILED;
            }
        };
        let hidden = (all_columns - table.columns.len()) as u64;
        let as_json = match (command.format, &found) {
            (TableFormat::Json, Some((arguments, _))) => arguments::json(&table, arguments),
            (TableFormat::Json, None) => json::table(&table),
            _ => String::new(),
        };
        let table = match &found {
            Some((arguments, _)) => arguments::with_column(table, arguments),
            None => table,
        };
        // In text, an empty line and a title separate several runs. In CSV, an empty line does. JSON has one line per run.
        let before = if index > 0 { "\n" } else { "" };
        let why = table.rows.is_empty().then(|| reports.session.why_empty(run, &reports.settings, name)).flatten();
        let filtered = || format!("No row of {} matches --filter '{}'.", name.key(), command.filter);
        let why = why.or_else(|| (table.rows.is_empty() && !command.filter.is_empty()).then(filtered));
        if let Some(why) = why.as_ref().filter(|_| command.format != TableFormat::Text) {
            complain(why);
        }
        let text = match command.format {
            TableFormat::Text if why.is_some() => {
                let title = if several { format!("{before}{title}\n") } else { String::new() };
                format!("{title}{}\n", why.unwrap_or_default())
            }
            TableFormat::Text if several => format!("{before}{title}\n{}", text::table_text(&table, is_terminal)),
            TableFormat::Text => text::table_text(&table, is_terminal),
            TableFormat::Csv => format!("{}{}", if index > 0 { "\r\n" } else { "" }, csv::to_csv(&table)),
            TableFormat::Json => as_json,
        };
        let text = match hidden {
            1.. if command.select.is_none() && !table.rows.is_empty() => {
                format!("{text}{}: --select all\n", counted(hidden, "more column"))
            }
            _ => text,
        };
        let print = if command.format == TableFormat::Text { print_text } else { print_result };
        if print(&text, READ) == FAILED {
            return FAILED;
        }
    }
    if name != TableName::Warnings {
        reports.print_warnings();
    }
    match reports.status() {
        READ if is_lost => DAMAGED,
        status => status,
    }
}

/// Returns the runs whose tables are printed, with their titles. If the table shows the difference between device
/// memory profiles, returns only runs that have an earlier profile.
fn asked_runs<'t>(name: TableName, reports: &mut Reports, titles: &'t [String]) -> Vec<(u32, &'t String)> {
    let all: Vec<(u32, &String)> = (0..).zip(titles).collect();
    if name != TableName::Heap {
        return all;
    }
    let has_earlier = |&(run, _): &(u32, &String)| {
        let recorded = reports.session.memory(run, &reports.settings);
        recorded.is_some_and(|recorded| recorded.earlier_heap_profile().is_some())
    };
    let later: Vec<(u32, &String)> = all.iter().copied().filter(has_earlier).collect();
    if later.is_empty() { all } else { later }
}

/// Rejects a form that the table does not have, because printing another form would be misleading.
pub(super) fn known_form(name: TableName, by: &str) -> Result<(), String> {
    let forms = name.forms();
    if by.is_empty() || forms.contains(&by) {
        return Ok(());
    }
    let has = if forms.is_empty() { "one form only".to_owned() } else { forms.join(", ") };
    Err(format!("--by: the table {} cannot be grouped by {by}; it has {has}", name.key()))
}

/// Rejects a `--change` that cannot be parsed, and a `--change` for a table that does not support the option.
fn known_change(command: &Table) -> Result<(), String> {
    match &command.change {
        Some(_) if command.name() != TableName::MemoryWhatIf => {
            Err(format!("--change: the table {} does not evaluate changes; use memory-what-if", command.name().key()))
        }
        // The program's batch size is known only after reading it.
        Some(change) => Change::parse(change, Some(1)).map(drop).map_err(|error| format!("--change: {error}")),
        None => Ok(()),
    }
}

/// Rejects sort columns that the table does not have, and filters that do not fit the table, because ignoring either would
/// be misleading.
pub(super) fn fitting(table: &str, columns: &[Column], query: &Query, matched_rows: u64) -> Result<(), String> {
    let keys: Vec<&str> = columns.iter().map(|column| column.key).collect();
    if keys.is_empty() {
        return Ok(());
    }
    if let Some(sort) = query.sort.as_ref().filter(|sort| !keys.contains(&sort.column.as_str())) {
        let question = suggest::question(&suggest::words(&sort.column, &keys));
        let has = keys.join(", ");
        return Err(format!("--sort: the table {table} has no column {}; it has {has}.{question}", sort.column));
    }
    let mistakes = Filter::parse(&query.filter).mistakes(columns, matched_rows);
    let mistakes: Vec<String> = mistakes.iter().map(ToString::to_string).collect();
    if mistakes.is_empty() { Ok(()) } else { Err(format!("--filter: {}", mistakes.join(" "))) }
}
