//! Report of a file about memory alone: a device memory profile, or the text of an out-of-memory error.

use super::findings::wrapped;
use super::host::Part;
use crate::tables::TableName;
use base::format::{self, percent, printable, shorten};
use report::{DeviceMemory, LiveMemory, LiveMemoryKind, UnifiedProfile};

/// Devices that are listed.
const DEVICES: usize = 8;
/// Lines of a call stack in the terminal.
const STACK_LINES: usize = 12;

/// The lines of the program that allocated what is on the devices.
pub(super) const TABLE: Part = (
    TableName::LiveMemory,
    "Memory on the devices by line of code",
    10,
    &["line", "function", "bytes", "percent", "count"],
);

/// Headline figures: the total, each device, and what such a file does not contain.
pub(super) fn headlines(profile: &UnifiedProfile) -> Vec<(&'static str, String)> {
    let mut lines = Vec::new();
    let Some(memory) = &profile.memory else { return lines };
    lines.extend(memory.live.as_ref().map(|live| ("Live memory", total(live))));
    lines.extend(memory.devices.iter().take(DEVICES).map(|it| ("Memory", device(it))));
    if let Some(left @ 1..) = memory.devices.len().checked_sub(DEVICES) {
        lines.push(("", format!("and {left} more devices: crossprof table heap --by device")));
    }
    if memory.live.is_some() {
        let absent = profile.not_measured.iter().filter(|it| it.field.starts_with("memory."));
        lines.extend(absent.map(|it| ("Not included", it.reason.clone())));
    }
    lines
}

/// `17.0 MiB in 1,020 arrays and 3.20 MiB in 12 programs`.
fn total(live: &LiveMemory) -> String {
    let kinds: Vec<String> = live.kinds.iter().map(kind).collect();
    format!("{} ({})", format::bytes(live.total_bytes), kinds.join(", "))
}

fn kind(kind: &LiveMemoryKind) -> String {
    let things = match (kind.kind.as_str(), kind.count) {
        ("buffer", 1) => "array",
        ("buffer", _) => "arrays",
        ("executable", 1) => "program",
        ("executable", _) => "programs",
        (other, _) => other,
    };
    let count = format::count(kind.count);
    printable(&format!("{} in {count} {things}, {}", format::bytes(kind.bytes), percent(kind.percent)))
}

/// Bytes that a device holds, needs or lacks.
fn device(device: &DeviceMemory) -> String {
    let is_error = device.source == "error";
    let peak = device.peak_bytes.map(|peak| {
        let of = device.capacity_bytes.map_or_else(String::new, |bytes| format!(" of {}", format::bytes(bytes)));
        format!("{} {}{of}", if is_error { "needs" } else { "peak" }, format::bytes(peak))
    });
    let known = |name: &str, bytes: Option<u64>| bytes.map(|bytes| format!("{name} {}", format::bytes(bytes)));
    let parts = [
        peak,
        known("live", device.live_bytes),
        known("asked for", device.requested_bytes),
        known("free", device.free_bytes),
        known("largest free piece", device.largest_free_bytes),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    let name = shorten(&device.device_name, 40);
    if parts.is_empty() { name } else { format!("{name}: {}", parts.join(", ")) }
}

/// The call stack that holds the most memory, for the terminal; empty if there is none.
pub(super) fn largest_stack(profile: &UnifiedProfile, width: usize) -> String {
    let live = profile.memory.as_ref().and_then(|memory| memory.live.as_ref());
    let Some(line) = live.and_then(|live| live.lines.first()).filter(|line| !line.stack.is_empty()) else {
        return String::new();
    };
    let mut text = format!("\nLargest call stack of {}\n", printable(&shorten(&line.line, 80)));
    let lines = wrapped(&printable(&line.stack), width.saturating_sub(2));
    lines.iter().take(STACK_LINES).for_each(|line| text.push_str(&format!("  {line}\n")));
    if lines.len() > STACK_LINES {
        text.push_str("  ... whole: crossprof table live-memory\n");
    }
    text
}
