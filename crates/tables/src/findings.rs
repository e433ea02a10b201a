//! Table of findings: recommended actions, with their evidence.

use super::profile_table::{ProfileColumns, float, of_rows, text};
use crate::record::{Made, TableRecord};
use crate::shown::Shown;
use report::{Evidence, Finding, UnifiedProfile};
use table::{Cell, Column, Table, Unit, column, columns};

pub(super) const TABLE: TableRecord = TableRecord {
    shown: Shown {
        leading: &["severity", "title", "message", "remedy", "time_at_stake_percent"],
        has_sentences: true,
        ..Shown::WHOLE
    },
    ..TableRecord::new("findings", || columns(&COLUMNS), Made::Profile(table))
};

pub(super) static COLUMNS: ProfileColumns<Finding, 8> = [
    (Column::of_field("severity", "Severity", Unit::Text, "findings[].severity"), |it| text(it.severity.label())),
    (Column::of_field("id", "Rule", Unit::Text, "findings[].id"), |it| text(&it.id)),
    (Column::of_field("title", "Finding", Unit::Text, "findings[].title"), |it| text(&it.title)),
    (Column::of_field("message", "What was seen", Unit::Text, "findings[].message"), |it| text(&it.message)),
    (Column::of_field("remedy", "What to do", Unit::Text, "findings[].remedy"), |it| text(&it.remedy)),
    (Column::of_field("confidence", "Confidence", Unit::Text, "findings[].confidence"), |it| {
        text(it.confidence.label())
    }),
    (Column::of_field("time_at_stake_percent", "Impact", Unit::Percent, "findings[].time_at_stake_percent"), |it| {
        float(it.time_at_stake_percent)
    }),
    (
        column(
            "evidence",
            "Evidence",
            Unit::Text,
            "Names and values of the evidence, as `name = \
            value`.",
        ),
        |it| Cell::Text(it.evidence.iter().map(evidence).collect::<Vec<_>>().join(", ")),
    ),
];

/// Returns every finding of a profile, even of an imported one.
pub(crate) fn table(profile: &UnifiedProfile) -> Table {
    of_rows("findings", &COLUMNS, &profile.findings)
}

fn evidence(it: &Evidence) -> String {
    format!("{} = {}", it.name, it.value)
}
