//! The rows that are asked for: filtered, in an order, the first so many.
//!
//! A page shows some hundred rows of what may be a million, so the rest is never put in order nor kept: the wanted ones are
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
    let filter = Filter::parse(&query.filter);
    if filter.is_empty() {
        return query_passing(rows, query, &|_| true);
    }
    let over = filter.over(rows);
    query_passing(rows, query, &|row| over.passes(row))
}

/// The same where the caller knows which rows pass: the filter of `query` is not looked at.
pub fn query_passing(rows: &dyn Rows, query: &Query, passes: &dyn Fn(usize) -> bool) -> Table {
    let columns = rows.columns();
    let sort = query.sort.as_ref().and_then(|sort| {
        let column = columns.iter().position(|column| column.key == sort.column)?;
        Some((column, sort.descending))
    });
    let all = u32::try_from(rows.len()).unwrap_or(u32::MAX);
    let top = query.top.map(|top| top as usize);
    let mut selection = Selection {
        rows,
        passes,
        column: sort.map(|(column, _)| column),
        best: Best { found: Vec::new(), top, descending: sort.is_some_and(|(_, descending)| descending), full: false },
        matched: 0,
    };
    for first in (0..all).step_by(BLOCK as usize) {
        selection.offer(first..first.saturating_add(BLOCK).min(all));
    }
    let Selection { best, matched, .. } = selection;
    let found = if sort.is_some() { best.finish() } else { best.found };
    let row = |it: &Candidate<'_>| (0..columns.len()).map(|c| rows.cell(it.row as usize, c).to_cell()).collect();
    Table {
        name: rows.name(),
        columns: columns.to_vec(),
        rows: found.iter().map(row).collect(),
        matched_rows: matched,
        total_rows: rows.len() as u64,
    }
}

/// Rows that are looked at in one call: see [`crate::trace::blocks`].
const BLOCK: u32 = 2048;

/// A question that is being answered.
struct Selection<'a> {
    rows: &'a dyn Rows,
    passes: &'a dyn Fn(usize) -> bool,
    /// What the rows are ordered by; absent for the table's own order.
    column: Option<usize>,
    best: Best<'a>,
    matched: u64,
}

impl Selection<'_> {
    #[inline(never)]
    fn offer(&mut self, rows: std::ops::Range<u32>) {
        for row in rows {
            if !(self.passes)(row as usize) {
                continue;
            }
            self.matched += 1;
            match self.column {
                Some(column) => self.best.offer(Candidate { key: self.rows.cell(row as usize, column), row }),
                None if self.best.top.is_none_or(|top| self.best.found.len() < top) => {
                    self.best.found.push(Candidate { key: CellRef::Absent, row });
                }
                None => {}
            }
        }
    }
}

/// The first `top` candidates by their keys; all of them where `top` is absent.
///
/// Up to twice as many are kept. When these are full, the better half stays, and from then on what is no better than the
/// worst of them is passed over at a glance, which of a million rows are nearly all:
///
/// ```text
/// kept   [ the first so many, any order | newer ones ]  full: select, cut, go on
///                                     ^ the worst of the first
/// ```
struct Best<'a> {
    found: Vec<Candidate<'a>>,
    top: Option<usize>,
    descending: bool,
    /// Cut once: the candidate at `top - 1` is the worst of those before it.
    full: bool,
}

impl<'a> Best<'a> {
    fn order(&self) -> impl Fn(&Candidate<'a>, &Candidate<'a>) -> Ordering + use<'a> {
        let descending = self.descending;
        move |a, b| compare(a.key, b.key, descending).then(a.row.cmp(&b.row))
    }

    fn offer(&mut self, candidate: Candidate<'a>) {
        let Some(top) = self.top else { return self.found.push(candidate) };
        let order = self.order();
        let worst = top.checked_sub(1).filter(|_| self.full).and_then(|last| self.found.get(last));
        if worst.is_some_and(|worst| order(&candidate, worst) != Ordering::Less) {
            return;
        }
        self.found.push(candidate);
        if self.found.len() >= 2 * top.max(1) {
            self.cut(top);
        }
    }

    fn cut(&mut self, top: usize) {
        let order = self.order();
        if let Some(last) = top.checked_sub(1).filter(|&last| last < self.found.len()) {
            self.found.select_nth_unstable_by(last, &order);
            self.full = true;
        }
        self.found.truncate(top);
    }

    fn finish(mut self) -> Vec<Candidate<'a>> {
        let order = self.order();
        sort::sort_by(&mut self.found, order);
        self.found.truncate(self.top.unwrap_or(usize::MAX));
        self.found
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
        for (sort, top) in [("time_us", 0), ("time_us", 1), ("-name", 499), ("name", 999), ("time_us", 5000)] {
            let some = query(&table, &ask("", sort, Some(top)));
            let whole = query(&table, &ask("", sort, None));
            assert_eq!(names(&some), names(&whole)[..1000.min(top as usize)], "{sort} {top}");
            assert_eq!((some.matched_rows, whole.rows.len()), (1000, 1000));
        }
        assert_eq!(query(&table, &ask("", "", Some(3))).rows.len(), 3);
    }
}
