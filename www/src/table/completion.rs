//! What the last word of a filter may become: a condition on a column by its heading, then a value of the column.

use crossprof::pages::TableBlock;
use crossprof::table::{Cell, Unit, is_called};

use super::terms::terms;

/// Values of a column that are offered.
const MOST_VALUES: usize = 20;

/// Whole filters that begin with what was typed.
pub fn completions(table: &TableBlock, typed: &str) -> Vec<String> {
    // Behind a space a new word begins.
    let last = terms(typed).pop().filter(|last| typed.ends_with(last.as_str())).unwrap_or_default();
    let (before, word) = typed.split_at(typed.len() - last.len());
    let (sign, word) = word.strip_prefix('-').map_or(("", word), |word| ("-", word));
    let Some(at) = word.find([':', '=', '<', '>']) else {
        let begins =
            |title: &str| title.to_ascii_lowercase().starts_with(&word.trim_start_matches('"').to_ascii_lowercase());
        let columns = table.columns.iter().filter(|column| !word.is_empty() && begins(&column.title));
        return columns
            .map(|column| {
                let operator = if column.unit == Unit::Text { '=' } else { '>' };
                format!("{before}{sign}{}{operator}", quoted(&column.title.to_ascii_lowercase()))
            })
            .collect();
    };
    let (name, value) = (word[..at].replace('"', ""), &word[at..]);
    let (operator, value) = value.split_at(1);
    let is_it = |title: &str, key: &str| is_called(key, title, &name.to_ascii_lowercase());
    let Some(at) =
        table.columns.iter().position(|column| column.unit == Unit::Text && is_it(&column.title, &column.key))
    else {
        return Vec::new();
    };
    let begun = value.trim_start_matches('"').to_ascii_lowercase();
    let mut found: Vec<&str> = Vec::new();
    for row in &table.rows {
        if let Some(Cell::Text(text)) = row.get(at)
            && text.to_ascii_lowercase().starts_with(&begun)
            && !text.contains('"')
            && !found.contains(&text.as_str())
        {
            found.push(text);
        }
        if found.len() >= MOST_VALUES {
            break;
        }
    }
    found.iter().map(|text| format!("{before}{sign}{}{operator}{}", quoted(&name), quoted(text))).collect()
}

fn quoted(text: &str) -> String {
    if text.contains(char::is_whitespace) { format!("\"{text}\"") } else { text.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crossprof::pages::ColumnBlock;
    use crossprof::table::column;
    use crossprof::tables::TableName;

    #[test]
    fn headings_are_completed_and_then_values() {
        let columns = [("category", "Category", Unit::Text), ("mean_us", "Mean time", Unit::TimeUs)];
        let row = |text: &str| vec![Cell::Text(text.to_owned()), Cell::Float(1.0)];
        let table = TableBlock {
            columns: columns.map(|(key, title, unit)| ColumnBlock::from(&column(key, title, unit, ""))).to_vec(),
            rows: vec![row("loop fusion"), row("copy"), row("loop fusion")],
            ..TableBlock::empty(TableName::Ops)
        };
        let of = |typed: &str| completions(&table, typed);
        assert_eq!(of("me"), ["\"mean time\">"]);
        assert_eq!(of("a b -CAT"), ["a b -category="]);
        assert_eq!(of("category="), ["category=\"loop fusion\"", "category=copy"]);
        assert_eq!(of("-category=\"loop f"), ["-category=\"loop fusion\""]);
        assert!(of("").is_empty() && of("x ").is_empty() && of("mean>").is_empty() && of("zz=").is_empty());
    }
}
