//! `--select`: chooses the columns of a table that are printed, and their order.

use base::suggest;
use crossprof::table::is_called;
use crossprof::{Column, Table, TableName};

/// Word that selects the columns that the page shows first.
pub(crate) const LEADING: &str = "leading";
/// Word that selects all columns.
pub(crate) const ALL: &str = "all";

/// Returns a table with only the columns that `words` selects, in this order. `words` are keys or headings, separated
/// by commas. `leading` stands for the columns that the page shows first, and `all` for every column.
///
/// # Errors
///
/// Returns a sentence if the table lacks one of the columns.
pub(crate) fn selected(name: TableName, table: Table, words: &str) -> Result<Table, String> {
    let mut places: Vec<usize> = Vec::new();
    for word in words.split(',').map(str::trim).filter(|word| !word.is_empty()) {
        places.extend(places_of(name, &table.columns, word)?);
    }
    let mut kept: Vec<usize> = Vec::new();
    places.into_iter().for_each(|place| {
        if !kept.contains(&place) {
            kept.push(place)
        }
    });
    if kept.is_empty() {
        return Ok(table);
    }
    let rows = table.rows.iter().map(|row| kept.iter().filter_map(|&place| row.get(place).cloned()).collect());
    let (columns, rows) =
        (kept.iter().filter_map(|&place| table.columns.get(place).copied()).collect(), rows.collect());
    Ok(Table { columns, rows, ..table })
}

fn places_of(name: TableName, columns: &[Column], word: &str) -> Result<Vec<usize>, String> {
    let leading = name.shown().leading;
    if word == ALL || (word == LEADING && leading.is_empty()) {
        return Ok((0..columns.len()).collect());
    }
    // Keys are searched first, because a key may also be the heading of another column.
    let place = |key: &str| {
        let keyed = columns.iter().position(|column| column.key == key);
        keyed.or_else(|| columns.iter().position(|column| is_called(column.key, column.title, key)))
    };
    if word == LEADING {
        // A form of a table may lack some columns.
        return Ok(leading.iter().filter_map(|key| place(key)).collect());
    }
    place(word).map(|place| vec![place]).ok_or_else(|| {
        let keys: Vec<&str> = columns.iter().map(|column| column.key).collect();
        let question = suggest::question(&suggest::words(word, &keys));
        format!("--select: the table {} has no column {word}; it has {}.{question}", name.key(), keys.join(", "))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crossprof::{Cell, Unit};

    fn select(words: &str) -> Result<Vec<&'static str>, String> {
        let column = |key, title| crossprof::table::column(key, title, Unit::Count, "");
        let columns = vec![
            column("wait_rate", "Count"),
            column("count", "Counts"),
            column("direction", "Direction"),
            column("wait_us", "Waited for"),
        ];
        let row = [0, 1, 2, 3].map(Cell::Int).to_vec();
        let table = selected(TableName::Transfers, Table::new("transfers", columns, vec![row]), words)?;
        assert_eq!(table.rows[0].len(), table.columns.len());
        Ok(table.columns.iter().map(|column| column.key).collect())
    }

    #[test]
    fn columns_are_selected_by_key_or_heading_and_in_order() {
        assert_eq!(select("wait_us,count"), Ok(vec!["wait_us", "count"]));
        assert_eq!(select("Waited for, direction, direction"), Ok(vec!["wait_us", "direction"]));
        assert_eq!(select("leading"), Ok(vec!["direction", "count"]));
        assert_eq!(select("leading,wait_us"), Ok(vec!["direction", "count", "wait_us"]));
        assert_eq!(select("all").map(|columns| columns.len()), Ok(4));
        let error = select("cout").unwrap_err();
        assert!(
            error.contains("has no column cout; it has wait_rate, count, direction, wait_us.")
                && error.contains("count"),
            "{error}"
        );
    }
}
