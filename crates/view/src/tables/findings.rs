//! What to do, with the numbers it rests on.

use crate::table::{Cell, Column, Table, Unit};
use report::{Evidence, UnifiedProfile};

/// Every finding of a profile, also of an imported one.
pub fn table(profile: &UnifiedProfile) -> Table {
    let column = |key, title, unit| Column { key, title, unit };
    let rows = profile.findings.iter().map(|finding| {
        vec![
            Cell::Text(finding.severity.label().to_owned()),
            Cell::Text(finding.id.clone()),
            Cell::Text(finding.title.clone()),
            Cell::Text(finding.message.clone()),
            Cell::Text(finding.remedy.clone()),
            Cell::Text(finding.confidence.label().to_owned()),
            finding.time_at_stake_percent.map_or(Cell::Absent, Cell::Float),
            Cell::Text(finding.evidence.iter().map(evidence).collect::<Vec<_>>().join(", ")),
        ]
    });
    let columns = vec![
        column("severity", "Severity", Unit::Text),
        column("id", "Rule", Unit::Text),
        column("title", "Finding", Unit::Text),
        column("message", "What was seen", Unit::Text),
        column("remedy", "What to do", Unit::Text),
        column("confidence", "Confidence", Unit::Text),
        column("time_at_stake_percent", "At stake", Unit::Percent),
        column("evidence", "Evidence", Unit::Text),
    ];
    Table::new("findings", columns, rows.collect())
}

fn evidence(it: &Evidence) -> String {
    format!("{} = {}", it.name, it.value)
}
