//! Exact statistics of a selected range: of all events in it, never of those that were drawn.

use super::Outcome;
use crate::pages::{Block, Choice, Page, PageQuery, table_block_of};
use crate::table::query;
use crate::tables::{self, AreaQuery, LineQuery, TableName};
use base::Ps;
use base::format::{count, time_us};
use metrics::Context;
use timeline::{Origin, RowContent, Scene, Shows, Timeline};

/// By what events are grouped, as the page sends it back.
const OPTION: &str = "area";

/// The statistics of a range of the lines that stand between two heights of the rows; of all lines where no heights are given.
pub fn outcome(
    context: Context<'_>,
    kept: &Timeline,
    scene: &Scene<'_>,
    (from, to): (i64, i64),
    rows: Option<(u32, u32)>,
    asked: &PageQuery,
) -> Outcome {
    let lines = rows.map_or(LineQuery::All, |(top, bottom)| LineQuery::Indices(lines_between(scene, top, bottom)));
    let line_count = match &lines {
        LineQuery::Indices(lines) => format!("{} lines", count(lines.len() as u64)),
        _ => "all lines".to_owned(),
    };
    let area = AreaQuery { from_ps: Some(from), to_ps: Some(to), lines };
    let forms = TableName::Range.forms();
    let by = asked.chosen(OPTION, forms);
    let length = time_us(Ps::new(to.saturating_sub(from)).as_us());
    let title = format!("{length} of {line_count}");
    let mut blocks = vec![Block::Choice(Choice {
        option: OPTION.to_owned(),
        label: "Group by".to_owned(),
        values: forms.iter().map(|&form| (form.to_owned(), form.to_owned())).collect(),
        chosen: by.to_owned(),
    })];
    match tables::rows_of_area(&context, kept, &area, TableName::Range, by) {
        Ok(rows) => {
            let table =
                table_block_of(TableName::Range, by, &title, asked, rows.columns(), &mut |asked| query(&*rows, asked));
            blocks.push(Block::Table(crate::pages::TableBlock { area: Some(area), ..table }));
        }
        Err(reason) => blocks.push(Block::Note { text: reason }),
    }
    Outcome {
        range_ps: Some((from, to)),
        said: format!("Selected {title}"),
        page: Page { blocks },
        ..Outcome::default()
    }
}

/// The recorded lines of the rows between two heights.
fn lines_between(scene: &Scene<'_>, top: u32, bottom: u32) -> Vec<u32> {
    let rows = scene.layout.visible(top..bottom.max(top.saturating_add(1)));
    let tracks = rows.iter().filter_map(|row| match row.content {
        RowContent::Track { id, .. } => scene.track(id),
        RowContent::Heading { .. } => None,
    });
    tracks
        .filter_map(|track| match track.shows {
            Shows::Events(Origin::Captured, line) | Shows::Scopes(_, line) => Some(line.get()),
            Shows::Events(Origin::Derived, _) | Shows::Counter(_) => None,
        })
        .collect()
}
