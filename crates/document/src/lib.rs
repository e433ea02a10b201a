//! Reports as sections made of page blocks, and their renderers.
//!
//! ```text
//! sections of a run          ──┬─ terminal   one screen: front, first rows of details
//!   (pages::sections)          ├─ markdown   front; the rest folded, or omitted
//! sections of a comparison   ──┤─ html       all sections, with charts
//!   (pages::compare::sections) └─ web page   all sections; only the front is unfolded
//! ```
//!
//! A renderer determines only the layout. The content of a section, with its numbers and its wording, comes from the
//! functions in `pages` that the web page also uses, so reports and the web page cannot disagree.

#![warn(clippy::indexing_slicing, clippy::panic, clippy::unwrap_used)]

mod block;
mod colour;
pub mod columns;
pub mod heat_map;
pub mod html;
mod judgement;
mod link;
pub mod markdown;
pub mod markup;
mod table_block;
pub mod terminal;

pub use block::{
    About, Bar, Bars, Block, CellStatus, Choice, Fact, Facts, Figure, FindingBlock, Grid, GridCell, Icicle, Line,
    LineKind, Matrix, Node, Page, Point, Scatter, Series, Stack, StackRow, Waterfall, WaterfallPart,
};
pub use colour::ColourClass;
pub use heat_map::{CellTimes, HeatMap};
pub use judgement::Judgement;
pub use link::Link;
pub use table_block::{ColumnBlock, RowName, TableBlock};

use base::format;
use table::{Cell, Unit, display};

/// Part of a report under one heading.
#[derive(Clone, Debug, Default)]
pub struct Section {
    /// Anchor in an HTML report.
    pub id: &'static str,
    /// Heading. A renderer omits this title if the first block has its own.
    pub title: String,
    /// Content, from top to bottom.
    pub blocks: Vec<Block>,
    /// Importance of the section.
    pub place: Place,
}

/// Importance of a section. The importance decides where a report shows the section.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Place {
    /// Shown unfolded in every report.
    #[default]
    Front,
    /// Unfolded in formats that can draw. In Markdown, the section is folded and shows only the numbers.
    Drawn,
    /// Folded in formats that can fold. A terminal shows the first rows.
    Detail,
    /// Folded in formats that can fold. A terminal shows only the title.
    Appendix,
}

impl Section {
    /// Returns true if no block has anything to show.
    pub fn is_empty(&self) -> bool {
        self.blocks.iter().all(is_empty)
    }
}

/// Returns true if a report shows nothing for a block. Choices and links work only on a page. Trees and matrices require a
/// pointer.
pub fn is_empty(block: &Block) -> bool {
    match block {
        Block::Figures { figures } => figures.is_empty(),
        Block::Stack(stack) => stack.rows.is_empty() && stack.note.is_empty(),
        Block::Bars(bars) => bars.bars.is_empty() && bars.note.is_empty(),
        Block::Table(table) => table.rows.is_empty(),
        Block::Grid(grid) => grid.rows.is_empty(),
        Block::Facts(facts) => facts.facts.is_empty(),
        Block::Fold { blocks, .. } => blocks.iter().all(is_empty),
        Block::Findings { findings } => findings.is_empty(),
        Block::Scatter(scatter) => scatter.points.is_empty(),
        Block::HeatMap(map) => map.cells.is_empty(),
        Block::Waterfall(waterfall) => waterfall.parts.is_empty(),
        Block::Choice(_) | Block::Links { .. } | Block::Icicle(_) | Block::Matrix(_) => true,
        Block::Heading { .. } | Block::Note { .. } | Block::Empty { .. } => false,
    }
}

/// Returns the title that a block shows above itself.
pub fn title(block: &Block) -> Option<&str> {
    let title = match block {
        Block::Heading { text, .. } => text,
        Block::Stack(stack) => &stack.title,
        Block::Bars(bars) => &bars.title,
        Block::Table(table) => &table.title,
        Block::Grid(grid) => &grid.title,
        Block::Facts(facts) => &facts.title,
        Block::Scatter(scatter) => &scatter.title,
        Block::HeatMap(map) => &map.title,
        Block::Waterfall(waterfall) => &waterfall.title,
        _ => return None,
    };
    (!title.is_empty()).then_some(title)
}

/// Returns the columns of a table that a report shows, with their positions. Skips columns that the page hides and
/// columns without a value.
pub fn shown_columns(table: &TableBlock) -> Vec<(usize, &ColumnBlock)> {
    let has_values = |at: usize| table.rows.iter().any(|row| row.get(at).is_some_and(|cell| *cell != Cell::Absent));
    let columns = table.columns.iter().enumerate();
    columns.filter(|(at, column)| !column.is_folded && has_values(*at)).collect()
}

/// Returns true if a column of a grid contains numbers, and so is right-aligned. A column contains numbers if every
/// cell begins with a digit, possibly after a sign or a symbol.
pub fn is_of_numbers(grid: &Grid, column: usize) -> bool {
    let begins_with_number = |cell: &GridCell| {
        cell.text == format::DASH
            || cell.text.is_empty()
            || cell.text.chars().take(4).any(|letter| letter.is_ascii_digit())
    };
    column > 0 && grid.rows.iter().filter_map(|row| row.get(column)).all(begins_with_number)
}

/// Formats a difference with its sign.
pub fn signed(difference: f64, unit: Unit) -> String {
    let sign = match difference {
        more if more > 0.0 => "+",
        less if less < 0.0 => "−",
        _ => "",
    };
    format!("{sign}{}", display(&Cell::Float(difference.abs()), unit))
}

/// Formats the value of a figure with its unit. Returns a dash if the value was not measured.
pub fn value(value: Option<f64>, unit: Unit) -> String {
    value.map_or_else(|| format::DASH.to_owned(), |value| display(&Cell::Float(value), unit))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Block, CellStatus, Grid, GridCell};

    /// Every output contains each word of a section, and escapes special characters.
    #[test]
    fn a_section_has_the_same_content_in_every_output() {
        let cell = GridCell {
            note: "▼ 2.00x slower".to_owned(),
            status: Some(CellStatus::Worse),
            ..GridCell::text("2.00 ms")
        };
        let grid = Grid {
            title: "Times".to_owned(),
            columns: vec![String::new(), "a|b".to_owned()],
            rows: vec![vec![GridCell::text("<b>op</b>"), cell]],
        };
        let blocks = [
            Block::Note { text: "One.\nTwo.".to_owned() },
            Block::Heading { text: "More".to_owned(), note: Some("Why.".to_owned()) },
            Block::Grid(grid),
        ];
        let text = terminal::blocks(&blocks);
        let (markdown, html) = (markdown::blocks(&blocks), html::blocks(&blocks).0);
        for form in [&text, &markdown, &html] {
            for word in ["One.", "Two.", "More", "Why.", "Times", "2.00 ms", "▼ 2.00x slower"] {
                assert!(form.contains(word), "{word}: {form}");
            }
        }
        assert!(!markdown.contains("<b>") && !html.contains("<b>"), "{markdown}\n{html}");
        assert!(markdown.contains(r"a\|b"), "{markdown}");
    }
}
