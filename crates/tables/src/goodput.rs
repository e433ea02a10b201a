//! Table of the productive and lost time of a capture.

use super::profile_table::{ProfileColumns, of_rows, text};
use crate::record::{Made, TableRecord};
use crate::shown::Shown;
use report::{GoodputPart, UnifiedProfile};
use table::{Cell, Column, Table, Unit, columns};

pub(super) const TABLE: TableRecord =
    TableRecord { shown: Shown::WHOLE, ..TableRecord::new("goodput", || columns(&COLUMNS), Made::Profile(table)) };

static COLUMNS: ProfileColumns<GoodputPart, 4> = [
    (Column::of_field("part", "Part", Unit::Text, "goodput.parts[].part"), |it| text(&it.part)),
    (Column::of_field("time_us", "Time", Unit::TimeUs, "goodput.parts[].time_us"), |it| Cell::Float(it.time_us)),
    (Column::of_field("percent", "Share", Unit::Percent, "goodput.parts[].percent"), |it| Cell::Float(it.percent)),
    (Column::of_field("device_hours", "Device hours", Unit::Number, "goodput.parts[].device_hours"), |it| {
        Cell::Float(it.device_hours)
    }),
];

/// Returns a row for each part of the time.
fn table(profile: &UnifiedProfile) -> Table {
    of_rows("goodput", &COLUMNS, profile.goodput.iter().flat_map(|goodput| &goodput.parts))
}
