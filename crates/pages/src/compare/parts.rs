//! Differences between each run and the baseline in the exclusive parts of a step.

use super::{Block, Grid, GridCell, has_many, headings, name_of, others, words};
use base::format;
use compare::{Comparison, PartChange};
use document::{ColourClass, Place, Section, Waterfall, WaterfallPart};
use table::Unit;

/// Returns the section that compares the parts of a step between each run and the baseline.
pub(super) fn section(comparison: &Comparison) -> Section {
    let blocks: Vec<Block> = others(comparison).filter_map(|run| of_run(comparison, run)).collect();
    // The chart of a series already shows these differences.
    let is_series = comparison.scaling.is_some() || comparison.trend.is_some();
    let place = match (has_many(comparison), is_series) {
        (true, _) => Place::Appendix,
        (false, true) => Place::Detail,
        (false, false) => Place::Drawn,
    };
    let title = if blocks.is_empty() { "" } else { "Where the time differs" };
    super::section("waterfall", title, place, blocks)
}

/// Compares the parts of a run's step with the parts of the baseline's step. Returns `None` if no part differs.
fn of_run(comparison: &Comparison, run: u32) -> Option<Block> {
    let is_known = |part: &&PartChange| part.run == run && (part.baseline_us != 0.0 || part.run_us != 0.0);
    let parts: Vec<&PartChange> = comparison.waterfall.iter().filter(is_known).collect();
    let [ours, baseline] = [run, comparison.baseline].map(|run| name_of(comparison, run));
    let title = words::parts_title(comparison, run, ours, baseline);
    if comparison.is_of_other_work(run) {
        let row = |part: &&PartChange| {
            let times = [part.baseline_us, part.run_us].map(|us| GridCell::text(&format::time_us(us)));
            [GridCell::text(&part.title)].into_iter().chain(times).collect()
        };
        let rows: Vec<_> = parts.iter().map(row).collect();
        return (!rows.is_empty())
            .then(|| Block::Grid(Grid { title, columns: headings(&["Part", baseline, ours]), rows }));
    }
    let part = |part: &&PartChange| WaterfallPart {
        label: part.title.clone(),
        from: part.baseline_us,
        to: part.run_us,
        delta: part.delta_us_per_step,
        class: ColourClass::of_label(&part.class),
    };
    let [from, to] = words::sums_of_parts(comparison, run);
    parts.iter().any(|part| part.delta_us_per_step != 0.0).then(|| {
        Block::Waterfall(Waterfall {
            title,
            unit: Unit::TimeUs,
            start: (baseline.to_owned(), from),
            parts: parts.iter().map(part).collect(),
            end: (ours.to_owned(), to),
        })
    })
}
