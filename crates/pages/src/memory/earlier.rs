//! Memory page of an earlier result, made from its `memory` section. The result contains neither the programs nor the
//! allocations.

use super::figures::{bytes_figure, fullness};
use crate::Source;
use base::format;
use document::{Bar, Bars, Block, ColourClass, Figure, Grid, GridCell};
use memory::Class;
use report::{DeviceMemory, MemoryClass, ProgramMemory};
use table::Unit;

/// Returns the blocks, or the reason why there are none.
pub(super) fn blocks(source: Source<'_>) -> Vec<Block> {
    let Some(memory) = &source.profile().memory else { return vec![source.not_measured("memory")] };
    let text = "This is an earlier result. For memory over time, buffers and lines of code, open the profile that \
        the result was made from.";
    let mut blocks = vec![Block::Note { text: text.to_owned() }];
    let used = |device: &DeviceMemory| device.peak_bytes.or(device.live_bytes);
    let fullest = memory.devices.iter().max_by_key(|device| used(device));
    if let Some(device) = fullest {
        let text = format!("Memory of {}", format::printable(&device.device_name));
        let note = match device.source.as_str() {
            "allocator" => "Reported by its allocator.",
            "programs" => "From the largest program that runs on the device. This is a lower bound.",
            "memory_profile" => "Memory at the time when the device memory profile was saved.",
            "error" => "Memory at the time when it ran out.",
            _ => "",
        };
        blocks.push(Block::Heading { text, note: Some(note.to_owned()).filter(|note| !note.is_empty()) });
        blocks.push(Block::Figures { figures: figures(device) });
        blocks.extend(by_class("Contents of the memory at the peak", &device.by_class));
    }
    if memory.devices.len() > 1 {
        let columns = ["Device", "Peak", "Live", "Capacity", "Share of capacity"].map(str::to_owned).to_vec();
        let rows = memory.devices.iter().map(|it| {
            let name = format::printable(&it.device_name);
            let percent = it.peak_percent.map_or_else(|| format::DASH.to_owned(), format::percent);
            cells([name, bytes(it.peak_bytes), bytes(it.live_bytes), bytes(it.capacity_bytes), percent])
        });
        blocks.push(Block::Grid(Grid { title: "Devices".to_owned(), columns, rows: rows.collect() }));
    }
    if !memory.programs.is_empty() {
        let columns =
            ["Program", "Peak", "Arguments", "Results", "Donated", "Temporary values", "Padding", "Fragmentation"];
        let rows = memory.programs.iter().map(|it| {
            cells([
                format::printable(&it.module),
                bytes(Some(it.peak_heap_bytes)),
                bytes(it.parameter_bytes),
                bytes(it.output_bytes),
                bytes(it.aliased_bytes),
                bytes(it.temporary_bytes),
                bytes(it.padding_bytes),
                it.fragmentation_percent.map_or_else(|| format::DASH.to_owned(), format::percent),
            ])
        });
        let columns = columns.map(str::to_owned).to_vec();
        blocks.push(Block::Grid(Grid { title: "Programs".to_owned(), columns, rows: rows.collect() }));
    }
    if let Some(program) = memory.programs.first() {
        let name = format::printable(&program.module);
        // If the device names a program, the device's classes are the classes of the program.
        if fullest.is_none_or(|device| device.by_class.is_empty()) {
            blocks.extend(by_class(&format!("Contents of the memory of {name} at its peak"), &program.by_class));
        }
        blocks.extend(buffers(&name, program));
    }
    blocks
}

fn figures(device: &DeviceMemory) -> Vec<Figure> {
    let of_capacity = match (device.peak_percent, device.capacity_bytes) {
        (Some(percent), Some(capacity)) => format!("{} of {}", format::percent(percent), format::bytes(capacity)),
        _ => "of an unknown capacity".to_owned(),
    };
    let size = |label: &str, bytes: Option<u64>, note: &str| bytes.map(|it| bytes_figure(label, it, note.to_owned()));
    let peak = device.peak_bytes.map(|bytes| fullness(bytes_figure("Peak", bytes, of_capacity), device.peak_percent));
    let fragmentation = device.fragmentation_percent.map(|percent| Figure {
        label: "Fragmentation".to_owned(),
        value: Some(percent),
        unit: Unit::Percent,
        note: "of the free memory is outside its largest block, at the peak".to_owned(),
        ..Figure::default()
    });
    let of_process = if device.lifetime_peak_bytes < device.peak_bytes {
        "allocated since the process started. The peak also includes memory reserved for programs"
    } else {
        "most memory allocated since the process started, including before the capture"
    };
    let figures = [
        peak,
        size("Live arrays", device.live_bytes, "without temporary values of a running program"),
        size("Peak of the process", device.lifetime_peak_bytes, of_process),
        fragmentation,
    ];
    figures.into_iter().flatten().collect()
}

fn by_class(title: &str, classes: &[MemoryClass]) -> Option<Block> {
    let bars: Vec<Bar> = classes.iter().map(bar).collect();
    let bars = Bars {
        title: title.to_owned(),
        unit: Unit::Bytes,
        whole: Some(bars.iter().map(|bar| bar.value).sum()),
        bars,
        note: String::new(),
        about: None,
    };
    (!classes.is_empty()).then_some(Block::Bars(bars))
}

fn bar(of: &MemoryClass) -> Bar {
    let class = Class::ALL.into_iter().find(|class| class.label() == of.class);
    Bar {
        label: format::printable(&of.class),
        value: of.bytes as f64,
        class: class.map_or(ColourClass::GROUP, super::colour),
        note: format::percent(of.percent),
        link: None,
    }
}

/// Folds the buffers that are alive at the peak of a program.
fn buffers(name: &str, program: &ProgramMemory) -> Option<Block> {
    let columns = ["Class", "Scope", "Shape", "Buffers", "Size"].map(str::to_owned).to_vec();
    let rows = program.buffers.iter().map(|it| {
        let texts = [&it.class, &it.scope, &it.shape].map(|text| format::printable(text));
        let [class, scope, shape] = texts;
        cells([class, scope, shape, format::count(it.count), format::bytes(it.bytes)])
    });
    let title = format!("Buffers alive at the peak of {name}");
    let grid = Block::Grid(Grid { title: title.clone(), columns, rows: rows.collect() });
    (!program.buffers.is_empty()).then(|| Block::Fold { title, blocks: vec![grid] })
}

fn bytes(bytes: Option<u64>) -> String {
    bytes.map_or_else(|| format::DASH.to_owned(), format::bytes)
}

fn cells<const N: usize>(texts: [String; N]) -> Vec<GridCell> {
    texts.into_iter().map(|text| GridCell { text, ..GridCell::default() }).collect()
}
