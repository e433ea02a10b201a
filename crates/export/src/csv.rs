//! Writes tables as CSV (RFC 4180). The header contains the keys of the columns, lines end with CRLF, and text is
//! quoted if necessary.
//!
//! Numbers are exact: each is written as the shortest decimal that is read back as the same value, and never with an
//! exponent. Values that were not measured are empty fields. Spreadsheets evaluate text that starts with `=`, `+`, `-`
//! or `@` as a formula, and names may come from untrusted files. Such text therefore gets a leading apostrophe, which
//! spreadsheets hide. Control characters (except line breaks) and characters that change the direction of text are
//! escaped.

use base::format::printable;
use base::home::shared;
use table::{Cell, Table};

/// Returns a whole table as CSV.
pub fn to_csv(table: &Table) -> String {
    let mut csv = String::new();
    let header = table.columns.iter().map(|column| column.key.to_owned());
    push_record(&mut csv, header);
    for row in &table.rows {
        push_record(&mut csv, row.iter().map(field));
    }
    shared(csv)
}

fn push_record(csv: &mut String, fields: impl Iterator<Item = String>) {
    for (index, field) in fields.enumerate() {
        if index > 0 {
            csv.push(',');
        }
        if field.contains(['"', ',', '\n', '\r']) {
            csv.push('"');
            csv.push_str(&field.replace('"', "\"\""));
            csv.push('"');
        } else {
            csv.push_str(&field);
        }
    }
    csv.push_str("\r\n");
}

fn field(cell: &Cell) -> String {
    match cell {
        Cell::Absent => String::new(),
        Cell::Text(text) => {
            let text = text.split('\n').map(printable).collect::<Vec<_>>().join("\n");
            // Leading spaces do not prevent a formula.
            if text.trim_start().starts_with(['=', '+', '-', '@']) { format!("'{text}") } else { text }
        }
        Cell::Int(value) => value.to_string(),
        Cell::Float(value) if !value.is_finite() => String::new(),
        Cell::Float(value) => value.to_string(),
        Cell::Flag(value) => value.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use table::{Unit, column};

    #[test]
    fn fields_are_quoted_and_formulas_disarmed() {
        let column = |key| column(key, key, Unit::Text, "");
        let text = |text: &str| Cell::Text(text.to_owned());
        let table = Table::new(
            "t",
            vec![column("a"), column("b_us")],
            vec![
                vec![text("say \"hi\", you"), Cell::Float(1e-7)],
                vec![text("=cmd()"), Cell::Float(-1.5)],
                vec![text("two\nlines"), Cell::Absent],
                vec![text("\t@x\u{202e}y\u{0}"), Cell::Float(f64::INFINITY)],
            ],
        );
        let csv = to_csv(&table);
        assert_eq!(
            csv,
            "a,b_us\r\n\"say \"\"hi\"\", you\",0.0000001\r\n'=cmd(),-1.5\r\n\"two\nlines\",\r\n' @x\\u{202e}y\\u{0},\r\n"
        );
    }
}
