//! Formats table values. Numbers have three digits in cells, four in tooltips, and all digits in copied text.

use crossprof::table::{Cell, Column, Unit};
use crossprof::text::format;

/// Maximum length of any text on the page, in characters. A name in a trace may be a megabyte long.
pub const WHOLE_CHARS: usize = 4000;

/// Formats a cell. Text with more than `name_chars` characters is cut in the middle.
pub fn short(cell: &Cell, unit: Unit, name_chars: usize) -> String {
    match cell {
        Cell::Absent => format::DASH.to_owned(),
        Cell::Text(text) => format::shorten(&format::printable(bounded(text)), name_chars),
        Cell::Flag(yes) => if *yes { "yes" } else { "" }.to_owned(),
        // A number without a fraction arrives as an integer, for all units.
        Cell::Int(value) if matches!(unit, Unit::Count | Unit::Text) => format::count(*value),
        Cell::Int(value) => crossprof::table::unit::short(*value as f64, unit),
        Cell::Float(value) => crossprof::table::unit::short(*value, unit),
    }
}

/// Returns a cell's full text, or its number with four digits. Returns `None` if the cell already shows the same text.
pub fn whole(cell: &Cell, unit: Unit, name_chars: usize) -> Option<String> {
    let text = match cell {
        Cell::Absent => "not measured".to_owned(),
        Cell::Text(text) => format::shorten(&format::printable(text), WHOLE_CHARS),
        Cell::Flag(_) => return None,
        Cell::Int(value) => crossprof::table::unit::precise(*value as f64, unit),
        Cell::Float(value) => crossprof::table::unit::precise(*value, unit),
    };
    (text != short(cell, unit, name_chars)).then_some(text)
}

/// Returns the number in a cell.
pub fn number(cell: &Cell) -> Option<f64> {
    match cell {
        Cell::Int(value) => Some(*value as f64),
        Cell::Float(value) => Some(*value),
        _ => None,
    }
}

/// Formats a value for spreadsheets: without digit groups or units, and empty if the value was not measured.
pub fn raw(cell: &Cell) -> String {
    match cell {
        Cell::Absent => String::new(),
        Cell::Text(text) => text.clone(),
        Cell::Int(value) => value.to_string(),
        Cell::Float(value) => value.to_string(),
        Cell::Flag(yes) => yes.to_string(),
    }
}

/// Formats a table as tab-separated values with a header, for the clipboard. Tabs and line breaks inside text become
/// spaces.
pub fn tsv(columns: &[Column], rows: &[Vec<Cell>]) -> String {
    let mut out: String = columns.iter().map(|column| column.key).collect::<Vec<_>>().join("\t");
    out.push('\n');
    for row in rows {
        let cells: Vec<String> = row.iter().map(|cell| raw(cell).replace(['\t', '\n', '\r'], " ")).collect();
        out.push_str(&cells.join("\t"));
        out.push('\n');
    }
    out
}

/// Returns true if values of this unit are right-aligned.
pub fn is_number(unit: Unit) -> bool {
    !matches!(unit, Unit::Text | Unit::Flag)
}

/// Cuts text that is too long for the page.
fn bounded(text: &str) -> &str {
    // Counting the characters of a megabyte of text would take too long.
    let mut end = text.len().min(4 * WHOLE_CHARS);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text.get(..end).unwrap_or("")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_three_digits_in_cells_and_four_on_hover() {
        let cell = Cell::Float(33_123.456);
        assert_eq!(short(&cell, Unit::TimeUs, 64), "33.1 ms");
        assert_eq!(whole(&cell, Unit::TimeUs, 64).unwrap(), "33.12 ms");
        assert_eq!(raw(&cell), "33123.456");
        assert_eq!(short(&Cell::Absent, Unit::Count, 64), "–");
        assert_eq!(raw(&Cell::Absent), "");
    }

    #[test]
    fn a_huge_name_stays_small_in_the_page() {
        let cell = Cell::Text("é".repeat(1 << 20));
        assert_eq!(short(&cell, Unit::Text, 64).chars().count(), 64);
        assert_eq!(whole(&cell, Unit::Text, 64).unwrap().chars().count(), WHOLE_CHARS);
    }

    #[test]
    fn tabs_and_line_breaks_do_not_split_cells() {
        let column = crossprof::table::column("name", "Kernel", Unit::Text, "Name.");
        assert_eq!(tsv(&[column], &[vec![Cell::Text("a\tb\nc".into())]]), "name\na b c\n");
    }
}
