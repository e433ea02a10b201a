//! Renders sections as Markdown (GitHub's dialect), for issues and notes. Contains only the short
//! sections.

use super::{Section, is_empty, shown_columns, title, value};
use crate::export::markup::{escape, push_row};
use crate::export::value::display;
use crate::pages::{Block, Figure, FindingBlock, GridCell, TableBlock};
use crate::table::{Cell, Unit};

/// Largest number of rows of a table.
const ROWS: usize = 50;
/// Largest number of findings. The profile contains all of them.
const FINDINGS: usize = 3;

/// Renders the short sections, one below the other.
pub(crate) fn render(sections: &[Section]) -> String {
    let mut text = String::new();
    for section in sections.iter().filter(|section| section.is_short && !section.is_empty()) {
        let shown: Vec<&Block> = section.blocks.iter().filter(|block| !is_empty(block)).collect();
        if !section.title.is_empty() && shown.first().is_none_or(|block| title(block).is_none()) {
            text.push_str(&format!("\n### {}\n\n", escape(&section.title)));
        }
        shown.into_iter().for_each(|block| text.push_str(&blocks(std::slice::from_ref(block))));
    }
    text
}

/// Renders blocks, one below the other.
pub(crate) fn blocks(blocks: &[Block]) -> String {
    let mut text = String::new();
    for block in blocks.iter().filter(|block| !is_empty(block)) {
        if let Some(title) = title(block) {
            text.push_str(&format!("\n### {}\n\n", escape(title)));
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
            let row = |bar: &crate::pages::Bar| {
                vec![escape(&bar.label), display(&Cell::Float(bar.value), bars.unit), escape(&bar.note)]
            };
            let rows: Vec<_> = bars.bars.iter().take(ROWS).map(row).collect();
            let table = if rows.is_empty() { String::new() } else { grid(&["", "", ""], &[false, true, true], &rows) };
            if bars.note.is_empty() { table } else { format!("{table}\n{}\n", escape(&bars.note)) }
        }
        Block::Table(table) => of_table(table),
        Block::Grid(it) => {
            let cell = |cell: &GridCell| match cell.note.as_str() {
                "" => escape(&cell.text),
                note => format!("{}, {}", escape(&cell.text), escape(note)),
            };
            let rows: Vec<Vec<String>> = it.rows.iter().map(|row| row.iter().map(cell).collect()).collect();
            let headings: Vec<String> = it.columns.iter().map(|column| escape(column)).collect();
            let right: Vec<bool> = (0..headings.len()).map(|at| at > 0).collect();
            grid(&headings.iter().map(String::as_str).collect::<Vec<_>>(), &right, &rows)
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
        Block::Fold { title, blocks: inside } => {
            let body = blocks(inside);
            format!("\n<details>\n<summary>{}</summary>\n\n{body}\n</details>\n", escape(title))
        }
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

/// Renders a table from cells that are already Markdown.
fn grid(headings: &[&str], right: &[bool], rows: &[Vec<String>]) -> String {
    let mut text = String::new();
    push_row(&mut text, &headings.iter().map(|&heading| heading.to_owned()).collect::<Vec<_>>());
    push_row(&mut text, &right.iter().map(|&right| if right { "---:" } else { "---" }.to_owned()).collect::<Vec<_>>());
    rows.iter().for_each(|row| push_row(&mut text, row));
    text
}
