//! Memory of the runs side by side: totals and classes, then the buffers and lines of code that
//! were added or removed.

use super::super::{Block, Grid, GridCell};
use super::{name, run_columns};
use crate::export::comparison::memory;
use compare::Comparison;

/// Returns both grids. Empty if the memory of fewer than two runs is known.
pub(super) fn blocks(comparison: &Comparison) -> Vec<Block> {
    [figures(comparison), changes(comparison)].into_iter().flatten().map(Block::Grid).collect()
}

/// Returns one row per figure, with one column per run.
pub(super) fn figures(comparison: &Comparison) -> Option<Grid> {
    let rows: Vec<_> = memory::figures(comparison).into_iter().map(cells).collect();
    let columns = [String::new()].into_iter().chain(run_columns(comparison)).collect();
    (!rows.is_empty()).then(|| Grid { title: memory::heading(comparison).to_owned(), columns, rows })
}

/// Lists buffers and lines of code that changed against the baseline.
pub(super) fn changes(comparison: &Comparison) -> Option<Grid> {
    let found = comparison.memory.as_ref()?;
    let others = (0..comparison.runs.len() as u32).filter(|run| *run != comparison.baseline);
    let rows: Vec<_> = others
        .flat_map(|run| {
            let changes = memory::changes(found, run).into_iter();
            changes.map(move |change| cells(vec![name(comparison, run), change]))
        })
        .collect();
    let columns = ["Run", "Change against the baseline"].map(str::to_owned).to_vec();
    (!rows.is_empty()).then(|| Grid { title: "Memory that came and went".to_owned(), columns, rows })
}

fn cells(texts: Vec<String>) -> Vec<GridCell> {
    texts.into_iter().map(|text| GridCell { text, ..GridCell::default() }).collect()
}
