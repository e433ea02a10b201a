//! Comparison: the answer in sentences, the causes, and every number with one column per run.
//!
//! [`sections`] is the only list of the contents of a comparison. The page, terminal output, Markdown and the HTML
//! report show the same sections. The sections only display a [`Comparison`], and do not compute the winner or the
//! noise. A word, a sign and a symbol show which number is better. The colour only repeats this information.

mod changes;
mod conditions;
mod front;
mod layers;
mod memory;
mod numbers;
mod parts;
mod programs;
mod scaling;
mod trend;
pub mod words;

#[cfg(test)]
mod tests;

use compare::Comparison;
use document::{Block, CellStatus, Grid, GridCell, Judgement, Page, Place, Section};
use table::Filter;

/// Maximum number of runs that are shown side by side as columns. A table of more runs has one row per run.
const BESIDE: usize = 3;

/// Returns the page. `filter` selects ops and kernels. Details are folded.
pub fn page(comparison: &Comparison, filter: &str) -> Page {
    let filter = Filter::parse(filter);
    let shown = sections(comparison, Some(&filter)).into_iter().filter(|section| !section.is_empty());
    Page { blocks: shown.flat_map(on_page).collect() }
}

fn on_page(section: Section) -> Vec<Block> {
    let Section { title, mut blocks, place, .. } = section;
    if place >= Place::Detail {
        return vec![Block::Fold { title, blocks }];
    }
    if !title.is_empty() {
        blocks.insert(0, Block::Heading { text: title, note: None });
    }
    blocks
}

/// Returns all sections, most important first. `filter` selects ops and kernels. Sections without content have no blocks.
pub fn sections(comparison: &Comparison, filter: Option<&Filter>) -> Vec<Section> {
    let mut sections = vec![front::section(comparison)];
    sections.extend(scaling::sections(comparison));
    sections.extend(trend::sections(comparison));
    sections.push(parts::section(comparison));
    sections.push(numbers::key_numbers(comparison));
    sections.push(conditions::section(comparison));
    sections.push(memory::section(comparison));
    sections.push(changes::causes(comparison));
    sections.push(layers::section(comparison));
    sections.push(changes::ops(comparison, filter));
    sections.push(changes::kernels(comparison, filter));
    sections.push(programs::section(comparison));
    sections.push(numbers::step_times(comparison));
    sections.push(numbers::scored(comparison));
    sections.push(numbers::not_scored(comparison));
    sections.push(changes::categories(comparison));
    sections.push(changes::collectives(comparison));
    sections.push(changes::matching(comparison));
    sections
}

/// Returns the indices of the runs other than the baseline that are compared in detail.
pub fn others(comparison: &Comparison) -> impl Iterator<Item = u32> {
    let baseline = comparison.baseline;
    comparison.detailed().into_iter().filter(move |run| *run != baseline)
}

/// Returns the name of a run.
pub fn name_of(comparison: &Comparison, run: u32) -> &str {
    comparison.runs.get(run as usize).map_or("", |run| run.name.as_str())
}

/// Returns the names of all runs as headings, with the baseline marked.
fn run_columns(comparison: &Comparison) -> impl Iterator<Item = String> {
    (0..).zip(&comparison.runs).map(|(index, run)| match index == comparison.baseline {
        true => format!("◆ {} (baseline)", run.name),
        false => run.name.clone(),
    })
}

/// Returns true if too many runs are compared to show the details of each.
fn has_many(comparison: &Comparison) -> bool {
    others(comparison).count() >= BESIDE
}

fn headings(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

fn section(id: &'static str, title: &str, place: Place, blocks: Vec<Block>) -> Section {
    Section { id, title: title.to_owned(), blocks, place }
}

/// Returns a block of text with one sentence per line.
fn note(sentences: &[String]) -> Block {
    Block::Note { text: sentences.iter().map(|it| it.replace('\n', " ")).collect::<Vec<_>>().join("\n") }
}

/// Returns the cell of a difference in time, with a bar relative to the largest.
fn delta_cell(judgement: Judgement, delta_us: f64, largest_us: f64) -> GridCell {
    GridCell {
        text: format!("{} {}", judgement.symbol(), words::delta_us(delta_us)),
        status: status(judgement),
        bar: (largest_us > 0.0).then(|| (delta_us.abs() / largest_us).min(1.0)),
        ..GridCell::default()
    }
}

/// Returns the largest absolute value.
fn largest(values: impl Iterator<Item = f64>) -> f64 {
    values.map(f64::abs).filter(|value| value.is_finite()).fold(0.0, f64::max)
}

/// Returns the colour of a judgement.
fn status(judgement: Judgement) -> Option<CellStatus> {
    match judgement {
        Judgement::Better => Some(CellStatus::Better),
        Judgement::Worse => Some(CellStatus::Worse),
        Judgement::Same | Judgement::Noise | Judgement::Unknown => None,
    }
}
