//! Tables of a terminal: rows whose columns stand under each other.

use base::format::shorten;

/// Characters of a cell at most: a padded column of them is still a line that a terminal shows.
const CELL: usize = 300;

/// Characters of a sentence at most: ours are shorter, those of an imported document need not be.
pub(crate) const SENTENCE: usize = 1_000;

/// Rows with two blanks before each column; `right` says which are aligned to the right. Long cells are cut in the middle.
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
    fn columns_stand_under_each_other() {
        let rows = [["a", "1", "é"], ["bcd", "23", ""]].map(|row| row.map(str::to_owned).to_vec());
        assert_eq!(aligned(&rows, &[false, true]), "  a     1  é\n  bcd  23\n");
    }

    /// A width above 65 535 cannot be formatted.
    #[test]
    fn a_long_cell_is_cut() {
        let text = aligned(&[vec!["x".repeat(70_000), "1".to_owned()]], &[]);
        assert!(text.chars().count() < 400 && text.contains('…') && text.ends_with("x  1\n"), "{text}");
    }
}
