//! Exact statistics of a selected range. The statistics cover all events in the range, not only the events that are
//! drawn.

use super::Outcome;
use crate::{PageQuery, table_block_of};
use base::Ps;
use base::format::{count, printable, time_us};
use document::{Block, Choice, Grid, GridCell, Page};
use metrics::Context;
use table::{Cell, Query, query};
use tables::{self, AreaQuery, COUNTER, LineQuery, TableName};
use timeline::{Bookmark, Origin, RowContent, Scene, Shows, Timeline};

/// Option for the grouping of events.
const OPTION: &str = "area";

/// Number of rows in the first response, which is more than fit on the screen.
const FIRST_ROWS: u32 = 50;
/// Maximum number of counters that are listed below the table. The table grouped by counter lists all counters.
const MAX_COUNTERS: u32 = 50;

/// Returns the statistics of a time range. `rows` contains the top and the bottom of the selected lines in the picture.
/// If `rows` is `None`, the statistics cover all lines.
pub(super) fn outcome(
    context: Context<'_>,
    kept: &Timeline,
    scene: &Scene<'_>,
    (from, to): (i64, i64),
    rows: Option<(u32, u32)>,
    asked: &PageQuery,
    first_look: bool,
) -> Outcome {
    let shown = rows.map(|(top, bottom)| shown_between(scene, top, bottom));
    let lines = shown.as_ref().map_or(LineQuery::All, |shown| LineQuery::Indices(lines_of(shown)));
    let counters = shown.as_ref().map(|shown| counters_of(shown));
    let line_count = match &lines {
        LineQuery::Indices(lines) => base::format::counted(lines.len() as u64, "line"),
        _ => "all lines".to_owned(),
    };
    let area = AreaQuery { from_ps: Some(from), to_ps: Some(to), lines, counters };
    let forms = TableName::Range.forms();
    let has_counters = [Origin::Captured, Origin::Derived]
        .into_iter()
        .any(|origin| !kept.source(context, origin).trace.counters.is_empty());
    let by = asked.chosen(OPTION, forms);
    let length = time_us(Ps::new(to.saturating_sub(from)).as_us());
    let title = format!("{length} of {line_count}");
    let mut blocks = vec![Block::Choice(Choice {
        option: OPTION.to_owned(),
        label: "Group by".to_owned(),
        values: forms
            .iter()
            .filter(|form| **form != COUNTER || has_counters)
            .map(|&form| (form.to_owned(), form.to_owned()))
            .collect(),
        chosen: by.to_owned(),
    })];
    let mut has_more_rows = false;
    match tables::rows_of_area(&context, kept, &area, TableName::Range, by) {
        Ok(rows) => {
            let mut ask = |asked: &Query| match first_look {
                true => query(&*rows, &Query { top: Some(FIRST_ROWS), ..asked.clone() }),
                false => query(&*rows, asked),
            };
            let table = table_block_of(TableName::Range, by, &title, asked, rows.columns(), &mut ask);
            has_more_rows = first_look && table.matched_rows > table.rows.len() as u64;
            let list = counter_list(&context, kept, &area).filter(|_| by != COUNTER);
            blocks.push(Block::Table(document::TableBlock { area: Some(Box::new(area)), ..table }));
            blocks.extend(list);
        }
        Err(reason) => blocks.push(Block::Note { text: reason.to_string() }),
    }
    // A bookmarked range has a name.
    let is_kept = |it: &(u32, &Bookmark)| (it.1.range_ps, it.1.rows) == ((from, to), rows);
    let kept = (0..).zip(scene.bookmarks.all()).find(is_kept);
    Outcome {
        range_ps: Some((from, to)),
        rows,
        bookmark: kept.map(|(index, bookmark)| (index, bookmark.name.clone())),
        said: format!("Selected {title}"),
        page: Page { blocks },
        has_more_rows,
        ..Outcome::default()
    }
}

/// Returns the contents of the tracks between two vertical positions among the rows.
fn shown_between(scene: &Scene<'_>, top: u32, bottom: u32) -> Vec<Shows> {
    let rows = scene.layout.visible(top..bottom.max(top.saturating_add(1)));
    let tracks = rows.iter().filter_map(|row| match row.content {
        RowContent::Track { id, .. } => scene.track(id),
        RowContent::Heading { .. } => None,
    });
    tracks.map(|track| track.shows).collect()
}

/// Returns the recorded lines among the contents `shown`.
fn lines_of(shown: &[Shows]) -> Vec<u32> {
    let line = |shows: &Shows| match shows {
        Shows::Events(Origin::Captured, line) | Shows::Scopes(_, line) => Some(line.get()),
        Shows::Events(Origin::Derived, _) | Shows::Counter(..) => None,
    };
    shown.iter().filter_map(line).collect()
}

fn counters_of(shown: &[Shows]) -> Vec<(Origin, u32)> {
    let counter = |shows: &Shows| match shows {
        Shows::Counter(origin, counter) => Some((*origin, *counter)),
        Shows::Events(..) | Shows::Scopes(..) => None,
    };
    shown.iter().filter_map(counter).collect()
}

/// Lists the counters of an area, as many as fit below its table. Returns `None` if no counter has
/// a value.
fn counter_list(context: &Context<'_>, kept: &Timeline, area: &AreaQuery) -> Option<Block> {
    let rows = tables::rows_of_area(context, kept, area, TableName::Range, COUNTER).ok()?;
    let table = query(&*rows, &Query { top: Some(MAX_COUNTERS), ..Query::default() });
    let text = |cell: &Cell| match cell {
        Cell::Text(text) => printable(text),
        Cell::Int(number) => count(*number),
        Cell::Float(number) => base::format::number(*number),
        Cell::Flag(_) | Cell::Absent => String::new(),
    };
    let columns = table.columns.iter().map(|column| column.title.to_owned()).collect();
    let rows: Vec<Vec<GridCell>> =
        table.rows.iter().map(|row| row.iter().map(|cell| GridCell::text(&text(cell))).collect()).collect();
    let all = rows.len() < MAX_COUNTERS as usize;
    let title = if all { "Counters".to_owned() } else { format!("Counters: the first {MAX_COUNTERS}") };
    (!rows.is_empty()).then_some(Block::Grid(Grid { title, columns, rows }))
}
