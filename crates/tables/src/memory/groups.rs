//! Sums buffers of one memory space by a common property.

use std::collections::BTreeMap;

use base::sort;

use crate::profile_table::{float, text};
use table::Cell;

/// Buffer as a part of a group.
pub(super) struct Part {
    /// Name of the group.
    pub key: String,
    /// Name of the buffer.
    pub name: String,
    pub bytes: u64,
    pub unpadded_bytes: u64,
}

/// Sums over buffers.
#[derive(Default)]
struct Group {
    bytes: u64,
    unpadded_bytes: u64,
    padding_bytes: u64,
    buffers: u64,
    largest: Option<String>,
}

/// Appends one row for each group of buffers in one memory space, largest first. `parts` must also be sorted, largest first.
pub(super) fn groups(of: [&str; 2], peak: u64, parts: impl Iterator<Item = Part>, cells: &mut Vec<Vec<Cell>>) {
    let mut found: BTreeMap<String, Group> = BTreeMap::new();
    for part in parts {
        let group = found.entry(part.key).or_default();
        group.bytes = group.bytes.saturating_add(part.bytes);
        group.unpadded_bytes = group.unpadded_bytes.saturating_add(part.unpadded_bytes);
        group.padding_bytes = group.padding_bytes.saturating_add(part.bytes.saturating_sub(part.unpadded_bytes));
        group.buffers += 1;
        group.largest.get_or_insert(part.name);
    }
    let mut found: Vec<(String, Group)> = found.into_iter().collect();
    sort::sort_by(&mut found, |a, b| b.1.bytes.cmp(&a.1.bytes));
    cells.extend(found.into_iter().map(|(key, group)| {
        vec![
            text(of[0]),
            text(of[1]),
            said(key),
            Cell::Int(group.bytes),
            float(share(group.bytes, peak)),
            Cell::Int(group.unpadded_bytes),
            Cell::Int(group.padding_bytes),
            Cell::Int(group.buffers),
            said(group.largest.unwrap_or_default()),
        ]
    }));
}

/// Returns bytes in percent of a peak.
pub(super) fn share(bytes: u64, peak: u64) -> Option<f64> {
    (peak > 0).then(|| 100.0 * bytes as f64 / peak as f64)
}

/// Creates a text cell, or an absent cell if the text is empty.
pub(super) fn said(value: String) -> Cell {
    if value.is_empty() { Cell::Absent } else { Cell::Text(value) }
}
