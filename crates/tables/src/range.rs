//! Table of statistics of an area of the timeline: the events of some lines in a range of time, grouped by name, op,
//! category, scope or line.

use std::cmp::Ordering;
use std::sync::{Mutex, MutexGuard, PoisonError};

use base::sort;
use metrics::Percentiles;
use timeline::statistics::{Group, GroupBy, Grouping, groups, percentiles_of};

use super::area::{AreaOf, AreaQuery, NAME};
use super::counters;
use crate::record::{Made, TableRecord};
use crate::shown::{RowKey, Shown};
use table::{CellRef, Column, Rows, SharedColumn, SharedTexts, Unit, column, columns};

pub(super) const TABLE: TableRecord = TableRecord {
    forms: &["name", "op", "category", "scope", "line", "counter"],
    columns_of_form: Some(columns_of_form),
    shown: Shown {
        row_keys: &[
            RowKey::new("hlo_op_name", &["name"]).of_form("op"),
            RowKey::new("category", &["name"]).of_form("category"),
            RowKey::new("name", &["name"]).of_form("name"),
        ],
        ..Shown::WHOLE
    },
    ..TableRecord::new("range", all_columns, Made::Area(make))
};

/// Source of a cell.
pub(super) enum GroupValue {
    /// Name, a text that several rows share.
    Name,
    /// Number computed from the sums.
    Cell(fn(&RangeRows<'_>, &Group) -> Option<f64>),
    /// Integer computed from the sums.
    Count(fn(&Group) -> u64),
    /// Percentile of all durations.
    Percentile(fn(&Percentiles) -> f64),
}

static COLUMNS: [(Column, GroupValue); 10] = [
    (NAME, GroupValue::Name),
    (
        column(
            "count",
            "Count",
            Unit::Count,
            "Number of events that are at least partly in the range. Events of length zero are counted if they begin \
                in the range.",
        )
        .caveat("Excludes instants of a Chrome trace, which are not events of a line."),
        GroupValue::Count(|group| group.sums.count),
    ),
    (
        column("total_us", "Time", Unit::TimeUs, "Sum of the events' durations inside the range.")
            .caveat("Includes nested events. If events of one name are nested in each other, both are included."),
        GroupValue::Cell(|_, group| Some(group.sums.total.as_us())),
    ),
    (
        column(
            "self_us",
            "Self time",
            Unit::TimeUs,
            "Part of the total time during which no event that started later, of any name, runs on the same line.",
        )
        .caveat("The self times on a line add up to the time during which any event runs on the line."),
        GroupValue::Cell(|_, group| Some(group.sums.self_time.as_us())),
    ),
    (
        column("mean_us", "Mean", Unit::TimeUs, "Mean duration inside the range."),
        GroupValue::Cell(|_, group| group.sums.mean_us()),
    ),
    (
        column("p50_us", "Median", Unit::TimeUs, "Median of the events' durations inside the range.")
            .caveat("For an even number of events, the mean of the middle two."),
        GroupValue::Percentile(|of| of.median_us),
    ),
    (
        column(
            "p95_us",
            "95th percentile",
            Unit::TimeUs,
            "95th percentile of the events' durations inside the range, by nearest rank.",
        ),
        GroupValue::Percentile(|of| of.p95.as_us()),
    ),
    (
        column("min_us", "Shortest", Unit::TimeUs, "Shortest duration inside the range."),
        GroupValue::Cell(|_, group| Some(group.sums.min.as_us())),
    ),
    (
        column("max_us", "Longest", Unit::TimeUs, "Longest duration inside the range."),
        GroupValue::Cell(|_, group| Some(group.sums.max.as_us())),
    ),
    (
        column(
            "percent_of_range",
            "Share of range, sum over lines",
            Unit::Percent,
            "Total time over all lines and devices, as a share of the length of the range.",
        )
        .caveat(
            "Concurrent and nested events are all included, so the share may exceed 100 %: 182 % of a 10 ms range is \
                18.2 ms. Without a range, the share is relative to the whole capture.",
        ),
        GroupValue::Cell(|rows, group| {
            let length = rows.of.length.as_ps();
            (length > 0).then(|| 100.0 * group.sums.total.as_ps() as f64 / length as f64)
        }),
    ),
];

/// Returns the columns of all forms.
pub(super) fn all_columns() -> Vec<Column> {
    columns(&COLUMNS).into_iter().chain(counters::COLUMNS).collect()
}

pub(super) fn columns_of_form(variant: &str) -> Vec<Column> {
    if variant == super::COUNTER { counters::COLUMNS.to_vec() } else { columns(&COLUMNS) }
}

/// Makes the table of a form: counters, or groups of events.
fn make<'a>(of: AreaOf<'a>, asked: &AreaQuery, form: &str) -> Box<dyn Rows + 'a> {
    if form == super::COUNTER { Box::new(counters::table(&of, asked)) } else { Box::new(RangeRows::new(of, form)) }
}

/// Groups of an area, sorted by time, largest first, then by first occurrence.
pub(super) struct RangeRows<'a> {
    of: AreaOf<'a>,
    grouping: Grouping<'a>,
    groups: Vec<Group>,
    /// Number of the name of each group.
    names: Vec<u32>,
    /// Percentiles of the groups that were requested.
    percentiles: Mutex<Vec<Option<Percentiles>>>,
    columns: Vec<Column>,
}

impl<'a> RangeRows<'a> {
    /// Groups events by `variant`: `name` (also for unknown words), `op`, `category`, `scope` or
    /// `line`.
    pub(crate) fn new(of: AreaOf<'a>, variant: &str) -> RangeRows<'a> {
        let grouping = Grouping::new(&of.context, GroupBy::from_key(variant));
        let mut groups = groups(of.source, &of.area, &grouping);
        sort::by_number(&mut groups, |group| group.sums.total.as_ps(), |_, _| Ordering::Equal);
        let names = groups.iter().map(|group| group.number).collect();
        RangeRows { of, grouping, groups, names, percentiles: Mutex::default(), columns: columns(&COLUMNS) }
    }

    /// Computes the missing percentiles of these rows in one pass.
    fn ask(&self, rows: impl Iterator<Item = usize>) {
        let mut known = self.known();
        known.resize(self.groups.len(), None);
        let asked: Vec<usize> = rows.filter(|&row| known.get(row).is_some_and(Option::is_none)).collect();
        let groups: Vec<Group> = asked.iter().filter_map(|&row| self.groups.get(row).copied()).collect();
        if groups.is_empty() {
            return;
        }
        let found = percentiles_of(self.of.source, &self.of.area, &self.grouping, &groups);
        for (row, found) in asked.into_iter().zip(found) {
            known.get_mut(row).into_iter().for_each(|slot| *slot = Some(found));
        }
    }

    fn known(&self) -> MutexGuard<'_, Vec<Option<Percentiles>>> {
        // If a thread panicked while it computed values, the values that it finished are still correct.
        self.percentiles.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn percentiles(&self, row: usize) -> Option<Percentiles> {
        let known = |row: usize| self.known().get(row).copied().flatten();
        known(row).or_else(|| {
            // A sort or filter on percentiles requests the percentiles of all groups.
            self.ask(0..self.groups.len());
            known(row)
        })
    }
}

impl Rows for RangeRows<'_> {
    fn name(&self) -> &'static str {
        "range"
    }

    fn columns(&self) -> &[Column] {
        &self.columns
    }

    fn len(&self) -> usize {
        self.groups.len()
    }

    fn cell(&self, row: usize, column: usize) -> CellRef<'_> {
        let (Some(group), Some((_, value))) = (self.groups.get(row), COLUMNS.get(column)) else {
            return CellRef::Absent;
        };
        match value {
            GroupValue::Name => CellRef::text(self.grouping.name(self.of.source.trace, group.number)),
            GroupValue::Cell(cell) => CellRef::float(cell(self, group)),
            GroupValue::Count(cell) => CellRef::Int(cell(group)),
            GroupValue::Percentile(cell) => CellRef::float(self.percentiles(row).map(|found| cell(&found))),
        }
    }

    fn shared_texts(&self) -> SharedTexts<'_> {
        SharedTexts::new(self.grouping.names(self.of.source.trace))
    }

    fn shared_column(&self, column: usize) -> Option<SharedColumn<'_>> {
        matches!(COLUMNS.get(column)?.1, GroupValue::Name).then(|| SharedColumn::new(&self.names))
    }

    fn prepare(&self, rows: &[u32]) {
        self.ask(rows.iter().map(|&row| row as usize));
    }
}
