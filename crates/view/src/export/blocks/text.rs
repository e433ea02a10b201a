//! Blocks for a terminal.

use crate::export::columns::aligned;
use crate::export::findings::wrapped;
use crate::pages::{Block, Grid};
use base::format::{printable, shorten};

/// Columns of the terminal that this is made for.
const WIDTH: usize = 100;
/// Sentences of a note that are shown.
const SENTENCES: usize = 8;
/// The longest cell; the first column, which names things, has more room.
const CELL: usize = 44;

/// The blocks, one below the other.
pub fn text(blocks: &[Block]) -> String {
    let mut text = String::new();
    blocks.iter().for_each(|block| push(&mut text, block));
    text
}

fn push(text: &mut String, block: &Block) {
    match block {
        Block::Heading { text: heading, note } => {
            text.push_str(&format!("\n{}\n", printable(heading)));
            note.iter().for_each(|note| push_item(text, note));
        }
        Block::Note { text: note } => {
            note.lines().take(SENTENCES).for_each(|sentence| push_item(text, sentence));
            let left = note.lines().count().saturating_sub(SENTENCES);
            if left > 0 {
                text.push_str(&format!("  and {left} more: --format json, --output report.html\n"));
            }
        }
        Block::Grid(grid) => push_grid(text, grid),
        Block::Fold { title, blocks } => {
            text.push_str(&format!("\n{}\n", printable(title)));
            blocks.iter().for_each(|block| push(text, block));
        }
        _ => {}
    }
}

/// A sentence whose later lines stand under its first.
fn push_item(text: &mut String, sentence: &str) {
    for (index, line) in wrapped(&printable(sentence), WIDTH.saturating_sub(2)).iter().enumerate() {
        text.push_str(&format!("{} {line}\n", if index == 0 { "*" } else { " " }));
    }
}

fn push_grid(text: &mut String, grid: &Grid) {
    let clean = |cell: &str| printable(&shorten(cell, CELL));
    let mut rows = vec![grid.columns.iter().map(|column| clean(column)).collect::<Vec<_>>()];
    rows.extend(grid.rows.iter().map(|row| {
        let cells = row.iter().map(|cell| match cell.note.as_str() {
            "" => clean(&cell.text),
            note => format!("{} {}", clean(&cell.text), clean(note)),
        });
        cells.collect()
    }));
    let right: Vec<bool> = (0..grid.columns.len()).map(|column| column > 0).collect();
    text.push_str(&format!("\n{}\n{}", printable(&grid.title), aligned(&rows, &right)));
}
