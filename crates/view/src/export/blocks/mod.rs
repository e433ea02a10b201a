//! Blocks of a page as text, Markdown and HTML, so that a section is written once: headings, notes, grids and folds. A block that is
//! interactive or drawn has no form here, and is left out.

mod html;
mod markdown;
mod text;

pub use html::html;
pub use markdown::markdown;
pub use text::text;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pages::{Block, CellStatus, Grid, GridCell};

    /// Every form has each word of a section, and escapes what it has to.
    #[test]
    fn a_section_is_the_same_in_every_form() {
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
            Block::Fold { title: "Details".to_owned(), blocks: vec![Block::Grid(grid)] },
        ];
        let (text, markdown, html) = (text(&blocks), markdown(&blocks), html(&blocks).0);
        for form in [&text, &markdown, &html] {
            for word in ["One.", "Two.", "More", "Why.", "Details", "Times", "2.00 ms", "▼ 2.00x slower"] {
                assert!(form.contains(word), "{word}: {form}");
            }
        }
        assert!(!markdown.contains("<b>") && !html.contains("<b>"), "{markdown}\n{html}");
        assert!(markdown.contains(r"a\|b"), "{markdown}");
    }
}
