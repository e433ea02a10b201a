//! Map of buffers by address and time: the location of each buffer while a program runs, and the free space between buffers.

use std::cmp::Reverse;

use memory::{LiveBuffer, blocks};

use super::shown::Shown;
use super::{colour, curve};
use base::format;
use document::{Link, Point, Scatter};
use report::View;

/// Maximum number of rectangles. Keeps the rectangles with the largest product of bytes and time.
const MOST_BLOCKS: usize = 600;

/// Draws the map of a memory space's heap, with allocations stacked. Returns `None` if nothing is
/// allocated or freed during the program.
pub(super) fn block(shown: &Shown<'_>) -> Option<Scatter> {
    let (memory, space) = (shown.memory, shown.space);
    let mut found: Vec<memory::Block> = blocks(memory, space).collect();
    found.sort_by_key(|it| Reverse(u128::from(it.size) * (it.end.saturating_sub(it.start) as u128)));
    let left_out = found.len().saturating_sub(MOST_BLOCKS);
    found.truncate(MOST_BLOCKS);
    let mut allocations: Vec<usize> = found.iter().map(|it| it.allocation).collect();
    allocations.sort_unstable();
    allocations.dedup();
    let size = |index: usize| memory.assignment.allocations.get(index).map_or(0, |it| it.size);
    let base = |index: usize| -> u64 {
        allocations.iter().take_while(|&&other| other < index).fold(0, |sum, &other| sum.saturating_add(size(other)))
    };
    let whole = allocations.iter().fold(0u64, |sum, &it| sum.saturating_add(size(it)));
    let (unit, scale) = curve::unit_of(whole);
    let point = |block: &memory::Block| {
        let buffer = block.lifetime.memory_of;
        let live = LiveBuffer { buffer, bytes: block.size, unpadded_bytes: block.size, lifetime: Some(block.lifetime) };
        let class = shown.classifier.classify(space, &live);
        let name = memory.name(buffer);
        let op = memory.instruction(buffer).map(|it| it.name.clone()).unwrap_or_default();
        Point {
            label: format!("{name}: {}", format::bytes(block.size)),
            x: block.start as f64,
            y: base(block.allocation).saturating_add(block.offset) as f64 / scale,
            size: 0.0,
            class: colour(class.class),
            notes: vec![format!("{}: {}", class.class.label(), class.rule), memory.shape(buffer)],
            link: Link::equal(View::Ops, "hlo_op_name", &op),
            extent: Some((block.end.saturating_sub(block.start) as f64, block.size as f64 / scale)),
        }
    };
    let points: Vec<Point> = found.iter().map(point).collect();
    let note =
        if left_out > 0 { format!(", the {MOST_BLOCKS} largest of {}", MOST_BLOCKS + left_out) } else { String::new() };
    (!points.is_empty()).then(|| Scatter {
        title: format!("Address map of temporary values{note}"),
        x_label: "Allocations and releases, in program order (not time)".to_owned(),
        y_label: format!("Address ({unit})"),
        logarithmic: false,
        points,
        lines: Vec::new(),
    })
}
