//! `--from`, `--to` and `--line`: select a part of the timeline.

use crossprof::TableName;
use crossprof::tables::{AreaQuery, LineQuery};

use super::args::Table;
use super::time::Time;

/// Returns the area that the arguments select. Fails with a message if the selection is invalid.
pub(super) fn asked(command: &Table) -> Result<AreaQuery, String> {
    let Table { from, to, line, .. } = command;
    let table = command.name();
    let given = [("--from", from.is_some()), ("--to", to.is_some()), ("--line", !line.is_empty())];
    if let Some((flag, _)) = given.iter().find(|(_, given)| *given && !table.is_of_area()) {
        return Err(format!(
            "{flag}: the table {} takes no range. To choose the part that is measured, use \
            --window",
            table.key()
        ));
    }
    if command.arguments && table != TableName::Events {
        return Err("--arguments: only the table events has one event per row".to_owned());
    }
    if let (Some(Time(from_ps)), Some(Time(to_ps))) = (from, to)
        && from_ps >= to_ps
    {
        return Err("--from must be before --to".to_owned());
    }
    let lines = if line.is_empty() { LineQuery::All } else { LineQuery::Patterns(line.clone()) };
    Ok(AreaQuery { from_ps: from.map(|from| from.0), to_ps: to.map(|to| to.0), lines, counters: None })
}
