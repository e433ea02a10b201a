//! Rows for the text of an out-of-memory error in the tables of programs and buffers.

use base::sort;
use memory::{ListedBuffer, OutOfMemory};

use super::groups::{Part, groups, said, share};
use crate::profile_table::{float, int, text};
use table::{Cell, Column};

/// Returns the row for an error in the table of programs, which has these `columns`. The numbers come from the text of
/// the error.
pub(super) fn program(error: &OutOfMemory, columns: &[Column]) -> Vec<Cell> {
    let figures = error.figures();
    let cell = |column: &Column| match column.key {
        "module" => text(&error.title()),
        "memory_space" => text(&error.space_name()),
        "peak_heap_bytes" => int(error.program_bytes()),
        "peak_unpadded_heap_bytes" => {
            int(error.padded.and(error.program_bytes()).map(|peak| peak.saturating_sub(error.padding_bytes())))
        }
        "total_allocation_bytes" => int(figures.total_bytes),
        "parameter_bytes" => int(figures.parameter_bytes),
        "output_bytes" => int(figures.output_bytes),
        "constant_bytes" => int(figures.constant_bytes),
        "temporary_bytes" => int(figures.temporary_bytes),
        "buffers_at_peak" => Cell::Int(error.buffers.len() as u64),
        "listed_bytes" => int(Some(error.listed_bytes()).filter(|_| !error.buffers.is_empty())),
        "capacity_bytes" => int(error.capacity_bytes),
        "requested_bytes" => int(error.requested_bytes),
        "free_bytes" => int(error.free_bytes),
        "largest_free_bytes" => int(error.largest_free_bytes),
        _ => Cell::Absent,
    };
    columns.iter().map(cell).collect()
}

/// Appends the rows of an error to the table of buffers, in the form of the table.
pub(super) fn add_buffers(error: &OutOfMemory, variant: &str, cells: &mut Vec<Vec<Cell>>) {
    let mut buffers: Vec<&ListedBuffer> = error.buffers.iter().collect();
    sort::sort_by(&mut buffers, |a, b| b.bytes.cmp(&a.bytes));
    let (module, space) = (error.title(), error.space_name());
    let of = [module.as_str(), space.as_str()];
    let peak = error.program_bytes().unwrap_or(0);
    let key: fn(&ListedBuffer) -> String = match variant {
        "class" => |buffer| buffer.as_peak_buffer().class.class.label().to_owned(),
        "scope" => |buffer| buffer.as_peak_buffer().scope,
        "source" => |buffer| buffer.source.clone().unwrap_or_default(),
        _ => {
            cells.extend(buffers.into_iter().map(|listed| buffer(of, peak, listed)));
            return;
        }
    };
    let part = |buffer: &ListedBuffer| Part {
        key: key(buffer),
        name: buffer.name.clone(),
        bytes: buffer.bytes,
        unpadded_bytes: buffer.unpadded_bytes,
    };
    groups(of, peak, buffers.into_iter().map(part), cells);
}

/// Returns the row of a buffer, in the order of the table's columns.
fn buffer([module, space]: [&str; 2], peak: u64, listed: &ListedBuffer) -> Vec<Cell> {
    let buffer = listed.as_peak_buffer();
    let category = if listed.is_argument { "Parameter" } else { listed.allocation_type.as_str() };
    let shape = listed.shape.clone().map(|shape| hlo::Shape::Array(shape).text(true));
    vec![
        text(module),
        text(space),
        said(buffer.name.clone()),
        text(buffer.class.class.label()),
        Cell::Int(buffer.bytes),
        float(share(buffer.bytes, peak)),
        Cell::Int(buffer.unpadded_bytes),
        Cell::Int(buffer.padding_bytes()),
        said(buffer.scope),
        said(buffer.source.unwrap_or_default()),
        text(buffer.class.rule),
        text(buffer.class.confidence.label()),
        said(category.to_owned()),
        said(shape.unwrap_or_default()),
        Cell::Absent,
        said(listed.op_name.clone()),
        Cell::Absent,
        Cell::Absent,
        Cell::Absent,
        Cell::Absent,
        Cell::Absent,
        Cell::Int(listed.stated_bytes),
    ]
}
