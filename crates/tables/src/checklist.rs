//! Assessments as a table: every question with its answer, its level and its limits.

use super::profile_table::{ProfileColumns, float, of_rows, text};
use crate::record::{Made, TableRecord};
use crate::shown::Shown;
use assessments::Assessment;
use report::UnifiedProfile;
use table::{Cell, Table, Unit, column, columns, unit};

pub(super) const TABLE: TableRecord = TableRecord {
    shown: Shown {
        leading: &["question", "judgement", "shown", "answer", "remedy"],
        has_sentences: true,
        ..Shown::WHOLE
    },
    ..TableRecord::new("checklist", || columns(&COLUMNS), Made::Profile(table))
};

/// Creates a text cell, or an absent cell if the text is empty.
fn some_text(value: &str) -> Cell {
    if value.is_empty() { Cell::Absent } else { text(value) }
}

pub(super) static COLUMNS: ProfileColumns<Assessment, 11> = [
    (column("id", "Check", Unit::Text, "Key of the check: `device_utilization`."), |it| text(it.id)),
    (column("question", "Question", Unit::Text, "Question of the guide."), |it| text(it.question)),
    (
        column(
            "judgement",
            "Judgement",
            Unit::Text,
            "`good`, `note`, `warning`, `bad`, `not judged` or `not measured`. Comes from the finding about the same \
                fact, if there is one.",
        ),
        |it| {
            let unjudged = if it.value.is_some() { "not judged" } else { "not measured" };
            text(it.level.map_or(unjudged, report::Level::label))
        },
    ),
    (column("limits", "Limits", Unit::Text, "Limits of the judgement, unless a finding covers the same fact."), |it| {
        some_text(&it.limits)
    }),
    (column("answer", "Answer", Unit::Text, "Sentence with the number, or the reason why there is no number."), |it| {
        text(&it.answer)
    }),
    (column("remedy", "What to do", Unit::Text, "Recommended action, or how to capture the missing data."), |it| {
        some_text(&it.remedy)
    }),
    (column("shown", "Value", Unit::Text, "Rounded number with its unit."), |it| match it.value {
        Some(value) => Cell::Text(unit::short(value, it.unit)),
        None => Cell::Absent,
    }),
    (column("number", "What the value is", Unit::Text, "Description of the number."), |it| text(it.number)),
    (column("value", "Exact value", Unit::Number, "Number in the unit of its metric."), |it| float(it.value)),
    (column("metric", "Metric", Unit::Text, "Path of the number in the unified profile."), |it| {
        some_text(it.metric.map_or("", |metric| metric.path))
    }),
    (column("view", "View", Unit::Text, "View with the details."), |it| text(it.view.key())),
];

/// Returns the table: every question, even for an imported profile.
pub(super) fn table(profile: &UnifiedProfile) -> Table {
    of_rows("checklist", &COLUMNS, &assessments::all(profile))
}
