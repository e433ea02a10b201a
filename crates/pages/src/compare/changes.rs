//! Changes inside the step: causes, ops, kernels, classes of ops, collectives, and the result of matching the ops.

use super::{
    Block, Grid, GridCell, delta_cell, has_many, headings, largest, name_of, note, others, run_columns, section, words,
};
use base::format;
use compare::{Cause, CauseKind, Change, Comparison, MOST_RUNS, MatchedBy, MatchedTime};
use document::{Judgement, Place, Section};
use table::Filter;

/// Maximum number of rows in a list of ops or kernels of one run. The JSON contains all rows.
const MOST_ROWS: usize = 40;

/// Returns the causes that the answer omits.
pub(super) fn causes(comparison: &Comparison) -> Section {
    let is_told = |cause: &Cause| comparison.summary.iter().any(|sentence| sentence.contains(&cause.text));
    let left: Vec<&Cause> = comparison.causes.iter().filter(|cause| !is_told(cause)).take(MOST_ROWS).collect();
    let most = largest(left.iter().map(|cause| cause.delta_us_per_step));
    let has_runs = others(comparison).count() > 1;
    let row = |cause: &&Cause| {
        let share = cause.percent_of_difference.map_or_else(String::new, |share| match share < 0.0 {
            true => "offsets part of the difference".to_owned(),
            false => format!("{} of the difference between the typical steps", format::percent(share)),
        });
        let difference = match cause.kind {
            CauseKind::Condition => GridCell::text(format::DASH),
            _ => {
                let judgement = Judgement::of_time(cause.delta_us_per_step);
                GridCell { note: share, ..delta_cell(judgement, cause.delta_us_per_step, most) }
            }
        };
        let mut row = vec![GridCell::text(&cause.text), difference];
        row.extend(has_runs.then(|| GridCell::text(name_of(comparison, cause.run))));
        row
    };
    let mut columns = headings(&["Cause", words::of_steps(comparison, "Per step", "Difference")]);
    columns.extend(has_runs.then(|| "Run".to_owned()));
    let grid = Grid { title: String::new(), columns, rows: left.iter().map(row).collect() };
    section("causes", "Further causes of the difference", Place::Appendix, grid_or_nothing(grid))
}

fn grid_or_nothing(grid: Grid) -> Vec<Block> {
    if grid.rows.is_empty() { Vec::new() } else { vec![Block::Grid(grid)] }
}

/// Returns the ops that differ most, and the time of unmatched ops.
pub(super) fn ops(comparison: &Comparison, filter: Option<&Filter>) -> Section {
    let mut blocks = of_runs(comparison, &comparison.ops, filter);
    blocks.extend(others(comparison).filter_map(|run| words::without_partner(comparison, run)).map(|it| note(&[it])));
    let title = format!("Ops that differ most, {}", words::time_basis(comparison));
    section("ops", &title, place(comparison), blocks)
}

/// Returns the kernels that differ most.
pub(super) fn kernels(comparison: &Comparison, filter: Option<&Filter>) -> Section {
    let title = format!("Kernels that differ most, {}", words::time_basis(comparison));
    section("kernels", &title, place(comparison), of_runs(comparison, &comparison.kernels, filter))
}

fn place(comparison: &Comparison) -> Place {
    if has_many(comparison) { Place::Appendix } else { Place::Detail }
}

/// Returns the time by class of op.
pub(super) fn categories(comparison: &Comparison) -> Section {
    let title = format!("Time by class of op, {}", words::time_basis(comparison));
    section("categories", &title, Place::Appendix, of_runs(comparison, &comparison.categories, None))
}

/// Returns a table for each run.
fn of_runs(comparison: &Comparison, changes: &[Change], filter: Option<&Filter>) -> Vec<Block> {
    let has_runs = others(comparison).count() > 1;
    let passes = |change: &&Change| {
        let path = change.framework_op.as_deref().unwrap_or("");
        filter.is_none_or(|filter| filter.passes_texts(&[&change.name, &change.family, path, change.change.label()]))
    };
    let grid = |run: u32| {
        let of_run = changes.iter().filter(|change| change.run == run && change.delta_us_per_step != 0.0);
        let shown: Vec<&Change> = of_run.filter(passes).take(MOST_ROWS).collect();
        let [ours, baseline] = [run, comparison.baseline].map(|run| name_of(comparison, run));
        let most = largest(shown.iter().map(|change| change.delta_us_per_step));
        Grid {
            title: if has_runs { format!("{ours} against {baseline}") } else { String::new() },
            columns: headings(&[
                "Name",
                "Difference",
                "Change",
                baseline,
                ours,
                words::of_steps(comparison, "Per step", "Count"),
                "Class",
            ]),
            rows: shown.into_iter().map(|change| row(change, most)).collect(),
        }
    };
    others(comparison).flat_map(|run| grid_or_nothing(grid(run))).collect()
}

fn row(change: &Change, most: f64) -> Vec<GridCell> {
    let [ours, theirs] = change.time_us.map(format::time_us);
    let [runs, before] = change.per_step.map(words::per_step);
    let exposed = change
        .exposed_us
        .map(|[ours, theirs]| format!("exposed {} → {}", format::time_us(theirs), format::time_us(ours)));
    let is_class = change.matched_by == MatchedBy::Class;
    let name = if is_class { words::class(&change.name) } else { change.title() };
    let class = if is_class { String::new() } else { words::class(&change.family) };
    vec![
        GridCell { note: how_matched(change), ..GridCell::text(&name) },
        GridCell {
            note: exposed.unwrap_or_default(),
            ..delta_cell(words::judgement_of(change), change.delta_us_per_step, most)
        },
        GridCell::text(&words::change(change)),
        GridCell::text(&theirs),
        GridCell::text(&ours),
        GridCell::text(&if runs == before { runs } else { format!("{before} → {runs}") }),
        GridCell::text(&class),
    ]
}

/// Describes how the op was matched: its name in the baseline, the matching method, and its place in the program.
fn how_matched(change: &Change) -> String {
    let renamed = change.baseline_name.as_deref().filter(|other| *other != change.name);
    let was = renamed.map(|other| format!("was {other}"));
    let matched = match change.matched_by {
        // The name alone identifies a class.
        MatchedBy::None | MatchedBy::Class => None,
        how => Some(format!("matched by {}", words::matched_by(how))),
    };
    let path = change.framework_op.clone();
    [was, matched, path].into_iter().flatten().collect::<Vec<_>>().join(", ")
}

/// Returns the kinds of communication with one column per run.
pub(super) fn collectives(comparison: &Comparison) -> Section {
    let mut columns = vec!["Collective".to_owned()];
    columns.extend(run_columns(comparison));
    let rows = comparison.collectives.iter().map(|change| {
        let mut row = vec![GridCell::text(&change.kind)];
        let most = largest(change.total_time_us.iter().copied());
        let times = change.total_time_us.iter().zip(&change.exposed_time_us);
        row.extend(change.counts.iter().zip(times).map(|(count, (total, exposed))| match count {
            0 => GridCell::text("none"),
            _ => GridCell {
                text: format!("{} times, {}", format::count(*count), format::time_us(*total)),
                note: format!("{} exposed", format::time_us(*exposed)),
                bar: (most > 0.0).then(|| (total / most).min(1.0)),
                ..GridCell::default()
            },
        }));
        row
    });
    let has_columns = comparison.runs.len() <= MOST_RUNS;
    let grid = Grid { title: String::new(), rows: rows.filter(|_| has_columns).collect(), columns };
    let title = "Communication in each run's window, over all devices";
    section("collectives", title, Place::Appendix, grid_or_nothing(grid))
}

/// Returns the result of matching the ops.
pub(super) fn matching(comparison: &Comparison) -> Section {
    let rows = comparison.matching.iter().map(|matching| {
        let how = |it: &MatchedTime| format!("{} by {}", format::time_us(it.time_us), words::matched_by(it.matched_by));
        let pair = |[ours, theirs]: [f64; 2]| format!("{} / {}", format::time_us(ours), format::time_us(theirs));
        vec![
            GridCell::text(name_of(comparison, matching.run)),
            GridCell::text(&matching.matched_us.iter().map(how).collect::<Vec<_>>().join(", ")),
            GridCell::text(&pair(matching.unmatched_us)),
            GridCell::text(&pair(matching.unlisted_us)),
        ]
    });
    let columns = headings(&["Run", "Matched", "Not matched (run / baseline)", "Not listed (run / baseline)"]);
    let title = format!("How ops were matched, self time {}", words::time_basis(comparison));
    let grid = Grid { title: String::new(), columns, rows: rows.collect() };
    section("matching", &title, Place::Appendix, grid_or_nothing(grid))
}
