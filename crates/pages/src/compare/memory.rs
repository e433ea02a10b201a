//! Memory of the runs side by side: totals and classes, then the buffers and lines of code that were added or removed.

use super::{Block, Grid, GridCell, name_of, others, run_columns};
use base::format;
use compare::{Comparison, MemoryBuffersChange, MemoryComparison};
use document::{Place, Section};

/// Maximum number of buffers that are shown for each run.
const BUFFERS: usize = 8;

/// Returns the figures, and the changes of each run. Empty if the memory of fewer than two runs is known.
pub(super) fn section(comparison: &Comparison) -> Section {
    let rows: Vec<_> = figures(comparison).into_iter().map(cells).collect();
    let columns = [String::new()].into_iter().chain(run_columns(comparison)).collect();
    let mut blocks = Vec::new();
    if !rows.is_empty() {
        blocks.push(Block::Grid(Grid { title: String::new(), columns, rows }));
    }
    let found =
        comparison.memory.iter().flat_map(|found| others(comparison).map(move |run| (run, changes(found, run))));
    let has_runs = others(comparison).count() > 1;
    let rows: Vec<_> = found
        .flat_map(|(run, changes)| {
            let name = has_runs.then(|| name_of(comparison, run).to_owned());
            changes.into_iter().map(move |change| cells([change].into_iter().chain(name.clone()).collect()))
        })
        .collect();
    if !rows.is_empty() {
        let mut columns = vec![String::new()];
        columns.extend(has_runs.then(|| "Run".to_owned()));
        blocks.push(Block::Grid(Grid { title: "Changes against the baseline".to_owned(), columns, rows }));
    }
    let place = if comparison.is_of_memory_alone() { Place::Front } else { Place::Detail };
    let title = if blocks.is_empty() { "" } else { heading(comparison) };
    super::section("memory", title, place, blocks)
}

fn cells(texts: Vec<String>) -> Vec<GridCell> {
    texts.into_iter().map(|text| GridCell { text, ..GridCell::default() }).collect()
}

/// Returns one row per figure. The first cell is the figure's name. Empty if the memory is unknown.
fn figures(comparison: &Comparison) -> Vec<Vec<String>> {
    let Some(memory) = &comparison.memory else { return Vec::new() };
    let bytes = |value: &Option<u64>| value.map_or_else(|| format::DASH.to_owned(), format::bytes);
    let mut rows = Vec::new();
    if !memory.live_bytes.is_empty() {
        rows.push(named("Live memory", memory.live_bytes.iter().map(bytes)));
    }
    if memory.peak_bytes.iter().any(Option::is_some) {
        rows.push(named("Peak", memory.peak_bytes.iter().map(bytes)));
    }
    if memory.peak_percent.iter().any(Option::is_some) {
        rows.push(named("Share of capacity", memory.peak_percent.iter().map(|it| format::optional_percent(*it))));
    }
    rows.extend(
        memory.classes.iter().map(|class| named(&class.class, class.bytes.iter().map(|it| format::bytes(*it)))),
    );
    rows
}

fn named(name: &str, values: impl Iterator<Item = String>) -> Vec<String> {
    [format::printable(name)].into_iter().chain(values).collect()
}

fn heading(comparison: &Comparison) -> &'static str {
    let has_peaks = comparison.memory.as_ref().is_some_and(|memory| memory.peak_bytes.iter().any(Option::is_some));
    if has_peaks { "Memory at the peak" } else { "Live memory" }
}

/// Returns a text for each group of buffers and each line of code whose memory differs from its memory in the baseline.
fn changes(memory: &MemoryComparison, run: u32) -> Vec<String> {
    let buffers = memory.buffers.iter().filter(|it| it.run == run).take(BUFFERS).map(line);
    let lines = memory.lines.iter().filter(|it| it.run == run).take(BUFFERS);
    buffers.chain(lines.map(|it| format::printable(&it.text()))).collect()
}

/// Describes the change of a group of buffers: `+2 f32[2048,1024] activation of layers/mlp: +16.0
/// MiB`.
fn line(change: &MemoryBuffersChange) -> String {
    let sign = |value: i64| if value < 0 { '-' } else { '+' };
    let scope =
        if change.scope.is_empty() { String::new() } else { format!(" of {}", format::shorten(&change.scope, 60)) };
    let text = format!(
        "{}{} {} {}{scope}: {}{}",
        sign(change.count_change),
        format::count(change.count_change.unsigned_abs()),
        change.shape,
        change.class,
        sign(change.bytes_change),
        format::bytes(change.bytes_change.unsigned_abs())
    );
    format::printable(&text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use ::compare::example::comparison;

    #[test]
    fn figures_are_side_by_side_and_changes_have_signs() {
        let comparison = comparison();
        let rows = figures(&comparison);
        let expected = [
            ["Peak", "3.00 GiB", "2.00 GiB"],
            ["Share of capacity", "75.0 %", "–"],
            ["activation", "2.00 GiB", "1.00 GiB"],
        ];
        assert_eq!(rows, expected.map(|row| row.map(str::to_owned).to_vec()));
        let lines = comparison.memory.as_ref().map(|memory| changes(memory, 1)).unwrap_or_default();
        assert_eq!(lines, ["-2 f32[8,1024] activation of <img onerror=x>\\u{1b}[2J: -1.00 GiB"]);
        assert!(comparison.memory.is_some_and(|memory| changes(&memory, 0).is_empty()), "the baseline itself");
    }
}
