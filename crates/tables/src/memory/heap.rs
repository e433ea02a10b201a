//! Table of a device memory profile: by source line, call stack, kind or device, with the
//! difference from an earlier profile.

use memory::{HeapKey, HeapSums, Recorded};

use crate::profile_table::{float, text};
use crate::record::{Made, TableRecord};
use crate::shown::{RowKey, Shown};
use table::{Cell, Column, Table, Unit, column};

pub(crate) const TABLE: TableRecord = TableRecord {
    forms: &["line", "stack", "kind", "device"],
    shown: Shown { row_keys: &[RowKey::new("line", &["line"]).of_form("line")], ..Shown::WHOLE },
    ..TableRecord::new("heap", columns, Made::Memory(|recorded, form| Box::new(table(recorded, form))))
};

const LINE: Column = column(
    "line",
    "Line",
    Unit::Text,
    "Innermost line of the call stack outside installed packages, `file:line`. If all lines are in packages, the \
        innermost line.",
);
const FUNCTION: Column = column("function", "Function", Unit::Text, "Function that contains the line.");
const STACK: Column = column("stack", "Call stack", Unit::Text, "Call stack, outermost frame first.");
const KIND: Column =
    column("kind", "Kind", Unit::Text, "`buffer` (an array) or `executable` (the code of a compiled program).");
const DEVICE: Column = column("device", "Device", Unit::Text, "Device. Absent for executables.");
const SUMS: [Column; 6] = [
    column("bytes", "Bytes", Unit::Bytes, "Bytes on the device.")
        .caveat("Only memory that is live when the profile is saved, without temporary values of a running program."),
    column("percent", "Share", Unit::Percent, "Bytes as a share of all bytes in the profile."),
    column("count", "Count", Unit::Count, "Arrays and executables."),
    column(
        "bytes_change",
        "Change",
        Unit::Bytes,
        "Change in bytes from the earlier profile. Negative if the memory shrank.",
    )
    .caveat(
        "Present only if the user opened two profiles. The profile that was opened first is the earlier profile. Rows \
            are \
            then sorted by the size of the change.",
    ),
    column("bytes_before", "Before", Unit::Bytes, "Bytes in the earlier profile."),
    column("count_before", "Count before", Unit::Count, "Arrays and executables in the earlier profile."),
];

/// Returns the columns of all forms.
pub(crate) fn columns() -> Vec<Column> {
    [LINE, FUNCTION, STACK, KIND, DEVICE].into_iter().chain(SUMS).collect()
}

/// Returns the device memory profile of a run by `line` (the default), `stack`, `kind` or `device`, together with the earlier
/// profile if there is one. Has no rows if the run is not a device memory profile.
pub(crate) fn table(recorded: &Recorded, variant: &str) -> Table {
    let profile = recorded.heap_profile();
    let before = recorded.earlier_heap_profile().map(|(_, earlier)| earlier);
    let (keys, key) = match variant {
        "stack" => (vec![STACK], HeapKey::Stack),
        "kind" => (vec![KIND], HeapKey::Kind),
        "device" => (vec![DEVICE], HeapKey::Device),
        _ => (vec![LINE, FUNCTION], HeapKey::Line),
    };
    let mut rows = profile.map(|profile| profile.sums(key, before)).unwrap_or_default();
    let total: i128 = rows.iter().map(|sums| i128::from(sums.now.bytes)).sum();
    let change = |sums: &HeapSums| sums.now.bytes.saturating_sub(sums.before.bytes);
    let largest = |sums: &HeapSums| if before.is_some() { change(sums) } else { sums.now.bytes }.unsigned_abs();
    rows.sort_by_key(|sums| std::cmp::Reverse(largest(sums)));
    let cells = rows.into_iter().map(|sums| {
        let mut row: Vec<Cell> =
            sums.key.iter().map(|key| if key.is_empty() { Cell::Absent } else { text(key) }).collect();
        let share = (total > 0).then(|| 100.0 * sums.now.bytes as f64 / total as f64);
        row.extend([number(sums.now.bytes), float(share), number(sums.now.count)]);
        let earlier = |value: i64| if before.is_some() { number(value) } else { Cell::Absent };
        row.extend([earlier(change(&sums)), earlier(sums.before.bytes), earlier(sums.before.count)]);
        row
    });
    Table::new("heap", keys.into_iter().chain(SUMS).collect(), cells.collect())
}

/// Creates an integer. Differences may be negative.
fn number(value: i64) -> Cell {
    u64::try_from(value).map_or(Cell::Float(value as f64), Cell::Int)
}
