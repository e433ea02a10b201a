//! Table of the phases of an inference engine.

use super::profile_table::{ProfileColumns, float, int, of_rows, optional_text, text};
use crate::record::{Made, TableRecord};
use crate::shown::{RowKey, Shown};
use report::{PhaseStats, UnifiedProfile};
use table::{Cell, Column, Table, Unit, columns};

pub(super) const TABLE: TableRecord = TableRecord {
    shown: Shown { row_keys: &[RowKey::new("phase", &["phase"])], ..Shown::WHOLE },
    ..TableRecord::new("serving", || columns(&COLUMNS), Made::Profile(table))
};

static COLUMNS: ProfileColumns<PhaseStats, 22> = [
    (Column::of_field("phase", "Phase", Unit::Text, "serving.phases[].phase"), |it| text(&it.phase)),
    (Column::of_field("passes", "Passes", Unit::Count, "serving.phases[].passes"), |it| Cell::Int(it.passes)),
    (Column::of_field("total_time_us", "Time", Unit::TimeUs, "serving.phases[].total_time_us"), |it| {
        Cell::Float(it.total_time_us)
    }),
    (Column::of_field("time_percent", "Share", Unit::Percent, "serving.phases[].time_percent"), |it| {
        Cell::Float(it.time_percent)
    }),
    (Column::of_field("avg_time_us", "Mean", Unit::TimeUs, "serving.phases[].avg_time_us"), |it| {
        Cell::Float(it.avg_time_us)
    }),
    (Column::of_field("median_time_us", "Median", Unit::TimeUs, "serving.phases[].median_time_us"), |it| {
        Cell::Float(it.median_time_us)
    }),
    (Column::of_field("p95_time_us", "95th percentile", Unit::TimeUs, "serving.phases[].p95_time_us"), |it| {
        Cell::Float(it.p95_time_us)
    }),
    (Column::of_field("max_time_us", "Longest", Unit::TimeUs, "serving.phases[].max_time_us"), |it| {
        Cell::Float(it.max_time_us)
    }),
    (Column::of_field("idle_percent", "Idle", Unit::Percent, "serving.phases[].idle_percent"), |it| {
        Cell::Float(it.idle_percent)
    }),
    (Column::of_field("avg_requests", "Requests", Unit::Number, "serving.phases[].avg_requests"), |it| {
        float(it.avg_requests)
    }),
    (Column::of_field("prefill_tokens", "Prompt tokens", Unit::Count, "serving.phases[].prefill_tokens"), |it| {
        int(it.prefill_tokens)
    }),
    (Column::of_field("decode_tokens", "Decoded tokens", Unit::Count, "serving.phases[].decode_tokens"), |it| {
        int(it.decode_tokens)
    }),
    (Column::of_field("tokens_per_sec", "Tokens/s", Unit::TokensPerSecond, "serving.phases[].tokens_per_sec"), |it| {
        float(it.tokens_per_sec)
    }),
    (Column::of_field("median_gap_us", "Median gap", Unit::TimeUs, "serving.phases[].median_gap_us"), |it| {
        float(it.median_gap_us)
    }),
    (Column::of_field("p95_gap_us", "95th percentile of gaps", Unit::TimeUs, "serving.phases[].p95_gap_us"), |it| {
        float(it.p95_gap_us)
    }),
    (Column::of_field("max_gap_us", "Longest gap", Unit::TimeUs, "serving.phases[].max_gap_us"), |it| {
        float(it.max_gap_us)
    }),
    (Column::of_field("gap_percent", "Gaps", Unit::Percent, "serving.phases[].gap_percent"), |it| {
        float(it.gap_percent)
    }),
    (Column::of_field("gap_cause", "Cause of gaps", Unit::Text, "serving.phases[].gap_cause"), |it| {
        optional_text(&it.gap_cause)
    }),
    (
        Column::of_field("gap_cause_percent", "Share of cause", Unit::Percent, "serving.phases[].gap_cause_percent"),
        |it| float(it.gap_cause_percent),
    ),
    (Column::of_field("graph_launches", "Graph launches", Unit::Number, "serving.phases[].graph_launches"), |it| {
        float(it.graph_launches)
    }),
    (Column::of_field("graph_kernels", "Ops in graphs", Unit::Number, "serving.phases[].graph_kernels"), |it| {
        float(it.graph_kernels)
    }),
    (Column::of_field("single_kernels", "Ops one by one", Unit::Number, "serving.phases[].single_kernels"), |it| {
        float(it.single_kernels)
    }),
];

/// Returns a row for each phase with counted passes.
fn table(profile: &UnifiedProfile) -> Table {
    of_rows("serving", &COLUMNS, profile.serving.iter().flat_map(|serving| &serving.phases))
}
