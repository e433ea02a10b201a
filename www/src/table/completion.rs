//! Completions for the last word of a filter. The user first completes a column's heading, and then a value of that
//! column.

use crossprof::document::TableBlock;
use crossprof::table::{Cell, Unit, is_called};

use super::terms::terms;

/// Maximum number of columns or values to offer.
const MOST: usize = 20;

/// A completion of the filter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Completion {
    /// The whole filter after the completion is accepted.
    pub filter: String,
    /// Text of the completion in the list. The text is a column heading as on the screen, or a value.
    pub label: String,
    /// Key of the column. Empty for a value.
    pub note: String,
    /// True if the completed condition is finished, so that no further completion is offered.
    pub is_whole: bool,
}

/// Returns completions of the typed filter. If the typed filter ends with a space, offers every column.
pub fn completions(table: &TableBlock, typed: &str) -> Vec<Completion> {
    // A space starts a new word.
    let last = terms(typed).pop().filter(|last| typed.ends_with(last.as_str())).unwrap_or_default();
    let (before, word) = typed.split_at(typed.len() - last.len());
    let (sign, word) = word.strip_prefix('-').map_or(("", word), |word| ("-", word));
    let Some(at) = word.find([':', '=', '<', '>']) else {
        let word = word.trim_start_matches('"').to_ascii_lowercase();
        // Any word of a heading may match. Headings whose first word matches come first.
        let place = |title: &str, key: &str| {
            let title = title.to_ascii_lowercase();
            let starts = title.match_indices(' ').map(|(at, _)| at + 1);
            match title.starts_with(&word) {
                true => Some(0),
                false if starts.into_iter().any(|at| title.get(at..).is_some_and(|rest| rest.starts_with(&word))) => {
                    Some(1)
                }
                false => key.starts_with(&word).then_some(2),
            }
        };
        let mut columns: Vec<_> = table
            .columns
            .iter()
            .filter_map(|column| Some(((place(&column.title, &column.key)?, column.is_folded), column)))
            .collect();
        columns.sort_by_key(|(place, _)| *place);
        let of = |column: &crossprof::document::ColumnBlock| {
            let is_text = column.unit == Unit::Text;
            // A heading may end with a mark, which is not part of its name.
            let title = column.title.trim_end_matches(" ≤");
            Completion {
                filter: format!(
                    "{before}{sign}{}{}",
                    quoted(&title.to_ascii_lowercase()),
                    if is_text { '=' } else { '>' }
                ),
                label: title.to_owned(),
                note: column.key.clone(),
                is_whole: !is_text,
            }
        };
        return columns.into_iter().take(MOST).map(|(_, column)| of(column)).collect();
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
        if found.len() >= MOST {
            break;
        }
    }
    let value = |text: &str| Completion {
        filter: format!("{before}{sign}{}{operator}{}", quoted(&name), quoted(text)),
        label: text.to_owned(),
        note: String::new(),
        is_whole: true,
    };
    found.into_iter().map(value).collect()
}

fn quoted(text: &str) -> String {
    if text.contains(char::is_whitespace) { format!("\"{text}\"") } else { text.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crossprof::document::ColumnBlock;
    use crossprof::table::TableName;
    use crossprof::table::column;

    #[test]
    fn headings_are_completed_and_then_values() {
        let columns = [
            ("category", "Category", Unit::Text),
            ("mean_us", "Mean time", Unit::TimeUs),
            ("total_us", "Total time ≤", Unit::TimeUs),
        ];
        let row = |text: &str| vec![Cell::Text(text.to_owned()), Cell::Float(1.0)];
        let table = TableBlock {
            columns: columns.map(|(key, title, unit)| ColumnBlock::from(&column(key, title, unit, ""))).to_vec(),
            rows: vec![row("loop fusion"), row("copy"), row("loop fusion")],
            ..TableBlock::empty(TableName::Ops)
        };
        let of = |typed: &str| completions(&table, typed).into_iter().map(|it| it.filter).collect::<Vec<_>>();
        assert_eq!(of("me"), ["\"mean time\">"]);
        assert_eq!(of("tim"), ["\"mean time\">", "\"total time\">"], "words inside headings");
        assert_eq!(of("mean_"), ["\"mean time\">"], "keys");
        assert_eq!(of("a b -CAT"), ["a b -category="]);
        assert_eq!(of("category="), ["category=\"loop fusion\"", "category=copy"]);
        assert_eq!(of("-category=\"loop f"), ["-category=\"loop fusion\""]);
        assert_eq!((of("").len(), of("x ").len()), (3, 3), "every column");
        assert!(of("mean>").is_empty() && of("zz=").is_empty() && of("zz").is_empty());
        let shown = completions(&table, "me").remove(0);
        assert_eq!((shown.label.as_str(), shown.note.as_str(), shown.is_whole), ("Mean time", "mean_us", true));
    }
}
