//! Beginning of a comparison: the verdict with the step times, the cost, the limits of the verdict, the phases of a step if
//! the platforms differ, and the causes.

use super::{Block, Grid, GridCell, name_of, note, numbers, others, run_columns, status, words};
use base::format;
use compare::{ComparedMetric, Comparison, PhaseChange};
use document::{Judgement, Place, Section};

/// Maximum number of runs whose phases are shown. The JSON contains the phases of all runs.
const PHASES: usize = 3;

/// Returns the blocks, most important first. A caveat appears only once.
pub(super) fn section(comparison: &Comparison) -> Section {
    let answer = &comparison.answer;
    let mut blocks = vec![note(&answer.verdict)];
    blocks.extend(chosen(comparison).map(|text| Block::Note { text }));
    if !comparison.step_time.is_empty() {
        blocks.push(Block::Figures { figures: numbers::figures(comparison) });
    }
    let costs: Vec<&ComparedMetric> =
        comparison.costs.iter().filter(|it| it.values.iter().any(Option::is_some)).collect();
    if !costs.is_empty() {
        blocks.push(Block::Grid(cost_grid(comparison, &costs)));
    }
    if !answer.caveats.is_empty() {
        blocks.extend([heading("Caveats"), note(&answer.caveats)]);
    }
    blocks.extend(others(comparison).take(PHASES).filter_map(|run| phases(comparison, run)).map(Block::Grid));
    if !answer.causes.is_empty() {
        blocks.extend([heading("Causes"), note(&answer.causes)]);
    }
    super::section("summary", "", Place::Front, blocks)
}

/// States how many runs are compared in detail. Returns `None` if all runs are compared in detail.
fn chosen(comparison: &Comparison) -> Option<String> {
    let (chosen, all) = (comparison.detailed().len(), comparison.runs.len());
    (chosen < all).then(|| {
        format!(
            "{chosen} of {all} runs are compared in detail: the baseline, the first and the last, those at which \
                the step time changes, and outliers. The trend shows all runs."
        )
    })
}

fn heading(text: &str) -> Block {
    Block::Heading { text: text.to_owned(), note: None }
}

fn cost_grid(comparison: &Comparison, costs: &[&ComparedMetric]) -> Grid {
    let row = |metric: &&ComparedMetric| {
        let values = words::values(&metric.values, &metric.unit).into_iter().zip(0..).map(|(text, run)| {
            let said = words::verdict(metric, run).filter(|_| run != comparison.baseline);
            let status = said.as_ref().and_then(|(judgement, _)| status(*judgement));
            let note = said.map(|(judgement, said)| format!("{} {said}", judgement.symbol())).unwrap_or_default();
            GridCell { text, note, status, ..GridCell::default() }
        });
        [GridCell::text(&metric.title)].into_iter().chain(values).collect()
    };
    Grid {
        title: "Cost and energy".to_owned(),
        columns: [String::new()].into_iter().chain(run_columns(comparison)).collect(),
        rows: costs.iter().map(row).collect(),
    }
}

/// Returns the step phases of a run next to the phases of the baseline. Returns `None` if the ops of both runs have the
/// same names.
fn phases(comparison: &Comparison, run: u32) -> Option<Grid> {
    let of_run: Vec<&PhaseChange> = comparison.phases.iter().filter(|phase| phase.run == run).collect();
    let [name, baseline] = [run, comparison.baseline].map(|run| name_of(comparison, run).to_owned());
    // If the work differs, the time of a run is neither better nor worse.
    let is_judged = !comparison.is_of_other_work(run);
    let row = |phase: &&PhaseChange| {
        let judgement = Judgement::of_time(phase.run_us - phase.baseline_us);
        let ratio = phase.ratio.map_or_else(|| format::DASH.to_owned(), words::times);
        let status = status(judgement).filter(|_| is_judged && phase.ratio.is_some());
        vec![
            GridCell::text(&phase.title),
            GridCell::text(&format::time_us(phase.baseline_us)),
            GridCell::text(&format::time_us(phase.run_us)),
            GridCell { status, ..GridCell::text(&ratio) },
        ]
    };
    let time = words::time_of_parts(comparison, run);
    (!of_run.is_empty()).then(|| Grid {
        title: format!("{time} by phase, per device: computation split by the self time of its ops"),
        columns: vec!["Phase".to_owned(), baseline.clone(), name.clone(), format!("{name} / {baseline}")],
        rows: of_run.iter().map(row).collect(),
    })
}
