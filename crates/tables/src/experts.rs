//! Table of the load of each expert, and of each device that runs experts.

use super::profile_table::{ProfileColumns, float, of_rows, text};
use crate::record::{Made, TableRecord};
use crate::shown::Shown;
use report::{ExpertLoad, UnifiedProfile};
use table::{Cell, Column, Table, Unit, columns};

pub(super) const TABLE: TableRecord =
    TableRecord { shown: Shown::WHOLE, ..TableRecord::new("experts", || columns(&COLUMNS), Made::Profile(table)) };

static COLUMNS: ProfileColumns<ExpertLoad, 7> = [
    (Column::of_field("kind", "Kind", Unit::Text, "experts.loads[].kind"), |it| text(&it.kind)),
    (Column::of_field("name", "Name", Unit::Text, "experts.loads[].name"), |it| text(&it.name)),
    (Column::of_field("num_devices", "Devices", Unit::Count, "experts.loads[].num_devices"), |it| {
        Cell::Int(it.num_devices)
    }),
    (Column::of_field("time_us", "Time", Unit::TimeUs, "experts.loads[].time_us"), |it| Cell::Float(it.time_us)),
    (Column::of_field("time_to_mean", "Time / mean", Unit::Number, "experts.loads[].time_to_mean"), |it| {
        Cell::Float(it.time_to_mean)
    }),
    (Column::of_field("tokens", "Tokens", Unit::Number, "experts.loads[].tokens"), |it| float(it.tokens)),
    (Column::of_field("tokens_to_mean", "Tokens / mean", Unit::Number, "experts.loads[].tokens_to_mean"), |it| {
        float(it.tokens_to_mean)
    }),
];

/// Returns a row for each expert and device.
fn table(profile: &UnifiedProfile) -> Table {
    of_rows("experts", &COLUMNS, profile.experts.iter().flat_map(|experts| &experts.loads))
}
