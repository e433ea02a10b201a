//! Phases of the training step and layers of the model, side by side.

use super::{Block, Grid, GridCell, delta_cell, has_many, headings, largest, name_of, note, others, words};
use base::format;
use compare::{Comparison, LayerChange, LayerKind};
use document::{Judgement, Place, Section};
use report::Phase;

/// Maximum number of layers that are shown for each run. The JSON contains all layers.
const MOST_ROWS: usize = 40;

/// Returns the time by phase and layer. Empty unless the ops of both runs have framework paths.
pub(super) fn section(comparison: &Comparison) -> Section {
    let mut blocks = Vec::new();
    let has_runs = others(comparison).count() > 1;
    for run in others(comparison) {
        for kind in [LayerKind::Phase, LayerKind::Layer] {
            let of_run = || comparison.layers.iter().filter(|it| it.run == run && it.kind == kind);
            let is_told = |it: &&LayerChange| of_run().any(|other| repeats(it, other));
            let changes: Vec<&LayerChange> = of_run().filter(|it| !is_told(it)).take(MOST_ROWS).collect();
            if !changes.is_empty() {
                blocks.push(Block::Grid(grid(comparison, run, kind, &changes, has_runs)));
            }
        }
    }
    let is_partial = |it: &LayerChange| it.time_us.contains(&None);
    if comparison.layers.iter().any(is_partial) {
        let text = "not listed: the layer is not in the program, or takes less than 0.5 % of the op time.";
        blocks.push(note(&[text.to_owned()]));
    }
    let place = if has_many(comparison) { Place::Appendix } else { Place::Detail };
    super::section("layers", &format!("Time by phase and layer, {}", words::time_basis(comparison)), place, blocks)
}

/// Returns true if `change` takes all of the time of the enclosing layer `around`. Usually, `change` is then the
/// layer's only primitive.
fn repeats(change: &LayerChange, around: &LayerChange) -> bool {
    let outer = change.name.rsplit_once('/').map(|(outer, _)| outer);
    outer == Some(around.name.as_str()) && change.time_us == around.time_us
}

fn grid(comparison: &Comparison, run: u32, kind: LayerKind, changes: &[&LayerChange], has_runs: bool) -> Grid {
    let [ours, baseline] = [run, comparison.baseline].map(|run| name_of(comparison, run));
    let most = largest(changes.iter().filter_map(|change| change.delta_us_per_step));
    let first = if kind == LayerKind::Phase { "Phase" } else { "Layer" };
    Grid {
        title: if has_runs { format!("{first}s of {ours} against {baseline}") } else { String::new() },
        columns: headings(&[first, "Difference", "Change", baseline, ours]),
        rows: changes.iter().map(|change| row(comparison, change, most)).collect(),
    }
}

fn row(comparison: &Comparison, change: &LayerChange, most: f64) -> Vec<GridCell> {
    let name = match change.kind {
        LayerKind::Phase => Phase::ALL.iter().find(|it| it.key() == change.name).map_or("", |it| it.title()),
        LayerKind::Layer => change.name.as_str(),
    };
    let [ours, theirs] = change.time_us.map(|time| time.map_or_else(|| "not listed".to_owned(), format::time_us));
    let delta = match change.delta_us_per_step {
        Some(delta) => delta_cell(judgement(comparison, change, delta), delta, most),
        None => GridCell::text(format::DASH),
    };
    vec![
        GridCell { note: notes(change), ..GridCell::text(name) },
        delta,
        GridCell::text(&relative(change)),
        GridCell::text(&theirs),
        GridCell::text(&ours),
    ]
}

/// Judges a difference by the noise if the noise is known, and otherwise by the threshold.
fn judgement(comparison: &Comparison, change: &LayerChange, delta: f64) -> Judgement {
    let least = change.time_us.iter().flatten().fold(f64::INFINITY, |least, time| least.min(*time));
    let is_noise = match change.margin_us {
        Some(margin) => delta.abs() <= margin,
        None => delta.abs() < comparison.threshold * least,
    };
    if is_noise && delta != 0.0 { Judgement::Noise } else { Judgement::of_time(delta) }
}

/// Returns the difference in percent of the baseline's time.
fn relative(change: &LayerChange) -> String {
    match (change.delta_us_per_step, change.time_us) {
        (Some(delta), [_, Some(theirs)]) if theirs > 0.0 && delta != 0.0 => {
            let sign = if delta > 0.0 { "+" } else { words::MINUS };
            format!("{sign}{}", format::percent(100.0 * delta.abs() / theirs))
        }
        _ => String::new(),
    }
}

/// Describes the number of layers, the program in the baseline and the exposed communication.
fn notes(change: &LayerChange) -> String {
    let members = match change.members {
        [0, members] | [members, 0] if members > 1 => Some(format!("{} layers", format::count(members))),
        [ours, theirs] if ours != theirs && ours > 0 && theirs > 0 => {
            Some(format!("{} → {} layers", format::count(theirs), format::count(ours)))
        }
        [ours, _] if ours > 1 => Some(format!("{} layers", format::count(ours))),
        _ => None,
    };
    let renamed = change.baseline_name.as_ref().map(|name| format!("was {name}"));
    let exposed = change.exposed_us.filter(|exposed| exposed.iter().any(|time| *time > 0.0));
    let exposed = exposed
        .map(|[ours, theirs]| format!("exposed communication {} → {}", format::time_us(theirs), format::time_us(ours)));
    [members, renamed, exposed].into_iter().flatten().collect::<Vec<_>>().join(", ")
}
