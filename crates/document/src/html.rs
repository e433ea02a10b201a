//! Renders sections as a web page, with charts.

mod heat_map;
pub mod parts;
mod scatter;
mod waterfall;

use super::{Place, Section, is_empty, is_of_numbers, shown_columns, title, value};
use crate::html::parts::{Align, Px, Table, WIDTH, colour, drawing};
use crate::{Bars, Block, CellStatus, ColourClass, FindingBlock, Grid, GridCell, Stack, TableBlock};
use base::format;
use maud::{Markup, html};
use report::FindingSeverity;
use table::{Cell, Unit, display};

/// Maximum number of rows of a table. The profile in the page contains all rows.
const ROWS: usize = 64;

/// Maximum number of characters in a cell. The profile in the page contains names in full.
const CELL: usize = 400;

/// Renders all sections unfolded, one below the other.
pub fn render(sections: &[Section]) -> Markup {
    html! {
        @for section in sections.iter().filter(|section| !section.is_empty()) {
            section id=(section.id) {
                h2 { (section.title) }
                (below(&section.title, &section.blocks))
            }
        }
    }
}

/// Renders one section, folded under its title if it contains details.
pub fn section(section: &Section) -> Markup {
    let body = below(&section.title, &section.blocks);
    html! {
        @if section.is_empty() {
        } @else if section.place < Place::Detail {
            section id=(section.id) {
                @if !section.title.is_empty() { h2 { (section.title) } }
                (body)
            }
        } @else {
            section id=(section.id) { (folded(&section.title, &body)) }
        }
    }
}

/// Renders a part that opens with a click on its title. In print, only the title of a closed part appears.
pub fn folded(title: &str, body: &Markup) -> Markup {
    html! { details.folded { summary { (title) } (body) } }
}

/// Renders blocks below each other, each under its title.
pub fn blocks(blocks: &[Block]) -> Markup {
    below("", blocks)
}

/// Renders blocks under a heading, and omits the heading from the titles of the blocks.
fn below(heading: &str, blocks: &[Block]) -> Markup {
    html! {
        @for block in blocks.iter().filter(|block| !is_empty(block)) {
            @if let Some(title) = title(block).filter(|title| *title != heading) { h3 { (title) } }
            (self::block(block))
        }
    }
}

fn block(block: &Block) -> Markup {
    match block {
        Block::Figures { figures } => html! {
            dl.figures {
                @for figure in figures {
                    dt { (figure.label) }
                    dd { (value(figure.value, figure.unit)) " " span.note { (figure.note) } }
                }
            }
        },
        Block::Facts(facts) => {
            let mut table = Table::new(&[("", Align::Left), ("", Align::Name)]);
            facts.facts.iter().for_each(|fact| table.row(&[&fact.label, &fact.value]));
            html! { (table) }
        }
        Block::Bars(bars) => self::bars(bars),
        Block::Stack(stack) => self::stack(stack),
        Block::Table(table) => of_table(table),
        Block::Grid(grid) => of_grid(grid),
        Block::Findings { findings } => html! { ol { @for finding in findings { (self::finding(finding)) } } },
        Block::Note { text } if text.lines().count() > 1 => {
            html! { ol { @for sentence in text.lines() { li { (sentence) } } } }
        }
        Block::Note { text } => html! { p { (text) } },
        Block::Heading { note, .. } => html! { @if let Some(note) = note { p.note { (note) } } },
        Block::Empty { reason, .. } => html! { p.note { (reason) } },
        Block::Fold { title, blocks } => folded(title, &self::blocks(blocks)),
        Block::Scatter(scatter) => scatter::scatter(scatter),
        Block::HeatMap(map) => heat_map::heat_map(map),
        Block::Waterfall(waterfall) => waterfall::waterfall(waterfall),
        Block::Choice(_) | Block::Links { .. } | Block::Icicle(_) | Block::Matrix(_) => html! {},
    }
}

/// Renders a finding with its remedy and its numbers.
fn finding(finding: &FindingBlock) -> Markup {
    let numbers: Vec<String> = finding.evidence.iter().map(|(label, value)| format!("{label}: {value}")).collect();
    html! {
        li {
            @if finding.severity != FindingSeverity::NotChecked { span.tag { (finding.severity.label()) } " " }
            strong { (finding.title) }
            br;
            (finding.text) " " (finding.remedy)
            @if !numbers.is_empty() {
                br;
                span.note { (numbers.join(", ")) }
            }
        }
    }
}

fn bars(bars: &Bars) -> Markup {
    let longest = bars.bars.iter().map(|bar| bar.value).fold(0.0, f64::max);
    let whole = bars.whole.filter(|whole| *whole > 0.0).unwrap_or(longest);
    let mut table = Table::new(&[("", Align::Name), ("", Align::Right), ("", Align::Left), ("", Align::Right)]);
    for bar in bars.bars.iter().take(ROWS) {
        let share = if whole > 0.0 { (100.0 * bar.value / whole).clamp(0.0, 100.0) } else { 0.0 };
        let shown = display(&Cell::Float(bar.value), bars.unit);
        table.row(&[&bar.label, &shown, &share_bar(class(bar.class, &bar.label), share), &bar.note]);
    }
    html! {
        @if !bars.bars.is_empty() { (table) }
        (more(bars.bars.len(), ROWS))
        @if !bars.note.is_empty() { p.note { (bars.note) } }
    }
}

/// Draws the bar of a share from 0 to 100.
pub fn share_bar(class: &str, share: f64) -> Markup {
    html! {
        svg viewBox="0 0 100 10" width="100" height="10" aria-hidden="true" {
            rect class="track" width="100" height="10" {}
            rect class=(class) width=(Px(share)) height="10" {}
        }
    }
}

/// Returns the CSS class of a colour. All causes of idle time have the same class.
fn class(class: ColourClass, label: &str) -> &'static str {
    match colour(class.name()) {
        "c-other" if label.starts_with("Idle") => "c-idle",
        known => known,
    }
}

/// Renders a table. Text columns are aligned like names, and all other columns like numbers.
fn of_table(table: &TableBlock) -> Markup {
    let shown = shown_columns(table);
    let align = |unit: Unit| if unit == Unit::Text { Align::Name } else { Align::Right };
    let columns: Vec<(&str, Align)> =
        shown.iter().map(|(_, column)| (column.title.as_str(), align(column.unit))).collect();
    let mut out = Table::new(&columns);
    for row in table.rows.iter().take(ROWS) {
        let cell = |at: usize, unit: Unit| row.get(at).map_or_else(String::new, |cell| display(cell, unit));
        out.row_of(&shown.iter().map(|(at, column)| cell(*at, column.unit)).collect::<Vec<_>>());
    }
    html! { (out) (more(table.total_rows.max(table.rows.len() as u64) as usize, ROWS)) }
}

fn of_grid(grid: &Grid) -> Markup {
    let align = |at: usize| match at {
        _ if is_of_numbers(grid, at) => Align::Right,
        // Names and sentences may be long.
        _ if grid.rows.iter().filter_map(|row| row.get(at)).any(|cell| cell.text.chars().count() > 40) => Align::Wide,
        _ => Align::Left,
    };
    let columns: Vec<(&str, Align)> =
        grid.columns.iter().enumerate().map(|(at, title)| (title.as_str(), align(at))).collect();
    let mut out = Table::new(&columns);
    for row in grid.rows.iter().take(ROWS) {
        out.row_of(&row.iter().map(grid_cell).collect::<Vec<_>>());
    }
    html! { (out) (more(grid.rows.len(), ROWS)) }
}

fn grid_cell(cell: &GridCell) -> Markup {
    let class = match cell.status {
        Some(CellStatus::Better) => "good",
        Some(CellStatus::Worse) => "bad",
        Some(CellStatus::Warning) => "status differs",
        Some(CellStatus::Unknown) => "status unknown",
        Some(CellStatus::Same) | None => "even",
    };
    html! {
        span class=(class) { (format::shorten(&cell.text, CELL)) }
        @if !cell.note.is_empty() { small class=(class) { (format::shorten(&cell.note, CELL)) } }
    }
}

fn more(count: usize, most: usize) -> Markup {
    let left = count.saturating_sub(most);
    html! { @if left > 0 { p.note { "and " (format::count(left as u64)) " more." } } }
}

const HEIGHT: f64 = 200.0;
const LEFT: f64 = 70.0;
const TOP: f64 = 16.0;
const BOTTOM: f64 = 24.0;

/// Draws every row as a column of its parts, the first part at the bottom.
///
/// ```text
/// us  |        #
///     |  o o o o o        idle
///     |  = = = = =        communication
///     |  # # # # #        compute
///     +------------------ step
/// ```
fn stack(stack: &Stack) -> Markup {
    let total = |parts: &[f64]| parts.iter().sum::<f64>();
    let longest = stack.rows.iter().map(|row| total(&row.parts)).fold(0.0, f64::max);
    let note = html! { @if !stack.note.is_empty() { p.note { (stack.note) } } };
    if stack.rows.len() < 2 || longest <= 0.0 {
        return note;
    }
    let length = |value: f64| value / longest * (HEIGHT - BOTTOM - TOP);
    let y = |value: f64| HEIGHT - BOTTOM - length(value);
    let column = (WIDTH - LEFT) / stack.rows.len() as f64;
    let x = |index: usize| LEFT + index as f64 * column;
    let width = (column - 1.0).max(column * 0.7);
    // Draws as many labels as fit.
    let every = stack.rows.len().div_ceil(12).max(1);
    let shapes = html! {
        @for mark in [longest / 2.0, longest] {
            path class="grid" d={ "M" (LEFT) " " (Px(y(mark))) "H" (WIDTH) } {}
            text class="q" x=(Px(LEFT - 6.0)) y=(Px(y(mark) + 4.0)) text-anchor="end" {
                (display(&Cell::Float(mark), stack.unit))
            }
        }
        @for (index, row) in stack.rows.iter().enumerate() {
            g class=[(!row.mark.is_empty()).then_some("faint")] {
                title {
                    (row.label) ": " (display(&Cell::Float(total(&row.parts)), stack.unit))
                    @if !row.mark.is_empty() { ", " (row.mark) }
                }
                @for (class, end, value) in segments(stack, &row.parts) {
                    rect class=(class) x=(Px(x(index))) y=(Px(y(end))) width=(Px(width)) height=(Px(length(value))) {}
                }
            }
        }
        @for (index, row) in stack.rows.iter().enumerate().filter(|(index, _)| index % every == 0) {
            text class="q" x=(Px(LEFT + (index as f64 + 0.5) * column)) y=(Px(HEIGHT - 8.0)) text-anchor="middle" {
                (format::shorten(row.label.trim_start_matches("step "), 10))
            }
        }
    };
    html! {
        (drawing(&stack.title, HEIGHT, &shapes))
        p.note { "Colours as in the table below. Faint columns are not counted." }
        (note)
    }
}

/// Returns the colour, the end and the length of each part of a stacked column.
fn segments(stack: &Stack, parts: &[f64]) -> Vec<(&'static str, f64, f64)> {
    let mut end = 0.0;
    let mut found = Vec::new();
    for (series, &value) in stack.series.iter().zip(parts).filter(|(_, value)| **value > 0.0) {
        end += value;
        found.push((class(series.class, &series.label), end, value));
    }
    found
}
