//! Drives one run: its reports in several windows, its tables in several orders, its pages, and every output format.

use crossprof::document::{Block, Page};
use crossprof::graph::Measured;
use crossprof::hlo::Module;
use crossprof::pages::{PageQuery, View};
use crossprof::table::Cell;
use crossprof::{Query, Session, Settings, Sort, Table, TableName, UnifiedProfile, WindowChoice, export};

use super::{Kept, budget, compare, promise};
use crate::Random;

/// Forms of tables. If a table lacks a form, the table has its first form instead.
const FORMS: [&str; 9] = ["", "program", "category", "scope", "source", "op", "kind", "run", "apart"];

/// Filters that cover the whole filter language.
const FILTERS: [&str; 10] = [
    "",
    "fusion",
    "-copy",
    "category:fusion",
    "occurrences>1",
    "total_self_time_us<=1e308 -\"loop fusion\"",
    "bound_by=HBM",
    "\"unclosed",
    ":::>=<",
    "\u{202e} occurrences>nan",
];

/// Examines everything that is made from a run. `measured` is true if the run has events.
pub(super) fn examine(session: &mut Session, run: u32, measured: bool, random: &mut Random) -> Kept {
    let settings = Settings::default();
    if session.is_of_lake(run) {
        // The trends of a lake are pages alone: no report describes them.
        return pages(session, run, &settings, random);
    }
    let Some(profile) = session.report(run, &settings) else { return Ok(()) };
    report(&profile, measured)?;
    compare::with_others(&profile, random)?;
    budget::judged(&profile, random)?;
    tables(session, run, &settings, random)?;
    pages(session, run, &settings, random)?;
    scripts(session, run, &settings, random)?;
    let settings = other_settings(random);
    if let Some(profile) = session.report(run, &settings) {
        report(&profile, measured)?;
        let name = *random.pick(&TableName::ALL);
        session.table(run, &settings, name, "", &Query::default()).map_or(Ok(()), |table| table_holds(&table))?;
        pages(session, run, &settings, random)?;
    }
    Ok(())
}

/// Writes a report in every format, and reads the output again.
fn report(profile: &UnifiedProfile, measured: bool) -> Kept {
    promise::finite("a report", profile)?;
    let json = export::json::profile(profile);
    promise::json("a report", &json, false)?;
    if measured {
        promise::shares("a report", &json)?;
    }
    promise::plain("the text of a report", &export::text::report(profile))?;
    promise::plain("the Markdown of a report", &export::markdown::report(profile))?;
    promise::inert("the Markdown of a report", &export::markdown::report(profile))?;
    let page = export::html::report(profile);
    promise::inert("the page of a report", &page)?;
    for (path, text) in [("again.json", &json), ("again.html", &page)] {
        let mut session = Session::new();
        let file = session.begin(path, Some(text.len() as u64));
        session.push(file, text.as_bytes());
        let result = session.finish(file);
        if let Some(error) = result.error {
            return Err(format!("{path}: our own report cannot be read: {error}"));
        }
        session.runs();
        let Some(read) = session.report(0, &Settings::default()) else {
            return Err(format!("{path}: our own report gives no run."));
        };
        promise::finite("a report that was read again", &read)?;
    }
    Ok(())
}

/// Writes JAX scripts for some ops of each compiled program.
fn scripts(session: &mut Session, run: u32, settings: &Settings, random: &mut Random) -> Kept {
    for program in session.hlo_programs(run, settings).unwrap_or_default().iter().take(3) {
        let names = |module: &Module, _: &Measured| -> Vec<String> {
            module.instructions().iter().map(|it| it.name.clone()).collect()
        };
        let names = session.hlo_program(run, settings, program, names).unwrap_or_default();
        for _ in 0..names.len().min(20) {
            let op = random.pick(&names).clone();
            match session.jax_script(run, settings, program, &op) {
                Some(Ok(script)) => promise::plain("a script", &script)?,
                Some(Err(reason)) => promise::plain("the reason for no script", &reason.to_string())?,
                None => {}
            }
        }
    }
    Ok(())
}

fn other_settings(random: &mut Random) -> Settings {
    const WINDOWS: [&str; 8] =
        ["all", "active", "steps:0-1", "steps:2", "steps:9-0", "0-1", "1500-2500.5", "0.000001-99999999"];
    let mut settings =
        Settings { window: random.pick(&WINDOWS).parse().unwrap_or(WindowChoice::All), ..Settings::default() };
    settings.num_steps = random.once_in(3).then(|| *random.pick(&[1, 3, 1000, u64::MAX]));
    settings.model.batch_size = random.once_in(3).then(|| *random.pick(&[1, 16, u64::MAX]));
    settings.model.seq_length = random.once_in(3).then(|| *random.pick(&[1, 2048, u64::MAX]));
    settings.device = random.once_in(3).then(|| (*random.pick(&["h100-sxm", "tpu-v5e", "v4-8", "none"])).to_owned());
    settings
}

fn tables(session: &mut Session, run: u32, settings: &Settings, random: &mut Random) -> Kept {
    for name in TableName::ALL {
        let form = *random.pick(&FORMS);
        let Some(table) = session.table(run, settings, name, form, &Query::default()) else { continue };
        table_holds(&table)?;
        if table.columns.is_empty() {
            continue;
        }
        let sort = Sort { column: random.pick(&table.columns).key.to_owned(), descending: random.once_in(2) };
        let top = random.once_in(2).then(|| random.below(20) as u32);
        let query = Query { filter: filter(&table, random), sort: Some(sort), top };
        let Some(asked) = session.table(run, settings, name, form, &query) else { continue };
        table_holds(&asked)?;
        let most = top.map_or(u64::MAX, u64::from).min(asked.matched_rows);
        if asked.rows.len() as u64 != most || asked.matched_rows > asked.total_rows {
            return Err(format!("{}: {} rows of {} for {query:?}", asked.name, asked.rows.len(), asked.matched_rows));
        }
        promise::equal("the number of rows of a table", &table.total_rows, &asked.total_rows)?;
        promise::plain("the text of a table", &export::text::table_text(&asked, true))?;
        promise::inert("the Markdown of a table", &export::markdown::to_markdown(&asked))?;
        promise::json("a table", &export::json::table(&asked), true)?;
        export::csv::to_csv(&asked);
    }
    Ok(())
}

/// Returns one of [`FILTERS`], or a word from the table.
fn filter(table: &Table, random: &mut Random) -> String {
    if random.once_in(2) && !table.rows.is_empty() {
        let row = random.pick(&table.rows);
        if let Some(Cell::Text(text)) = row.get(random.below(row.len())) {
            return text.split_whitespace().next().unwrap_or_default().to_owned();
        }
    }
    (*random.pick(&FILTERS)).to_owned()
}

fn table_holds(table: &Table) -> Kept {
    for row in &table.rows {
        if row.len() != table.columns.len() {
            return Err(format!("{}: a row of {} cells under {} columns", table.name, row.len(), table.columns.len()));
        }
        for (cell, column) in row.iter().zip(&table.columns) {
            if let Cell::Float(value) = cell
                && !value.is_finite()
            {
                return Err(format!("{}: {} is {value}", table.name, column.key));
            }
        }
    }
    for (index, column) in table.columns.iter().enumerate() {
        let kind = |row: &Vec<Cell>| match row[index] {
            Cell::Absent => None,
            Cell::Text(_) => Some("text"),
            // A negative difference of whole numbers is a float.
            Cell::Int(_) | Cell::Float(_) => Some("number"),
            Cell::Flag(_) => Some("flag"),
        };
        let mut kinds = table.rows.iter().filter_map(kind);
        let first = kinds.next();
        if kinds.any(|kind| Some(kind) != first) {
            return Err(format!("{}: {} has values of several kinds", table.name, column.key));
        }
    }
    Ok(())
}

fn pages(session: &mut Session, run: u32, settings: &Settings, random: &mut Random) -> Kept {
    for view in View::ALL {
        let Some(page) = session.page(run, settings, view, &PageQuery::default()) else { continue };
        page_holds(view, &page)?;
        if let Some(page) = session.page(run, settings, view, &chosen(&page, random)) {
            page_holds(view, &page)?;
        }
    }
    Ok(())
}

fn page_holds(view: View, page: &Page) -> Kept {
    promise::finite(&format!("the page {}", view.key()), page)
}

/// Returns a random query for a page: a filter, a sort order for each table of the page, and a value for each choice.
fn chosen(page: &Page, random: &mut Random) -> PageQuery {
    let mut query = PageQuery { filter: (*random.pick(&FILTERS)).to_owned(), ..PageQuery::default() };
    for block in &page.blocks {
        match block {
            Block::Choice(choice) if !choice.values.is_empty() => {
                query.options.insert(choice.option.clone(), random.pick(&choice.values).0.clone());
            }
            Block::Table(table) if !table.columns.is_empty() => {
                let column = random.pick(&table.columns).key.clone();
                query.sorts.set(table.table.key(), Some(Sort { column, descending: random.once_in(2) }));
            }
            _ => {}
        }
    }
    query
}
