//! What the text of an out-of-memory error states, as a program that needs it and a device that lacks it.

use std::sync::Arc;

use memory::{OutOfMemory, Summary};
use report::{DeviceMemory, MemoryClass};

use super::MemoryUse;
use super::programs::{ProgramUse, Replicated, buffers, by_class};
use super::share::share;

/// The class of what is needed and not listed: the text names the largest buffers only.
pub const NOT_LISTED: &str = "not listed";

/// The reports of a text, those with the largest need first.
pub(super) fn of_text(text: &str) -> MemoryUse {
    let mut reports = OutOfMemory::read(text);
    base::sort::sort_by(&mut reports, |a, b| b.peak_bytes().cmp(&a.peak_bytes()));
    MemoryUse {
        devices: reports.iter().map(device).collect(),
        programs: Arc::new(reports.iter().map(program).collect()),
        warnings: Vec::new(),
    }
}

fn program(report: &OutOfMemory) -> ProgramUse {
    let figures = report.figures();
    let summary = Summary::of(report.buffers.iter().map(memory::ListedBuffer::as_peak_buffer));
    let figures = report::ProgramMemory {
        module: report.title(),
        memory_space: report.space_name(),
        peak_heap_bytes: report.peak_bytes(),
        total_allocation_bytes: figures.total_bytes,
        parameter_bytes: figures.parameter_bytes,
        output_bytes: figures.output_bytes,
        constant_bytes: figures.constant_bytes,
        temporary_bytes: figures.temporary_bytes,
        padding_bytes: Some(summary.padding_bytes),
        by_class: classes(report, &summary, report.peak_bytes()),
        buffers: buffers(&summary),
        ..report::ProgramMemory::default()
    };
    let (unshared, replicated) = (Vec::new(), Replicated::default());
    ProgramUse { host: 0, program_id: 0, figures, summary, unshared, replicated }
}

/// Where an allocator reports how full it was, that with what was asked for; else what the program needs.
fn device(report: &OutOfMemory) -> DeviceMemory {
    let in_use = report.in_use_bytes.zip(report.requested_bytes);
    let peak = in_use.map_or(report.peak_bytes(), |(in_use, requested)| in_use.saturating_add(requested));
    let summary = Summary::of(report.buffers.iter().map(memory::ListedBuffer::as_peak_buffer));
    DeviceMemory {
        device_name: report.title(),
        source: "error".to_owned(),
        peak_bytes: Some(peak),
        capacity_bytes: report.capacity_bytes,
        capacity_source: report.capacity_bytes.map(|_| "error".to_owned()),
        peak_percent: report.capacity_bytes.map(|capacity| share(peak, capacity)),
        by_class: classes(report, &summary, peak),
        ..DeviceMemory::default()
    }
}

/// The classes of what is listed, and the rest of the peak.
fn classes(report: &OutOfMemory, summary: &Summary, peak: u64) -> Vec<MemoryClass> {
    let rest = peak.saturating_sub(report.listed_bytes());
    let mut classes: Vec<MemoryClass> =
        by_class(summary).into_iter().map(|class| MemoryClass { percent: share(class.bytes, peak), ..class }).collect();
    if rest > 0 {
        classes.push(MemoryClass { class: NOT_LISTED.to_owned(), bytes: rest, percent: share(rest, peak) });
    }
    base::sort::sort_by(&mut classes, |a, b| b.bytes.cmp(&a.bytes));
    classes
}
