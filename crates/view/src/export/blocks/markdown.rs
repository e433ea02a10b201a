//! Blocks as Markdown (GitHub's dialect).

use crate::export::markdown::escape;
use crate::pages::{Block, Grid};

/// The blocks, one below the other.
pub fn markdown(blocks: &[Block]) -> String {
    let mut text = String::new();
    blocks.iter().for_each(|block| push(&mut text, block));
    text
}

fn push(text: &mut String, block: &Block) {
    match block {
        Block::Heading { text: heading, note } => {
            text.push_str(&format!("\n### {}\n\n", escape(heading)));
            note.iter().for_each(|note| text.push_str(&format!("{}\n\n", escape(note))));
        }
        Block::Note { text: note } => {
            note.lines().for_each(|sentence| text.push_str(&format!("- {}\n", escape(sentence))));
        }
        Block::Grid(grid) => push_grid(text, grid),
        Block::Fold { title, blocks } => {
            let body = markdown(blocks);
            text.push_str(&format!("\n<details>\n<summary>{}</summary>\n\n{body}\n</details>\n", escape(title)));
        }
        _ => {}
    }
}

fn push_grid(text: &mut String, grid: &Grid) {
    let row = |cells: Vec<String>| format!("| {} |\n", cells.join(" | "));
    text.push_str(&format!("\n**{}**\n\n", escape(&grid.title)));
    text.push_str(&row(grid.columns.iter().map(|column| escape(column)).collect()));
    text.push_str(&row((0..grid.columns.len()).map(|at| if at == 0 { "---" } else { "---:" }.to_owned()).collect()));
    for cells in &grid.rows {
        let cell = |(text, note): (&str, &str)| match note {
            "" => escape(text),
            note => format!("{}, {}", escape(text), escape(note)),
        };
        text.push_str(&row(cells.iter().map(|it| cell((&it.text, &it.note))).collect()));
    }
}
