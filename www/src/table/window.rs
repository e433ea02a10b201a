//! Virtual rows: only the visible rows, and some rows around them, are in the document.

/// The rows to draw, and the heights of the empty spaces that replace the other rows above and below them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Window {
    /// Index of the first drawn row.
    pub first: usize,
    /// Index after the last drawn row.
    pub end: usize,
    /// Height of the space above the drawn rows, in pixels.
    pub above_px: f64,
    /// Height of the space below the drawn rows, in pixels.
    pub below_px: f64,
}

/// Number of rows that are drawn beyond each edge, so that no empty space appears while the user scrolls.
const MARGIN: usize = 12;

/// Returns the rows to draw from a table of `rows` rows. Each row is `row_px` high, the table is scrolled by
/// `scroll_px`, and the view is `height_px` high.
pub fn window(rows: usize, row_px: f64, scroll_px: f64, height_px: f64) -> Window {
    let row_px = row_px.max(1.0);
    let top = (scroll_px.max(0.0) / row_px) as usize;
    let seen = (height_px.max(0.0) / row_px).ceil() as usize + 1;
    let first = top.saturating_sub(MARGIN).min(rows);
    let end = top.saturating_add(seen).saturating_add(MARGIN).clamp(first, rows);
    Window { first, end, above_px: first as f64 * row_px, below_px: (rows - end) as f64 * row_px }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_heights_add_up() {
        for rows in [0, 1, 30, 100_000] {
            for scroll in [-5.0, 0.0, 333.0, 1e9] {
                let window = window(rows, 26.0, scroll, 400.0);
                let drawn = (window.end - window.first) as f64 * 26.0;
                assert_eq!(window.above_px + drawn + window.below_px, rows as f64 * 26.0);
                assert!(window.end - window.first <= 2 * MARGIN + 17);
            }
        }
    }

    #[test]
    fn visible_rows_are_drawn() {
        let window = window(1000, 20.0, 2000.0, 200.0);
        assert!(window.first <= 100 && window.end >= 110);
    }
}
