//! Reads the fact tables: comma-separated text with a header line and without quoting. `#` starts a comment line.
//!
//! The tables are compiled into crossprof, so a malformed row is a bug. This module skips malformed rows, and the test
//! of each loader finds them.

/// Returns the rows of `text` after its header, as cells without surrounding spaces.
pub(super) fn rows(text: &'static str) -> impl Iterator<Item = Vec<&'static str>> {
    text.lines()
        .filter(|line| !line.starts_with('#') && !line.trim().is_empty())
        .skip(1)
        .map(|line| line.split(',').map(str::trim).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn header_comments_and_blank_lines_are_not_rows() {
        let rows: Vec<_> = rows("# a table\nname, value\n\na, 1\n# more\nb,2\n").collect();
        assert_eq!(rows, [["a", "1"], ["b", "2"]]);
    }
}
