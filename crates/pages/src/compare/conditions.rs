//! Conditions under which the runs were captured: which are the same, which differ, which are unknown, and what the
//! consequences are.

use super::{Block, CellStatus, Grid, GridCell, headings, words};
use base::format;
use compare::{Comparison, FairnessCheck, FairnessStatus, MOST_RUNS};
use document::{Place, Section};

/// Maximum number of runs that get one column each. For more runs, each value is shown once, with the number of runs
/// that have it.
const COLUMNS: usize = 5;

/// Returns the conditions. The conditions that differ come first.
pub(super) fn section(comparison: &Comparison) -> Section {
    // Files that contain only memory have no steps whose conditions could differ.
    let is_shown = !comparison.fairness.is_empty() && !comparison.is_of_memory_alone();
    let blocks = is_shown.then(|| Block::Grid(grid(comparison))).into_iter().collect();
    super::section("fairness", &title(comparison), Place::Appendix, blocks)
}

/// Returns the number of conditions that are the same or unknown, and the names of the conditions that differ.
fn title(comparison: &Comparison) -> String {
    let of = |status: FairnessStatus| comparison.fairness.iter().filter(move |check| check.status == status);
    let differs: Vec<String> = of(FairnessStatus::Differs).map(|check| check.title.to_lowercase()).collect();
    let names = if differs.is_empty() { String::new() } else { format!(" ({})", differs.join(", ")) };
    format!(
        "Fairness: {} of {} conditions are the same, {} differ{names}, {} are unknown",
        of(FairnessStatus::Same).count(),
        comparison.fairness.len(),
        differs.len(),
        of(FairnessStatus::Unknown).count()
    )
}

fn grid(comparison: &Comparison) -> Grid {
    let has_columns = comparison.runs.len() <= COLUMNS;
    let mut columns = headings(&["Condition", "Status"]);
    match has_columns {
        true => columns.extend(super::run_columns(comparison)),
        false => columns.push("Values".to_owned()),
    }
    columns.push("What follows".to_owned());
    let row = |check: &FairnessCheck| {
        let status = match check.status {
            FairnessStatus::Same => CellStatus::Same,
            FairnessStatus::Differs => CellStatus::Warning,
            FairnessStatus::Unknown => CellStatus::Unknown,
        };
        let values: Vec<&str> = check.values.iter().map(|value| value.as_deref().unwrap_or(format::DASH)).collect();
        let mut row = vec![
            GridCell::text(&check.title),
            GridCell { status: Some(status), ..GridCell::text(words::fairness(check.status)) },
        ];
        match has_columns {
            true => row.extend(values.into_iter().map(GridCell::text)),
            false => row.push(GridCell::text(&counted(&values))),
        }
        row.push(GridCell::text(&check.note));
        row
    };
    let of = |status: FairnessStatus| comparison.fairness.iter().filter(move |check| check.status == status);
    let ordered = of(FairnessStatus::Differs).chain(of(FairnessStatus::Unknown)).chain(of(FairnessStatus::Same));
    Grid { title: String::new(), rows: ordered.map(row).collect(), columns }
}

/// Lists each value once with the number of runs that have it, in the order of the runs: "8 (3 runs), 16 (1 run)".
fn counted(values: &[&str]) -> String {
    let mut known: Vec<(&str, u64)> = Vec::new();
    for value in values {
        match known.iter().position(|(other, _)| other == value) {
            Some(place) => known.get_mut(place).into_iter().for_each(|(_, count)| *count += 1),
            // Thousands of runs may all have different values.
            None if known.len() == MOST_RUNS => return format!("more than {MOST_RUNS} different values"),
            None => known.push((value, 1)),
        }
    }
    match known.as_slice() {
        [(only, _)] => (*only).to_owned(),
        several => {
            let said = several.iter().map(|(value, count)| format!("{value} ({})", format::counted(*count, "run")));
            said.collect::<Vec<_>>().join(", ")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_of_many_runs_are_counted() {
        assert_eq!(counted(&["8"; 9]), "8");
        assert_eq!(counted(&["8", "16", "8"]), "8 (2 runs), 16 (1 run)");
        let all: Vec<String> = (0..2 * MOST_RUNS).map(|it| it.to_string()).collect();
        let all: Vec<&str> = all.iter().map(String::as_str).collect();
        assert_eq!(counted(&all), format!("more than {MOST_RUNS} different values"));
    }
}
