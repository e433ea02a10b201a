//! Overview of a file that contains only memory: the memory of each device, by kind and by line of code. For the report
//! of a run with a trace, also makes the blocks about live memory.

use crate::{PageQuery, Source};
use base::format;
use document::{Block, Fact, Facts, Figure, Link};
use report::{DeviceMemory, LiveMemory, LiveMemoryKind, NotMeasured, UnifiedProfile, View};
use table::Unit;
use tables::TableName;

/// Maximum number of devices that get a figure.
const DEVICES: usize = 8;
const BY_LINE: &str = "Memory by line of code";

/// Returns the blocks. Empty if the profile has no memory section.
pub(super) fn blocks(source: Source<'_>, query: &PageQuery) -> Vec<Block> {
    let Some(memory) = &source.profile().memory else { return Vec::new() };
    let mut figures: Vec<Figure> = memory.live.iter().flat_map(of_live).collect();
    figures.extend(memory.devices.iter().take(DEVICES).filter_map(device));
    let mut blocks = vec![Block::Figures { figures }];
    blocks.extend(memory.devices.len().checked_sub(DEVICES).filter(|left| *left > 0).map(|left| Block::Note {
        text: format!("{} not shown: crossprof table heap --by device", format::counted(left as u64, "more device")),
    }));
    blocks.extend(not_included(source.profile()));
    blocks.extend(source.table_block(TableName::LiveMemory, BY_LINE, query));
    blocks.extend(memory.live.iter().flat_map(largest_stack));
    blocks
}

/// Returns the blocks of the device memory profile that was saved next to a trace. Empty if there is no such profile.
pub(super) fn beside_trace(source: Source<'_>, query: &PageQuery) -> Vec<Block> {
    let profile = source.profile();
    let memory = profile.memory.as_ref().filter(|_| !profile.is_of_memory_alone());
    let Some(live) = memory.and_then(|memory| memory.live.as_ref()) else { return Vec::new() };
    let mut blocks = vec![Block::Figures { figures: of_live(live) }];
    blocks.extend(source.table_block(TableName::LiveMemory, BY_LINE, query));
    blocks
}

fn of_live(live: &LiveMemory) -> Vec<Figure> {
    let mut figures = vec![figure("Live memory", live.total_bytes, "arrays and programs on all devices".to_owned())];
    figures.extend(live.kinds.iter().map(kind));
    figures
}

/// Lists the data that a live memory file cannot contain.
fn not_included(profile: &UnifiedProfile) -> Option<Block> {
    profile.memory.as_ref()?.live.as_ref()?;
    let absent = profile.not_measured.iter().filter(|it| it.field.starts_with("memory."));
    let fact =
        |it: &NotMeasured| Fact { label: "Not included".to_owned(), value: it.reason.clone(), ..Fact::default() };
    let facts: Vec<Fact> = absent.map(fact).collect();
    (!facts.is_empty()).then(|| Block::Facts(Facts { title: String::new(), facts }))
}

/// Returns the call stack that holds the most memory.
fn largest_stack(live: &LiveMemory) -> Vec<Block> {
    let Some(line) = live.lines.first().filter(|line| !line.stack.is_empty()) else { return Vec::new() };
    let title = format!("Largest call stack of {}", format::printable(&format::shorten(&line.line, 80)));
    vec![Block::Heading { text: title, note: Some(format::printable(&line.stack)) }]
}

/// Returns the title of a kind of memory. The file calls the kinds `buffer` and `executable`.
pub(super) fn title_of_kind(kind: &str) -> &'static str {
    match kind {
        "buffer" => "Arrays",
        "executable" => "Programs",
        _ => "Other",
    }
}

fn kind(kind: &LiveMemoryKind) -> Figure {
    let note = format!("{} of them, {} of the memory", format::count(kind.count), format::percent(kind.percent));
    figure(title_of_kind(&kind.kind), kind.bytes, note)
}

/// Returns a figure of the bytes that a device uses, needs or lacks. The file determines which of these figures is
/// shown.
fn device(device: &DeviceMemory) -> Option<Figure> {
    let of_capacity = || match device.capacity_bytes {
        Some(capacity) => format!("of {}", format::bytes(capacity)),
        None => "of an unknown capacity".to_owned(),
    };
    let (bytes, note) = if let Some(peak) = device.peak_bytes {
        (peak, format!("needed, {}", of_capacity()))
    } else if let Some(live) = device.live_bytes {
        (live, "in arrays when the profile was saved".to_owned())
    } else {
        let free = device.free_bytes.map_or_else(String::new, |free| format!(", {} free", format::bytes(free)));
        (device.requested_bytes?, format!("requested by the allocation that failed{free}"))
    };
    Some(figure(&format::printable(&device.device_name), bytes, note))
}

fn figure(label: &str, bytes: u64, note: String) -> Figure {
    Figure {
        label: label.to_owned(),
        value: Some(bytes as f64),
        unit: Unit::Bytes,
        note,
        link: Some(Link::to(View::Memory, "")),
        ..Figure::default()
    }
}
