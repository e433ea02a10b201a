//! Table of the stages of a pipeline.

use super::profile_table::{ProfileColumns, of_rows, text};
use crate::record::{Made, TableRecord};
use crate::shown::Shown;
use report::{PipelineStage, UnifiedProfile};
use table::{Cell, Column, Table, Unit, column, columns};

pub(super) const TABLE: TableRecord =
    TableRecord { shown: Shown::WHOLE, ..TableRecord::new("pipeline", || columns(&COLUMNS), Made::Profile(table)) };

static COLUMNS: ProfileColumns<PipelineStage, 10> = [
    (Column::of_field("stage", "Stage", Unit::Count, "pipeline.stages[].stage"), |it| Cell::Int(it.stage)),
    (column("devices", "Devices", Unit::Text, "Devices that run the stage."), |it| text(&it.devices.join(", "))),
    (
        column(
            "programs",
            "Programs",
            Unit::Text,
            "Programs that the stage runs, except programs that take less than 2 % of the device's time.",
        ),
        |it| text(&it.programs.join(", ")),
    ),
    (Column::of_field("runs_per_step", "Runs", Unit::Number, "pipeline.stages[].runs_per_step"), |it| {
        Cell::Float(it.runs_per_step)
    }),
    (Column::of_field("work_us", "Work", Unit::TimeUs, "pipeline.stages[].work_us"), |it| Cell::Float(it.work_us)),
    (Column::of_field("bubble_us", "Bubble", Unit::TimeUs, "pipeline.stages[].bubble_us"), |it| {
        Cell::Float(it.bubble_us)
    }),
    (Column::of_field("bubble_percent", "Bubble, share", Unit::Percent, "pipeline.stages[].bubble_percent"), |it| {
        Cell::Float(it.bubble_percent)
    }),
    (Column::of_field("fill_us", "Fill", Unit::TimeUs, "pipeline.stages[].fill_us"), |it| Cell::Float(it.fill_us)),
    (Column::of_field("drain_us", "Drain", Unit::TimeUs, "pipeline.stages[].drain_us"), |it| Cell::Float(it.drain_us)),
    (Column::of_field("communication_us", "Communication", Unit::TimeUs, "pipeline.stages[].communication_us"), |it| {
        Cell::Float(it.communication_us)
    }),
];

/// Returns a row for each stage.
fn table(profile: &UnifiedProfile) -> Table {
    of_rows("pipeline", &COLUMNS, profile.pipeline.iter().flat_map(|pipeline| &pipeline.stages))
}
