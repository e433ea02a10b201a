//! Renders sections as Markdown (GitHub's dialect), for issues and notes.

use super::{Place, Section, is_empty, is_of_numbers, shown_columns, signed, title, value};
use crate::markup::{escape, push_row};
use crate::{Block, Figure, FindingBlock, Grid, GridCell, TableBlock, Waterfall, WaterfallPart};
use table::{Cell, Unit, display};

/// Maximum number of rows of a table.
const ROWS: usize = 50;
/// Maximum number of rows of a grid.
const GRID_ROWS: usize = 20;
/// Maximum number of findings. The profile contains all findings.
const FINDINGS: usize = 3;

/// Renders the front sections, one below the other.
pub fn render(sections: &[Section]) -> String {
    sections.iter().filter(|section| section.place == Place::Front).map(of_section).collect()
}

/// Renders all sections: first the front sections, then the others, each folded under its title.
pub fn render_all(sections: &[Section]) -> String {
    let others = sections.iter().filter(|section| section.place != Place::Front && !section.is_empty());
    let others = others.map(|section| folded(&section.title, &blocks(&section.blocks)));
    render(sections) + &others.collect::<String>()
}

fn of_section(section: &Section) -> String {
    let shown: Vec<&Block> = section.blocks.iter().filter(|block| is_shown(block)).collect();
    let is_titled = shown.first().is_some_and(|block| title(block).is_none()) && !section.title.is_empty();
    let heading = if is_titled { format!("\n### {}\n\n", escape(&section.title)) } else { String::new() };
    heading + &blocks(&section.blocks)
}

/// Returns true if Markdown can show the block. Markdown cannot draw scatter charts.
fn is_shown(block: &Block) -> bool {
    !is_empty(block) && !matches!(block, Block::Scatter(_))
}

/// Renders a part that opens with a click on its title.
fn folded(title: &str, body: &str) -> String {
    format!("\n<details>\n<summary>{}</summary>\n\n{}\n\n</details>\n", escape(title), body.trim_matches('\n'))
}

/// Renders blocks, one below the other.
pub fn blocks(blocks: &[Block]) -> String {
    let mut text = String::new();
    for block in blocks.iter().filter(|block| is_shown(block)) {
        match title(block) {
            Some(title) => text.push_str(&format!("\n### {}\n\n", escape(title))),
            // Markdown requires an empty line before a table.
            None if !text.is_empty() && !text.ends_with("\n\n") => text.push('\n'),
            None => {}
        }
        text.push_str(&self::block(block));
    }
    text
}

fn block(block: &Block) -> String {
    match block {
        Block::Figures { figures } => {
            let line = |label: &str, text: &str| format!("- **{}**: {}\n", escape(label), escape(text.trim_end()));
            let text = |it: &Figure| match it.note.as_str() {
                "" => value(it.value, it.unit),
                note => format!("{} ({note})", value(it.value, it.unit)),
            };
            figures.iter().map(|it| line(&it.label, &text(it))).collect()
        }
        Block::Facts(facts) => {
            facts.facts.iter().map(|fact| format!("- **{}**: {}\n", escape(&fact.label), escape(&fact.value))).collect()
        }
        Block::Bars(bars) => {
            let row = |bar: &crate::Bar| {
                vec![escape(&bar.label), display(&Cell::Float(bar.value), bars.unit), escape(&bar.note)]
            };
            let rows: Vec<_> = bars.bars.iter().take(ROWS).map(row).collect();
            let table = if rows.is_empty() { String::new() } else { grid(&["", "", ""], &[false, true, true], &rows) };
            if bars.note.is_empty() { table } else { format!("{table}\n{}\n", escape(&bars.note)) }
        }
        Block::Table(table) => of_table(table),
        Block::Grid(grid) => of_grid(grid),
        Block::Waterfall(waterfall) => of_waterfall(waterfall),
        Block::HeatMap(map) => {
            // A label cannot end the code block, because the cells follow on the same line.
            format!("```text\n{}```\n\n{}\n", crate::terminal::heat_map_text(map), escape(&map.note))
        }
        Block::Findings { findings } => {
            let is_rule = |finding: &&FindingBlock| !finding.remedy.is_empty();
            let first = findings.iter().filter(is_rule).take(FINDINGS);
            first.chain(findings.iter().filter(|it| !is_rule(it))).map(finding).collect()
        }
        Block::Note { text } if text.lines().count() > 1 => {
            text.lines().map(|sentence| format!("- {}\n", escape(sentence))).collect()
        }
        Block::Note { text } => format!("{}\n", escape(text)),
        Block::Heading { note, .. } => note.as_deref().map_or_else(String::new, |note| format!("{}\n", escape(note))),
        Block::Empty { reason, .. } => format!("{}\n", escape(reason)),
        Block::Fold { title, blocks: inside } => folded(title, &blocks(inside)),
        Block::Stack(stack) if stack.rows.is_empty() => format!("{}\n", escape(&stack.note)),
        _ => String::new(),
    }
}

fn finding(finding: &FindingBlock) -> String {
    let text = format!("{} {}", finding.text, finding.remedy);
    format!("1. **{}** ({}): {}\n", escape(&finding.title), finding.severity.label(), escape(text.trim_end()))
}

/// Renders the columns of a table that the page shows.
fn of_table(table: &TableBlock) -> String {
    let shown = shown_columns(table);
    let cell = |row: &Vec<Cell>, at: usize, unit: Unit| match row.get(at) {
        Some(Cell::Text(text)) => escape(text),
        Some(other) => display(other, unit),
        None => String::new(),
    };
    let rows: Vec<Vec<String>> = table
        .rows
        .iter()
        .take(ROWS)
        .map(|row| shown.iter().map(|(at, column)| cell(row, *at, column.unit)).collect())
        .collect();
    let headings: Vec<&str> = shown.iter().map(|(_, column)| column.title.as_str()).collect();
    let right: Vec<bool> = shown.iter().map(|(_, column)| column.unit != Unit::Text).collect();
    grid(&headings, &right, &rows)
}

/// Renders the first rows of a grid, each note after its value.
fn of_grid(it: &Grid) -> String {
    let cell = |cell: &GridCell| match cell.note.as_str() {
        "" => escape(&cell.text),
        note => format!("{}, {}", escape(&cell.text), escape(note)),
    };
    let rows: Vec<Vec<String>> = it.rows.iter().take(GRID_ROWS).map(|row| row.iter().map(cell).collect()).collect();
    let headings: Vec<String> = it.columns.iter().map(|column| escape(column)).collect();
    let right: Vec<bool> = (0..headings.len()).map(|at| is_of_numbers(it, at)).collect();
    let table = grid(&headings.iter().map(String::as_str).collect::<Vec<_>>(), &right, &rows);
    match it.rows.len().checked_sub(GRID_ROWS) {
        Some(left @ 1..) => format!("{table}\nand {left} more\n"),
        _ => table,
    }
}

/// Renders how one total becomes another: each part at the beginning and at the end, and the totals.
fn of_waterfall(waterfall: &Waterfall) -> String {
    let shown = |value: f64| display(&Cell::Float(value), waterfall.unit);
    let row = |part: &WaterfallPart| {
        vec![escape(&part.label), shown(part.from), shown(part.to), signed(part.delta, waterfall.unit)]
    };
    let mut rows: Vec<Vec<String>> = waterfall.parts.iter().map(row).collect();
    let ((from_name, from), (to_name, to)) = (&waterfall.start, &waterfall.end);
    let sums = [shown(*from), shown(*to), signed(to - from, waterfall.unit)].map(|sum| format!("**{sum}**"));
    rows.push(["**Sum**".to_owned()].into_iter().chain(sums).collect());
    let headings = ["Part", &escape(from_name), &escape(to_name), "Difference"];
    grid(&headings, &[false, true, true, true], &rows)
}

/// Renders a table from cells that are already Markdown.
fn grid(headings: &[&str], right: &[bool], rows: &[Vec<String>]) -> String {
    let mut text = String::new();
    push_row(&mut text, &headings.iter().map(|&heading| heading.to_owned()).collect::<Vec<_>>());
    push_row(&mut text, &right.iter().map(|&right| if right { "---:" } else { "---" }.to_owned()).collect::<Vec<_>>());
    rows.iter().for_each(|row| push_row(&mut text, row));
    text
}
