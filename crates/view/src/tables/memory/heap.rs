//! What a device memory profile holds: by line of the program, call stack, kind or device; and how it differs from an earlier one.

use std::collections::BTreeMap;

use memory::{Frame, HeapProfile, HeapSample, Recorded};

use crate::table::{Cell, Column, Table, Unit, column};
use crate::tables::profile_table::{float, text};

const LINE: Column = column(
    "line",
    "Line",
    Unit::Text,
    "The innermost line of the call stack that is in no installed package: `file:line`; else the innermost line.",
);
const FUNCTION: Column = column("function", "Function", Unit::Text, "The function that the line is in.");
const STACK: Column = column("stack", "Call stack", Unit::Text, "The call stack, outermost frame first.");
const KIND: Column =
    column("kind", "Kind", Unit::Text, "`buffer` (an array) or `executable` (the code of a compiled program).");
const DEVICE: Column = column("device", "Device", Unit::Text, "The device; absent for executables.");
const SUMS: [Column; 6] = [
    column("bytes", "Bytes", Unit::Bytes, "Bytes on the device.")
        .caveat("What lives when the profile is saved: temporary values of a running program are not in it."),
    column("percent", "Share", Unit::Percent, "Their bytes, of all in the profile."),
    column("count", "Count", Unit::Count, "Arrays and executables."),
    column(
        "bytes_change",
        "Change",
        Unit::Bytes,
        "Bytes more than in the earlier profile, less than 0 where there are fewer.",
    )
    .caveat(
        "Of profiles that are read after another only: that is the earlier one. Rows are then in the order of the largest change.",
    ),
    column("bytes_before", "Before", Unit::Bytes, "Bytes in the earlier profile."),
    column("count_before", "Count before", Unit::Count, "Arrays and executables in the earlier profile."),
];

/// The columns of all forms.
pub fn columns() -> Vec<Column> {
    [LINE, FUNCTION, STACK, KIND, DEVICE].into_iter().chain(SUMS).collect()
}

/// What rows are of: a text for each column of the form.
type KeyOf = fn(&HeapProfile, &HeapSample) -> Vec<String>;

/// Memory of one key, in the profile and in the earlier one.
#[derive(Clone, Copy, Default)]
struct Sums {
    bytes: i64,
    count: i64,
    bytes_before: i64,
    count_before: i64,
}

impl Sums {
    fn change(&self) -> i64 {
        self.bytes.saturating_sub(self.bytes_before)
    }
}

/// The device memory profile of a run by `line`, which is the usual form, `stack`, `kind` or `device`, beside the earlier one where there
/// is one. Without rows where the run is none.
pub fn table(recorded: &Recorded, variant: &str) -> Table {
    let profile = recorded.heap_profile();
    let before = recorded.earlier_heap_profile().map(|(_, earlier)| earlier);
    let (keys, key): (Vec<Column>, KeyOf) = match variant {
        "stack" => (vec![STACK], |profile, sample| vec![stack(profile, sample)]),
        "kind" => (vec![KIND], |_, sample| vec![sample.kind.clone()]),
        "device" => (vec![DEVICE], |_, sample| vec![sample.device.clone()]),
        _ => (vec![LINE, FUNCTION], |profile, sample| {
            let frame = profile.own_frame(sample);
            vec![
                frame.map(Frame::place).unwrap_or_default(),
                frame.map(|frame| frame.function.clone()).unwrap_or_default(),
            ]
        }),
    };
    let mut found: BTreeMap<Vec<String>, Sums> = BTreeMap::new();
    if let Some(profile) = profile {
        for sample in &profile.samples {
            let sums = found.entry(key(profile, sample)).or_default();
            sums.bytes = sums.bytes.saturating_add(sample.bytes);
            sums.count = sums.count.saturating_add(sample.count);
        }
    }
    if let Some(before) = before {
        for sample in &before.samples {
            let sums = found.entry(key(before, sample)).or_default();
            sums.bytes_before = sums.bytes_before.saturating_add(sample.bytes);
            sums.count_before = sums.count_before.saturating_add(sample.count);
        }
    }
    let total: i128 = found.values().map(|sums| i128::from(sums.bytes)).sum();
    let mut rows: Vec<(Vec<String>, Sums)> = found.into_iter().collect();
    let largest = |sums: &Sums| if before.is_some() { sums.change().unsigned_abs() } else { sums.bytes.unsigned_abs() };
    rows.sort_by_key(|row| std::cmp::Reverse(largest(&row.1)));
    let cells = rows.into_iter().map(|(key, sums)| {
        let mut row: Vec<Cell> = key.iter().map(|key| if key.is_empty() { Cell::Absent } else { text(key) }).collect();
        let share = (total > 0).then(|| 100.0 * sums.bytes as f64 / total as f64);
        row.extend([number(sums.bytes), float(share), number(sums.count)]);
        let earlier = |value: i64| if before.is_some() { number(value) } else { Cell::Absent };
        row.extend([earlier(sums.change()), earlier(sums.bytes_before), earlier(sums.count_before)]);
        row
    });
    Table::new("heap", keys.into_iter().chain(SUMS).collect(), cells.collect())
}

/// A whole number, which a difference may have below 0.
fn number(value: i64) -> Cell {
    u64::try_from(value).map_or(Cell::Float(value as f64), Cell::Int)
}

fn stack(profile: &HeapProfile, sample: &HeapSample) -> String {
    let frames = sample.stack.iter().rev().filter_map(|&index| profile.frames.get(index));
    let texts: Vec<String> = frames.map(|frame| format!("{} ({})", frame.function, frame.place())).collect();
    texts.join(" > ")
}
