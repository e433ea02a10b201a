//! Compiled program: its peak, the heap in program order, the buffers alive at the peak, and their addresses.

use memory::{Classifier, MAIN, SpaceMemory, space_name, xla_peak};

use super::figures::{bytes_figure, fullness};
use super::shown::Shown;
use super::{KeptMemory, address_map, curve, owners, table_blocks};
use crate::PageQuery;
use base::format;
use document::{Block, Figure, Line, Point, Scatter};
use metrics::OpFamily;
use report::View;
use tables::TableName;

/// Number of programs that the user can choose from: the programs with the largest peaks.
const MOST_PROGRAMS: usize = 12;

/// Returns the blocks. Empty if no program has recorded buffers.
pub(super) fn blocks(kept: &KeptMemory, query: &PageQuery) -> Vec<Block> {
    let recorded = kept.recorded();
    let peak = |classifier: &Classifier| classifier.program().space(MAIN).map_or(0, SpaceMemory::peak_bytes);
    let mut programs: Vec<(&str, &Classifier)> = recorded
        .programs
        .iter()
        .filter_map(|program| Some((program.name.as_str(), &**program.classifier()?)))
        .collect();
    programs.sort_by_key(|(_, classifier)| std::cmp::Reverse(peak(classifier)));
    let values = programs.iter().take(MOST_PROGRAMS);
    let values = values.map(|&(name, _)| (name.to_owned(), format::printable(name))).collect();
    let (program, program_buttons) = super::choice("program", "Program", values, query);
    let Some(&(_, classifier)) = programs.iter().find(|(name, _)| *name == program) else {
        return Vec::new();
    };
    let memory = &**classifier.program();
    let is_shown = |space: &&SpaceMemory| space.space == MAIN || space.peak_bytes() > 0 || space.total_bytes > 0;
    let spaces: Vec<&SpaceMemory> = memory.spaces.iter().filter(is_shown).collect();
    let name = |space: &SpaceMemory| space_name(space.space, &recorded.platform);
    let values = spaces.iter().map(|space| (space.space.to_string(), name(space))).collect();
    let (chosen, space_buttons) = super::choice("space", "Memory space", values, query);
    let Some(space) = spaces.into_iter().find(|space| space.space.to_string() == chosen) else { return Vec::new() };
    let shown = Shown { memory, classifier, space, space_name: name(space) };

    let mut blocks = vec![Block::Heading { text: "Memory of a program".to_owned(), note: None }];
    blocks.extend(program_buttons);
    blocks.extend(space_buttons);
    blocks.push(Block::Figures { figures: figures(&shown, recorded.device_memory_bytes) });
    let problems = memory.problems();
    if !problems.is_empty() {
        let text = format!("The buffer assignment is damaged ({problems}). The numbers cover only the readable part.");
        blocks.push(Block::Note { text });
    }
    blocks.extend(kept.charts(&program, space.space, || charts(&shown)).iter().cloned());
    blocks.extend(what_if(kept, query));
    blocks.extend(table_blocks::buffers(kept, query));
    blocks.extend(table_blocks::block(kept, TableName::ProgramMemory, "space", "Programs and memory spaces", query));
    blocks
}

/// Draws the owners of the peak, and the heap in program order.
fn charts(shown: &Shown<'_>) -> Vec<Block> {
    let title = format!("What is alive at the peak, by class and scope: {}", format::printable(&shown.space_name));
    let alive = shown.memory.peak_buffers(shown.space, shown.classifier).collect();
    let mut blocks = vec![Block::Icicle(owners::at_peak(title, shown.space.peak_bytes(), alive))];
    blocks.extend(over_program(shown).map(Block::Scatter));
    blocks.extend(address_map::block(shown).map(Block::Scatter));
    blocks
}

/// Returns estimates of the peak after a change.
fn what_if(kept: &KeptMemory, query: &PageQuery) -> Vec<Block> {
    let forms =
        [("scope", "Rematerialized"), ("argument", "Donated"), ("batch", "Another batch"), ("buffer", "Without")];
    table_blocks::chosen(
        kept,
        TableName::MemoryWhatIf,
        ("change", "Change"),
        &forms,
        "What-if estimates, all programs",
        query,
    )
}

fn figures(shown: &Shown<'_>, device_memory_bytes: Option<u64>) -> Vec<Figure> {
    let Shown { memory, space, .. } = shown;
    let device = device_memory_bytes.filter(|&bytes| bytes > 0 && space.space == MAIN);
    let share = device.map(|bytes| (100.0 * space.peak_bytes() as f64 / bytes as f64, bytes));
    let note = share.map_or_else(
        || shown.space_name.clone(),
        |(share, bytes)| format!("{} of the device's {}", format::percent(share), format::bytes(bytes)),
    );
    let peak = fullness(bytes_figure("Peak", space.peak_bytes(), note), share.map(|(share, _)| share));
    let padding = space.peak_bytes().saturating_sub(space.peak_unpadded_bytes());
    let aliased = match space.aliased_bytes {
        0 => "none reused for results (donated)".to_owned(),
        bytes => format!("{} reused for results (donated)", format::bytes(bytes)),
    };
    let mut figures = vec![
        peak,
        bytes_figure("Arguments", space.parameter_bytes, aliased),
        bytes_figure("Results", space.output_bytes, "in separate memory or in that of arguments".to_owned()),
        bytes_figure(
            "Temporary values",
            space.temporary_bytes,
            match space.fragmentation_percent() {
                Some(free) => format!("{} of it free at the peak", format::percent(free)),
                None => "allocated for them".to_owned(),
            },
        ),
        bytes_figure("Padding", padding, "of temporary values at the peak, from their layouts".to_owned()),
    ];
    if space.space == MAIN {
        figures.push(bytes_figure(
            "Peak by XLA",
            xla_peak(&memory.assignment),
            "as counted by memory_analysis(), excluding memory of calls".to_owned(),
        ));
    }
    figures
}

/// Draws the heap in program order, including permanent buffers. Returns `None` if nothing is allocated or freed during the
/// program.
fn over_program(shown: &Shown<'_>) -> Option<Scatter> {
    let heap = shown.space.heap.as_ref()?;
    let (unit, scale) = curve::unit_of(shown.space.peak_bytes());
    let bytes: Vec<u64> = shown.space.bytes_over_program().collect();
    let points: Vec<(f64, f64)> =
        bytes.iter().enumerate().map(|(at, &bytes)| (at as f64, bytes as f64 / scale)).collect();
    let resident = shown.space.peak_bytes().saturating_sub(heap.peak.bytes) as f64 / scale;
    let end = points.len().saturating_sub(1) as f64;
    let at = heap.instructions.get(heap.peak_event).copied().flatten().and_then(|index| shown.memory.module.at(index));
    let peak = Point {
        label: format!("Peak: {}", format::bytes(shown.space.peak_bytes())),
        x: (heap.peak_event + 1) as f64,
        y: shown.space.peak_bytes() as f64 / scale,
        size: 0.0,
        class: OpFamily::Communication.into(),
        notes: at.map(|instruction| format!("at {}", instruction.name)).into_iter().collect(),
        link: at.and_then(|it| owners::op(&it.name, View::Ops)),
        extent: None,
    };
    let lines: Vec<Line> =
        vec![curve::line("alive", &points), curve::level("allocated throughout", 0.0, end, resident)];
    Some(Scatter {
        title: "Memory in program order".to_owned(),
        x_label: "Allocations and releases, in program order (not time)".to_owned(),
        y_label: format!("Alive ({unit})"),
        logarithmic: false,
        points: vec![peak],
        lines,
    })
}
