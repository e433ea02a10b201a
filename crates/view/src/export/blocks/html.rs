//! Blocks of a report that is one web page.

use crate::export::html::page::{Align, Table};
use crate::pages::{Block, CellStatus, Grid, GridCell};
use maud::{Markup, html};

/// The blocks, one below the other.
pub fn html(blocks: &[Block]) -> Markup {
    html! { @for block in blocks { (one(block)) } }
}

fn one(block: &Block) -> Markup {
    match block {
        Block::Heading { text, note } => html! {
            h3 { (text) }
            @if let Some(note) = note { p.note { (note) } }
        },
        Block::Note { text } if text.lines().count() == 1 => html! { p { (text) } },
        Block::Note { text } => html! { ol { @for sentence in text.lines() { li { (sentence) } } } },
        Block::Grid(grid) => html! {
            h3 { (grid.title) }
            (table(grid))
        },
        Block::Fold { title, blocks } => html! { details.folded { summary { (title) } (html(blocks)) } },
        _ => html! {},
    }
}

fn table(grid: &Grid) -> Table {
    let align = |at: usize| if at == 0 { Align::Left } else { Align::Right };
    let columns: Vec<(&str, Align)> =
        grid.columns.iter().enumerate().map(|(at, column)| (column.as_str(), align(at))).collect();
    let mut table = Table::new(&columns);
    grid.rows.iter().for_each(|row| table.row_of(&row.iter().map(cell).collect::<Vec<_>>()));
    table
}

fn cell(cell: &GridCell) -> Markup {
    let class = match cell.status {
        Some(CellStatus::Better) => "good",
        Some(CellStatus::Worse) => "bad",
        _ => "even",
    };
    html! {
        span class=(class) { (cell.text) }
        @if !cell.note.is_empty() { small class=(class) { (cell.note) } }
    }
}
