//! Answers queries for rows: filters and sorts the rows, and returns the first rows.
//!
//! A page shows a few hundred rows of a table that may have a million rows. The requested rows are selected in linear
//! time, and only the selected rows are sorted and copied.
//!
//! A sort by shared texts reads each text once, in memory order, without reading texts row by row.
//!
//! ```text
//! rows that pass --> texts that they have --> the first texts, in order --> rows that have one of these
//! ```

use std::cmp::Ordering;

use super::shared::{BLOCK, SharedColumn, SharedTexts, TextTable};
use super::{CellRef, Filter, Rows, Table};
use base::sort;

/// Query on a table.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Query {
    /// See [`Filter`].
    #[serde(default)]
    pub filter: String,
    /// Sort order. The table's own order if absent, or if no column has that key.
    #[serde(default)]
    pub sort: Option<Sort>,
    /// Maximum number of rows. All rows if absent.
    #[serde(default)]
    pub top: Option<u32>,
}

/// Column and direction of a sort.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Sort {
    /// Key of the column.
    pub column: String,
    /// True if the largest or last value comes first.
    pub descending: bool,
}

impl Sort {
    /// Parses `column` as ascending and `-column` as descending.
    pub fn parse(text: &str) -> Sort {
        let (column, descending) = text.strip_prefix('-').map_or((text, false), |column| (column, true));
        Sort { column: column.to_owned(), descending }
    }
}

/// Returns the rows that `query` selects. Absent values come last in both directions, and rows with equal values keep
/// the table's order.
pub fn query(rows: &dyn Rows, query: &Query) -> Table {
    query_indexed(rows, query).0
}

/// Returns the rows that `query` selects, with the index of each in `rows`.
pub fn query_indexed(rows: &dyn Rows, query: &Query) -> (Table, Vec<u32>) {
    let filter = Filter::parse(&query.filter);
    let passing = (!filter.is_empty()).then(|| filter.passing(rows));
    answer(rows, query, passing.as_deref())
}

/// Returns the rows that `query` selects among the `passing` rows (all rows if `None`). Ignores the filter of `query`.
pub fn query_passing(rows: &dyn Rows, query: &Query, passing: Option<&[bool]>) -> Table {
    answer(rows, query, passing).0
}

/// Returns the index in `rows` of each row that `query` selects, in the order of the query. Prepares the table for
/// reading these rows.
pub fn asked_rows(rows: &dyn Rows, query: &Query) -> Vec<u32> {
    let filter = Filter::parse(&query.filter);
    let passing = (!filter.is_empty()).then(|| filter.passing(rows));
    ordered_rows(rows, query, passing.as_deref())
}

fn answer(rows: &dyn Rows, query: &Query, passing: Option<&[bool]>) -> (Table, Vec<u32>) {
    let columns = rows.columns();
    let found = ordered_rows(rows, query, passing);
    let row = |row: &u32| (0..columns.len()).map(|column| rows.cell(*row as usize, column).to_cell()).collect();
    let matched = passing.map_or(rows.len(), |passing| passing.iter().filter(|&&passes| passes).count());
    let table = Table {
        name: rows.name(),
        columns: columns.to_vec(),
        rows: found.iter().map(row).collect(),
        matched_rows: matched as u64,
        total_rows: rows.len() as u64,
    };
    (table, found)
}

/// Returns the rows that pass, in the order of `query`, and at most as many as `query` requests.
fn ordered_rows(rows: &dyn Rows, query: &Query, passing: Option<&[bool]>) -> Vec<u32> {
    let columns = rows.columns();
    let sort = query.sort.as_ref().and_then(|sort| {
        let column = columns.iter().position(|column| column.key == sort.column)?;
        Some((column, sort.descending))
    });
    let top = query.top.map(|top| top as usize);
    let texts = rows.shared_texts();
    let found = match sort {
        None => first_rows(rows.len(), passing, top),
        Some((column, descending)) => match rows.shared_column(column) {
            // If there are far fewer rows than texts, sorting all texts takes longer.
            Some(shared) if rows.len().saturating_mul(FEW_ROWS) >= texts.len() => {
                ByText { texts, column: shared, passing }.rows(top, descending)
            }
            _ => by_cell(rows, column, passing, top, descending),
        },
    };
    rows.prepare(&found);
    found
}

/// Number of texts per row above which rows are sorted by cell.
const FEW_ROWS: usize = 8;

fn passes(passing: Option<&[bool]>, row: usize) -> bool {
    passing.is_none_or(|passing| passing.get(row).copied().unwrap_or_default())
}

fn first_rows(rows: usize, passing: Option<&[bool]>, top: Option<usize>) -> Vec<u32> {
    let all = 0..u32::try_from(rows).unwrap_or(u32::MAX);
    all.filter(|&row| passes(passing, row as usize)).take(top.unwrap_or(usize::MAX)).collect()
}

/// Sorts by the cells of a column. Most columns contain numbers, which are sorted by keys that compare as integers.
fn by_cell(rows: &dyn Rows, column: usize, passing: Option<&[bool]>, top: Option<usize>, descending: bool) -> Vec<u32> {
    let all = u32::try_from(rows.len()).unwrap_or(u32::MAX);
    let blocks = || (0..all).step_by(BLOCK).map(|first| first..first.saturating_add(BLOCK as u32).min(all));
    let mut numbers = Numbers { kind: None, best: Best::new(top), absent: Vec::new(), descending };
    if blocks().all(|block| offer_numbers(rows, column, passing, block, &mut numbers)) {
        let mut found = numbers.best.finish();
        found.extend(numbers.absent);
        found.truncate(top.unwrap_or(usize::MAX));
        return found;
    }
    let mut best = Best::new(top);
    blocks().for_each(|block| offer_cells(rows, column, passing, block, descending, &mut best));
    best.finish()
}

/// Rows of a numeric column.
struct Numbers {
    kind: Option<std::mem::Discriminant<CellRef<'static>>>,
    best: Best<u64>,
    /// Rows without a number, up to the number of requested rows.
    absent: Vec<u32>,
    descending: bool,
}

/// Returns false if the column contains a text, or numbers of two kinds.
#[inline(never)]
fn offer_numbers(
    rows: &dyn Rows,
    column: usize,
    passing: Option<&[bool]>,
    range: std::ops::Range<u32>,
    numbers: &mut Numbers,
) -> bool {
    for row in range.filter(|&row| passes(passing, row as usize)) {
        let (key, kind) = match rows.cell(row as usize, column) {
            CellRef::Absent => {
                if numbers.best.top.is_none_or(|top| numbers.absent.len() < top) {
                    numbers.absent.push(row);
                }
                continue;
            }
            CellRef::Text(_) => return false,
            CellRef::Int(value) => (value, std::mem::discriminant(&CellRef::Int(0))),
            CellRef::Float(value) => (ordered(value), std::mem::discriminant(&CellRef::Float(0.0))),
            CellRef::Flag(yes) => (u64::from(yes), std::mem::discriminant(&CellRef::Flag(true))),
        };
        if *numbers.kind.get_or_insert(kind) != kind {
            return false;
        }
        numbers.best.offer(if numbers.descending { !key } else { key }, row);
    }
    true
}

/// Returns an integer for a number. Comparing these integers gives the order of [`f64::total_cmp`].
fn ordered(value: f64) -> u64 {
    let bits = value.to_bits();
    if bits >> 63 == 0 { bits | 1 << 63 } else { !bits }
}

#[inline(never)]
fn offer_cells<'a>(
    rows: &'a dyn Rows,
    column: usize,
    passing: Option<&[bool]>,
    range: std::ops::Range<u32>,
    descending: bool,
    best: &mut Best<Key<'a>>,
) {
    for row in range.filter(|&row| passes(passing, row as usize)) {
        best.offer(Key { cell: rows.cell(row as usize, column), descending }, row);
    }
}

/// Cell as a sort key.
#[derive(Clone, Copy)]
struct Key<'a> {
    cell: CellRef<'a>,
    descending: bool,
}

impl PartialEq for Key<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Key<'_> {}

impl PartialOrd for Key<'_> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Key<'_> {
    fn cmp(&self, other: &Self) -> Ordering {
        compare(self.cell, other.cell, self.descending)
    }
}

/// Sort by a column of shared texts.
struct ByText<'a> {
    texts: SharedTexts<'a>,
    column: SharedColumn<'a>,
    passing: Option<&'a [bool]>,
}

/// Rank of a text that occurs in no row.
const UNUSED: u32 = u32::MAX;
/// Rank of a text that occurs in rows, but is not among the first texts.
const USED: u32 = u32::MAX - 1;

impl ByText<'_> {
    fn rows(&self, top: Option<usize>, descending: bool) -> Vec<u32> {
        let mut places = vec![UNUSED; self.texts.len()];
        self.column.for_blocks(&mut |first, numbers| self.mark_used(first, numbers, &mut places));
        // Rows without a text come last in both directions.
        let has_absent = places.first_mut().is_some_and(|place| std::mem::replace(place, UNUSED) == USED);
        let mut texts = Best::new(top);
        let mut number = 0;
        for &table in self.texts.tables() {
            for first in (0..table.ends.len()).step_by(BLOCK) {
                let count = BLOCK.min(table.ends.len() - first);
                let places = places.get(number..number + count).unwrap_or_default();
                offer_texts(table, first, number, places, descending, &mut texts);
                number += count;
            }
        }
        for (place, number) in (0..USED).zip(texts.finish()) {
            if let Some(slot) = places.get_mut(number as usize) {
                *slot = place;
            }
        }
        let mut rows = Best::new(top);
        self.column.for_blocks(&mut |first, numbers| self.offer_rows(first, numbers, &places, &mut rows));
        let mut found = rows.finish();
        let missing = top.unwrap_or(usize::MAX).saturating_sub(found.len());
        if has_absent && missing > 0 {
            self.column.for_blocks(&mut |first, numbers| {
                let absent = numbers.iter().zip(first..).filter(|&(&number, row)| number == 0 && self.passes(row));
                found.extend(absent.filter_map(|(_, row)| u32::try_from(row).ok()));
            });
            found.truncate(top.unwrap_or(usize::MAX));
        }
        found
    }

    fn passes(&self, row: usize) -> bool {
        passes(self.passing, row)
    }

    #[inline(never)]
    fn mark_used(&self, first: usize, numbers: &[u32], places: &mut [u32]) {
        for (&number, row) in numbers.iter().zip(first..) {
            if self.passes(row)
                && let Some(place) = places.get_mut(number as usize)
            {
                *place = USED;
            }
        }
    }

    #[inline(never)]
    fn offer_rows(&self, first: usize, numbers: &[u32], places: &[u32], best: &mut Best<u32>) {
        for (&number, row) in numbers.iter().zip(first..) {
            let place = places.get(number as usize).copied().unwrap_or(UNUSED);
            if place < USED && self.passes(row) {
                best.offer(place, u32::try_from(row).unwrap_or(u32::MAX));
            }
        }
    }
}

/// Offers the texts of a table that occur in rows, beginning at the index `first`. `number` is the number of the first
/// text, and `places` are the entries for these texts.
#[inline(never)]
fn offer_texts<'a>(
    table: TextTable<'a>,
    first: usize,
    number: usize,
    places: &[u32],
    descending: bool,
    best: &mut Best<Key<'a>>,
) {
    for ((&place, text), number) in places.iter().zip(first..).zip(number..) {
        if place == USED {
            let key = Key { cell: CellRef::Text(table.get(text)), descending };
            best.offer(key, u32::try_from(number).unwrap_or(u32::MAX));
        }
    }
}

/// Keeps the first `top` rows by key, or all rows if `top` is absent. Rows with equal keys keep their order.
///
/// Stores up to twice as many rows. When the storage is full, only the better half is kept. From then on, rows that are
/// not better than the worst stored row are skipped immediately. In a table with a million rows, this applies to nearly
/// all rows.
///
/// ```text
/// kept   [ the best so far, unordered     | newer ones ]  full: select, cut, continue
///                                     ^ the worst of these
/// ```
struct Best<K> {
    found: Vec<(K, u32)>,
    top: Option<usize>,
    /// The worst of the first `top` rows. `None` if there are fewer rows.
    worst: Option<(K, u32)>,
}

impl<K: Ord + Copy> Best<K> {
    fn new(top: Option<usize>) -> Best<K> {
        Best { found: Vec::new(), top, worst: None }
    }

    #[inline]
    fn offer(&mut self, key: K, row: u32) {
        if self.worst.is_some_and(|worst| (key, row) >= worst) {
            return;
        }
        self.found.push((key, row));
        if self.top.is_some_and(|top| self.found.len() >= 2 * top.max(1)) {
            self.cut();
        }
    }

    #[inline(never)]
    fn cut(&mut self) {
        let top = self.top.unwrap_or(usize::MAX);
        if let Some(last) = top.checked_sub(1).filter(|&last| last < self.found.len()) {
            self.found.select_nth_unstable(last);
            self.worst = self.found.get(last).copied();
        }
        self.found.truncate(top);
    }

    /// Returns the rows in order.
    fn finish(mut self) -> Vec<u32> {
        sort::sort_by(&mut self.found, Ord::cmp);
        let rows = self.found.iter().map(|&(_, row)| row);
        rows.take(self.top.unwrap_or(usize::MAX)).collect()
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
    use crate::{Cell, Unit, column};

    fn table(values: &[(&str, Option<f64>)]) -> Table {
        let columns = vec![column("name", "Name", Unit::Text, ""), column("time_us", "Time", Unit::TimeUs, "")];
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
    fn the_first_rows_match_the_whole_order() {
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
