//! Memory over time, as reported by the allocators of the devices.

use memory::Recorded;
use memory::allocator::{Allocator, AllocatorEvent};

use super::figures::{bytes_figure, fullness};
use super::{KeptMemory, curve, table_blocks};
use crate::PageQuery;
use base::format;
use document::{Block, Figure, Point, Scatter};
use metrics::OpFamily;
use table::Unit;
use tables::TableName;

/// Option of the page: the displayed allocator.
const ALLOCATOR: &str = "allocator";

/// Returns the blocks. Empty if no allocator reported its memory.
pub(super) fn blocks(kept: &KeptMemory, query: &PageQuery) -> Vec<Block> {
    let recorded = kept.recorded();
    let mut fullest: Vec<(u64, &Allocator)> =
        recorded.allocators.iter().filter_map(|it| Some((it.events.get(it.peak()?)?.used_bytes(), it))).collect();
    fullest.sort_by_key(|(used, _)| std::cmp::Reverse(*used));
    let values = recorded.allocators.iter().filter(|it| it.peak().is_some());
    let values = values.map(|it| (key(it), format!("{}{}", it.title, host(recorded, it)))).collect();
    // Lists allocators in the order of the devices. The fullest allocator is selected initially.
    let mut query = query.clone();
    if let Some((_, fullest)) = fullest.first() {
        query.options.entry(ALLOCATOR.to_owned()).or_insert_with(|| key(fullest));
    }
    let (chosen, buttons) = super::choice(ALLOCATOR, "Allocator", values, &query);
    let Some((_, allocator)) = fullest.iter().find(|(_, it)| key(it) == chosen) else { return Vec::new() };
    let mut blocks = vec![Block::Heading { text: "Memory over time".to_owned(), note: None }];
    blocks.extend(buttons);
    blocks.extend(figures(allocator).map(|figures| Block::Figures { figures }));
    blocks.push(Block::Scatter(over_time(allocator)));
    for (name, form, title) in [
        (TableName::Allocations, "peak", "Allocations alive at the peak"),
        (TableName::Allocators, "", "Allocators"),
        (TableName::MemoryTimeline, "", "Every allocation and release"),
    ] {
        blocks.extend(table_blocks::block(kept, name, form, title, &query));
    }
    blocks
}

fn key(allocator: &Allocator) -> String {
    format!("{}/{}", allocator.host, allocator.name)
}

/// Returns the name of the allocator's host, if there are several.
fn host(recorded: &Recorded, allocator: &Allocator) -> String {
    match recorded.hosts.get(usize::from(allocator.host)) {
        Some(host) if recorded.hosts.len() > 1 => format!(" of {host}"),
        _ => String::new(),
    }
}

/// Below this usage, in percent, fragmented free memory does not prevent allocations.
const ROOMY_PERCENT: f64 = 50.0;

fn figures(allocator: &Allocator) -> Option<Vec<Figure>> {
    let index = allocator.peak()?;
    let peak = allocator.events.get(index)?;
    let capacity = allocator.capacity_bytes(index).filter(|&bytes| bytes > 0);
    let share = capacity.map(|capacity| 100.0 * peak.used_bytes() as f64 / capacity as f64);
    let contents = allocator.contents(index);
    let of_capacity = capacity.zip(share).map_or_else(String::new, |(capacity, share)| {
        format!(
            "{} of {}, {} after the start",
            format::percent(share),
            format::bytes(capacity),
            format::time_us(peak.time.as_us())
        )
    });
    let mut figures = vec![
        fullness(bytes_figure("Peak", peak.used_bytes(), of_capacity), share),
        bytes_figure(
            "Before the capture",
            contents.before_capture_bytes,
            "in use at the peak, allocated earlier: weights, optimizer state".to_owned(),
        ),
    ];
    if contents.reserved_bytes > 0 {
        figures.push(bytes_figure("Reserved", contents.reserved_bytes, "for the stack of programs".to_owned()));
    }
    if let Some(bytes) = allocator.lifetime_peak_bytes() {
        figures.push(bytes_figure(
            "Peak of the process",
            bytes,
            of_process(bytes, peak.used_bytes(), peak.reserved_bytes),
        ));
    }
    let share_in_use = share;
    figures.extend(peak.fragmentation.map(|share| {
        Figure {
            label: "Fragmentation".to_owned(),
            value: Some(100.0 * share),
            unit: Unit::Percent,
            note: match share_in_use {
                Some(share) if share < ROOMY_PERCENT => {
                    "of the free memory is outside its largest block, at the peak. This is harmless while most of \
                        the memory is free"
                }
                _ => "of the free memory is outside its largest block, at the peak",
            }
            .to_owned(),
            ..Figure::default()
        }
    }));
    Some(figures)
}

/// Describes how the peak of the whole process differs from the peak in the capture. Either peak may be larger.
pub(super) fn of_process(process_bytes: u64, peak_bytes: u64, reserved_bytes: u64) -> String {
    let reserved = format::bytes(reserved_bytes);
    match (process_bytes < peak_bytes, reserved_bytes) {
        (false, 0) => "most memory allocated since the process started, including before the capture".to_owned(),
        (true, 0) => {
            "counted by the allocator since the process started, excluding part of the memory in use here".to_owned()
        }
        (_, _) => format!(
            "allocated since the process started. The peak also includes {reserved} reserved for \
            programs"
        ),
    }
}

/// Times above this limit, in microseconds, are shown in seconds.
const SECONDS_FROM_US: f64 = 10e6;

/// The capacity is drawn if at least this share of it is used at the peak. If less is used, the capacity would flatten
/// the curve.
const DRAWN_CAPACITY: f64 = 0.25;

/// Draws used bytes as a step curve: the value of an event is valid until the next event.
fn over_time(allocator: &Allocator) -> Scatter {
    let most = allocator.peak().and_then(|at| allocator.events.get(at)).map_or(0, AllocatorEvent::used_bytes);
    let (unit, scale) = curve::unit_of(most);
    let last_us = allocator.events.last().map_or(0.0, |event| event.time.as_us());
    let (time_unit, us) = if last_us >= SECONDS_FROM_US { ("s", 1e6) } else { ("ms", 1e3) };
    let mut points: Vec<(f64, f64)> = Vec::with_capacity(2 * allocator.events.len());
    for event in &allocator.events {
        let (time, used) = (event.time.as_us() / us, event.used_bytes() as f64 / scale);
        if let Some(&(_, before)) = points.last() {
            points.push((time, before));
        }
        points.push((time, used));
    }
    let (first, last) = (points.first().map_or(0.0, |point| point.0), points.last().map_or(0.0, |point| point.0));
    let mut lines = vec![curve::line("used", &points)];
    let capacity = allocator.peak().and_then(|at| allocator.capacity_bytes(at));
    if let Some(capacity) = capacity.filter(|&capacity| most as f64 >= DRAWN_CAPACITY * capacity as f64) {
        lines.push(curve::level("capacity", first, last, capacity as f64 / scale));
    }
    let peak = allocator.peak().and_then(|at| allocator.events.get(at)).map(|event| Point {
        label: format!("Peak: {}", format::bytes(event.used_bytes())),
        x: event.time.as_us() / us,
        y: event.used_bytes() as f64 / scale,
        size: 0.0,
        class: OpFamily::Communication.into(),
        notes: vec![format!("{} after the start of the capture", format::time_us(event.time.as_us()))],
        link: None,
        extent: None,
    });
    Scatter {
        title: format!("Memory in use over time: {}", allocator.title),
        x_label: format!("Time from the start of the capture ({time_unit})"),
        y_label: format!("Used ({unit})"),
        logarithmic: false,
        points: peak.into_iter().collect(),
        lines,
    }
}

#[cfg(test)]
mod tests {
    use super::of_process;

    #[test]
    fn a_process_peak_below_the_capture_peak_is_explained() {
        const GIB: u64 = 1 << 30;
        let reserved = of_process(10 * GIB, 20 * GIB, 10 * GIB);
        assert_eq!(
            reserved,
            "allocated since the process started. The peak also includes 10.0 GiB reserved for programs"
        );
        assert!(of_process(10 * GIB, 20 * GIB, 0).contains("excluding part of the memory in use here"));
        assert!(of_process(20 * GIB, 20 * GIB, 0).starts_with("most memory allocated since the process started"));
    }
}
