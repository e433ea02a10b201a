//! Out-of-memory error: the memory needed, the memory available, and the largest buffers.

use memory::{ListedBuffer, OutOfMemory};

use super::figures::bytes_figure;
use super::{KeptMemory, owners, table_blocks};
use crate::PageQuery;
use base::format;
use document::{Block, Figure};
use report::Level;

/// Returns the blocks. Empty if the run is not the text of an error.
pub(super) fn blocks(kept: &KeptMemory, query: &PageQuery) -> Vec<Block> {
    let recorded = kept.recorded();
    let reports = recorded.errors();
    let mut blocks = Vec::new();
    for report in &reports {
        let note = Some(format::printable(&report.statement)).filter(|statement| !statement.is_empty());
        blocks.push(Block::Heading { text: format!("Out of memory: {}", report.space_name()), note });
        blocks.push(Block::Figures { figures: figures(report) });
        if let Some(peak) = report.program_bytes().filter(|_| !report.buffers.is_empty()) {
            let listed = report.buffers.iter().map(ListedBuffer::as_peak_buffer).collect();
            let title = format!("The largest buffers, by class and scope: {}", format::printable(&report.space_name()));
            blocks.push(Block::Icicle(owners::at_peak(title, peak, listed)));
        }
    }
    if reports.iter().any(|report| !report.buffers.is_empty()) {
        blocks.extend(table_blocks::buffers(kept, query));
    }
    blocks
}

fn figures(report: &OutOfMemory) -> Vec<Figure> {
    let peak = report.peak_bytes();
    let over = peak.zip(report.capacity_bytes).map(|(peak, capacity)| peak.saturating_sub(capacity));
    let needed = peak.map(|peak| Figure {
        level: Some(Level::Bad),
        limits: "It did not fit.".to_owned(),
        ..bytes_figure(
            "Needed",
            peak,
            over.filter(|&over| over > 0)
                .map_or_else(|| "in all".to_owned(), |over| format!("{} more than available", format::bytes(over))),
        )
    });
    let listed = report.buffers.len();
    let beside = report.program_bytes().filter(|&program| peak != Some(program));
    let padding = Some(report.padding_bytes()).filter(|&bytes| bytes > 0);
    let rest = [
        ("Padding", padding, "of layouts, included in the needed memory".to_owned()),
        ("Requested", report.requested_bytes, "by the allocation that failed".to_owned()),
        ("Capacity", report.capacity_bytes, "size of the memory".to_owned()),
        ("In use", report.in_use_bytes, "when it failed".to_owned()),
        ("Free", report.free_bytes, "when it failed".to_owned()),
        ("Largest free block", report.largest_free_bytes, "an allocation must fit into one block".to_owned()),
        ("Program", beside, "needed by the program alone".to_owned()),
        (
            "Listed",
            Some(report.listed_bytes()).filter(|_| listed > 0),
            format!(
                "in the text: its {}",
                if listed == 1 { "largest buffer".to_owned() } else { format!("{listed} largest buffers") }
            ),
        ),
    ];
    let rest = rest.into_iter().filter_map(|(label, bytes, note)| Some(bytes_figure(label, bytes?, note)));
    needed.into_iter().chain(rest).collect()
}
