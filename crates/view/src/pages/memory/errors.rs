//! The text of an out-of-memory error: what was needed, what there was, and the largest buffers.

use memory::{ListedBuffer, OutOfMemory};

use super::super::{Block, Figure, PageQuery, Status};
use super::KeptMemory;
use super::figures::bytes_figure;
use super::{owners, tables};
use base::format;

/// The blocks; none where the run is no such text.
pub fn blocks(kept: &KeptMemory, query: &PageQuery) -> Vec<Block> {
    let recorded = kept.recorded();
    let reports = recorded.errors();
    let mut blocks = Vec::new();
    for report in &reports {
        blocks.push(Block::Heading { text: format!("Out of memory: {}", report.space_name()), note: None });
        blocks.push(Block::Figures { figures: figures(report) });
        let listed = report.buffers.iter().map(ListedBuffer::as_peak_buffer).collect();
        let title = format!("The largest buffers, by class and scope: {}", format::printable(&report.space_name()));
        blocks.push(Block::Icicle(owners::at_peak(title, report.peak_bytes(), listed)));
    }
    if !reports.is_empty() {
        blocks.extend(tables::buffers(kept, query));
    }
    blocks
}

fn figures(report: &OutOfMemory) -> Vec<Figure> {
    // What was asked for on top of what was in use, where an allocator says it: that did not fit, and not the program alone.
    let in_use = report.in_use_bytes.zip(report.requested_bytes);
    let needed_bytes = in_use.map_or(report.peak_bytes(), |(in_use, requested)| in_use.saturating_add(requested));
    let over = report.capacity_bytes.map(|capacity| needed_bytes.saturating_sub(capacity));
    let listed = report.buffers.len();
    let needed = Figure {
        status: Some(Status::Bad),
        limits: "It did not fit.".to_owned(),
        ..bytes_figure(
            "Needed",
            needed_bytes,
            over.filter(|&over| over > 0)
                .map_or_else(|| "in all".to_owned(), |over| format!("{} more than there is", format::bytes(over))),
        )
    };
    let rest = [
        ("Capacity", report.capacity_bytes, "what the memory holds".to_owned()),
        ("In use", report.in_use_bytes, "when it failed".to_owned()),
        ("Asked for", report.requested_bytes, "by the allocation that failed".to_owned()),
        ("Program", in_use.map(|_| report.peak_bytes()), "needed by the program alone".to_owned()),
        ("Listed", Some(report.listed_bytes()), format!("by the text: its {listed} largest buffers")),
    ];
    let rest = rest.into_iter().filter_map(|(label, bytes, note)| Some(bytes_figure(label, bytes?, note)));
    std::iter::once(needed).chain(rest).collect()
}
