//! Reads the text of an out-of-memory error: the program that needs the memory and the device that lacks it.

use std::sync::Arc;

use memory::{OutOfMemory, Summary};
use report::{DeviceMemory, MemoryClass};

use super::MemoryUse;
use memory::{ProgramUse, Replicated, buffer_groups, memory_classes, share};

/// Class of the memory that the program needs but that the error text does not list. The text lists only the largest
/// buffers.
pub const NOT_LISTED: &str = "not listed";

/// Reads the error reports in a text. The reports that need the most memory come first.
pub(super) fn of_text(text: &str) -> MemoryUse {
    let mut reports = OutOfMemory::read(text);
    let need = |report: &OutOfMemory| report.peak_bytes().or(report.requested_bytes);
    base::sort::sort_by(&mut reports, |a, b| need(b).cmp(&need(a)));
    MemoryUse {
        devices: reports.iter().map(device).collect(),
        programs: Arc::new(reports.iter().filter_map(program).collect()),
        errors: reports,
        ..MemoryUse::default()
    }
}

/// Returns the program that did not fit, or `None` if the text is about a single allocation.
fn program(report: &OutOfMemory) -> Option<ProgramUse> {
    let peak = report.program_bytes()?;
    let figures = report.figures();
    let summary = Summary::of(report.buffers.iter().map(memory::ListedBuffer::as_peak_buffer));
    let padding = report.padding_bytes();
    let figures = report::ProgramMemory {
        module: report.title(),
        memory_space: report.space_name(),
        peak_heap_bytes: peak,
        peak_unpadded_heap_bytes: report.padded.map(|_| peak.saturating_sub(padding)),
        total_allocation_bytes: figures.total_bytes,
        parameter_bytes: figures.parameter_bytes,
        output_bytes: figures.output_bytes,
        constant_bytes: figures.constant_bytes,
        temporary_bytes: figures.temporary_bytes,
        padding_bytes: Some(padding),
        by_class: classes(report, &summary, peak),
        buffers: buffer_groups(&summary),
        ..report::ProgramMemory::default()
    };
    let (unshared, replicated) = (Vec::new(), Replicated::default());
    Some(ProgramUse { host: 0, program_id: 0, figures, summary, unshared, replicated })
}

fn device(report: &OutOfMemory) -> DeviceMemory {
    let peak = report.peak_bytes();
    let summary = Summary::of(report.buffers.iter().map(memory::ListedBuffer::as_peak_buffer));
    DeviceMemory {
        device_name: report.title(),
        source: "error".to_owned(),
        peak_bytes: peak,
        capacity_bytes: report.capacity_bytes,
        capacity_source: report.capacity_bytes.map(|_| "error".to_owned()),
        peak_percent: peak.zip(report.capacity_bytes).map(|(peak, capacity)| share(peak, capacity)),
        requested_bytes: report.requested_bytes,
        free_bytes: report.free_bytes,
        largest_free_bytes: report.largest_free_bytes,
        by_class: peak.map_or_else(Vec::new, |peak| classes(report, &summary, peak)),
        ..DeviceMemory::default()
    }
}

/// Returns the classes of the listed buffers, and a class for the part of the peak that the text does not list.
fn classes(report: &OutOfMemory, summary: &Summary, peak: u64) -> Vec<MemoryClass> {
    let rest = peak.saturating_sub(report.listed_bytes());
    let mut classes: Vec<MemoryClass> = memory_classes(summary)
        .into_iter()
        .map(|class| MemoryClass { percent: share(class.bytes, peak), ..class })
        .collect();
    if rest > 0 {
        classes.push(MemoryClass { class: NOT_LISTED.to_owned(), bytes: rest, percent: share(rest, peak) });
    }
    base::sort::sort_by(&mut classes, |a, b| b.bytes.cmp(&a.bytes));
    classes
}
