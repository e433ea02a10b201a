//! The rows that are asked for: filtered, in an order, the first so many.
//!
//! A page shows some hundred rows of what may be a million, so the rest is never put in order: the wanted ones are
//! selected (linear in the number of rows), and only those are sorted and copied.

use std::cmp::Ordering;

use super::{CellRef, Filter, Rows, Table};
use crate::sort;

/// What is asked of a table.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Query {
    /// See [`Filter`].
    #[serde(default)]
    pub filter: String,
    /// The order; the table's own where absent or where no column has that key.
    #[serde(default)]
    pub sort: Option<Sort>,
    /// At most so many rows; all where absent.
    #[serde(default)]
    pub top: Option<u32>,
}

/// By which column, and which way.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Sort {
    /// Key of the column.
    pub column: String,
    /// Largest or last first.
    pub descending: bool,
}

impl Sort {
    /// `column` or `-column`: ascending, or descending with the minus.
    pub fn parse(text: &str) -> Sort {
        let (column, descending) = text.strip_prefix('-').map_or((text, false), |column| (column, true));
        Sort { column: column.to_owned(), descending }
    }
}

/// A row that passed, with the value it is ordered by.
#[derive(Clone, Copy)]
struct Candidate<'a> {
    key: CellRef<'a>,
    row: u32,
}

/// The rows of `rows` that `query` asks for. Absent values come last either way, equal ones keep the table's order.
pub fn query(rows: &dyn Rows, query: &Query) -> Table {
    let columns = rows.columns();
    let filter = Filter::parse(&query.filter);
    let sort = query.sort.as_ref().and_then(|sort| {
        let column = columns.iter().position(|column| column.key == sort.column)?;
        Some((column, sort.descending))
    });
    let passes = |row: &u32| filter.is_empty() || filter.passes(columns, &|column| rows.cell(*row as usize, column));
    let all = u32::try_from(rows.len()).unwrap_or(u32::MAX);
    let key = |row: u32| sort.map_or(CellRef::Absent, |(column, _)| rows.cell(row as usize, column));
    let mut found: Vec<Candidate<'_>> = (0..all).filter(passes).map(|row| Candidate { key: key(row), row }).collect();
    let matched = found.len();
    let top = query.top.map_or(matched, |top| (top as usize).min(matched));
    if let Some((_, descending)) = sort {
        let mut order =
            |a: &Candidate<'_>, b: &Candidate<'_>| compare(a.key, b.key, descending).then(a.row.cmp(&b.row));
        if top < matched {
            found.select_nth_unstable_by(top, &mut order);
        }
        found.truncate(top);
        sort::sort_by(&mut found, order);
    }
    found.truncate(top);
    let row = |it: &Candidate<'_>| (0..columns.len()).map(|c| rows.cell(it.row as usize, c).to_cell()).collect();
    Table {
        name: rows.name(),
        columns: columns.to_vec(),
        rows: found.iter().map(row).collect(),
        matched_rows: matched as u64,
        total_rows: rows.len() as u64,
    }
}

fn compare(a: CellRef<'_>, b: CellRef<'_>, descending: bool) -> Ordering {
    let order = match (a, b) {
        (CellRef::Absent, CellRef::Absent) => return Ordering::Equal,
        (CellRef::Absent, _) => return Ordering::Greater,
        (_, CellRef::Absent) => return Ordering::Less,
        (CellRef::Text(a), CellRef::Text(b)) => a.cmp(b),
        (CellRef::Int(a), CellRef::Int(b)) => a.cmp(&b),
        (a, b) => number(a).total_cmp(&number(b)),
    };
    if descending { order.reverse() } else { order }
}

fn number(cell: CellRef<'_>) -> f64 {
    match cell {
        CellRef::Int(value) => value as f64,
        CellRef::Float(value) => value,
        CellRef::Flag(yes) => f64::from(u8::from(yes)),
        CellRef::Text(_) | CellRef::Absent => 0.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::{Cell, Column, Unit};

    fn table(values: &[(&str, Option<f64>)]) -> Table {
        let columns = vec![
            Column { key: "name", title: "Name", unit: Unit::Text },
            Column { key: "time_us", title: "Time", unit: Unit::TimeUs },
        ];
        let row = |&(name, time): &(&str, Option<f64>)| {
            vec![Cell::Text(name.to_owned()), time.map_or(Cell::Absent, Cell::Float)]
        };
        Table::new("test", columns, values.iter().map(row).collect())
    }

    fn names(table: &Table) -> Vec<String> {
        table.rows.iter().map(|row| format!("{:?}", row[0]).replace("Text(\"", "").replace("\")", "")).collect()
    }

    fn ask(filter: &str, sort: &str, top: Option<u32>) -> Query {
        Query { filter: filter.to_owned(), sort: (!sort.is_empty()).then(|| Sort::parse(sort)), top }
    }

    #[test]
    fn absent_values_come_last_either_way_and_equal_ones_keep_their_order() {
        let table = table(&[("a", None), ("b", Some(1.0)), ("c", Some(3.0)), ("d", Some(1.0))]);
        assert_eq!(names(&query(&table, &ask("", "time_us", None))), ["b", "d", "c", "a"]);
        assert_eq!(names(&query(&table, &ask("", "-time_us", None))), ["c", "b", "d", "a"]);
        assert_eq!(names(&query(&table, &ask("", "-name", None))), ["d", "c", "b", "a"]);
        assert_eq!(names(&query(&table, &ask("", "nothing", None))), ["a", "b", "c", "d"]);
    }

    #[test]
    fn the_first_so_many_are_those_of_the_whole_order() {
        let values: Vec<(String, Option<f64>)> =
            (0..1000).map(|i| (format!("n{i}"), Some(f64::from(i * 7919 % 1000)))).collect();
        let values: Vec<(&str, Option<f64>)> = values.iter().map(|(name, time)| (name.as_str(), *time)).collect();
        let table = table(&values);
        let whole = query(&table, &ask("time_us>10", "-time_us", None));
        let some = query(&table, &ask("time_us>10", "-time_us", Some(7)));
        assert_eq!(names(&some), names(&whole)[..7]);
        assert_eq!((some.matched_rows, some.total_rows, some.rows.len()), (989, 1000, 7));
        assert_eq!(query(&table, &ask("", "", Some(3))).rows.len(), 3);
    }
}
