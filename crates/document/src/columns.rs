//! Formats tables for a terminal, with aligned columns.

use base::format::shorten;

/// Maximum number of characters in a cell. A terminal can still show a column of this width.
const CELL: usize = 300;

/// Maximum number of characters in a sentence. Only imported documents contain longer sentences.
pub const SENTENCE: usize = 1_000;

/// Formats rows with two spaces before each column. `right` marks the right-aligned columns. Long
/// cells are shortened in the middle.
pub fn aligned(rows: &[Vec<String>], right: &[bool]) -> String {
    let rows: Vec<Vec<String>> = rows.iter().map(|row| row.iter().map(|cell| shorten(cell, CELL)).collect()).collect();
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |column: usize| {
        rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count()).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..columns).map(width).collect();
    let mut text = String::new();
    for row in &rows {
        let mut line = String::new();
        for ((column, cell), width) in row.iter().enumerate().zip(&widths) {
            let is_right = right.get(column).copied().unwrap_or(false);
            line.push_str(&if is_right { format!("  {cell:>width$}") } else { format!("  {cell:<width$}") });
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_aligned() {
        let rows = [["a", "1", "é"], ["bcd", "23", ""]].map(|row| row.map(str::to_owned).to_vec());
        assert_eq!(aligned(&rows, &[false, true]), "  a     1  é\n  bcd  23\n");
    }

    /// Rust cannot format widths above 65 535.
    #[test]
    fn a_long_cell_is_cut() {
        let text = aligned(&[vec!["x".repeat(70_000), "1".to_owned()]], &[]);
        assert!(text.chars().count() < 400 && text.contains('…') && text.ends_with("x  1\n"), "{text}");
    }
}
