//! Map of devices by step: one cell for each step on each device, coloured by a chosen quantity.

use rustc_hash::FxHashSet;

use crate::filter;
use crate::{PageQuery, steps};
use base::{Ps, sort};
use document::heat_map::MOST_EXACT;
use document::{Block, CellTimes, Choice, HeatMap};
use memory::allocator::{Allocator, AllocatorEvent, allocators};
use metrics::{Context, StepPart, StepRow, median};
use report::NotMeasured;
use table::{Cell, Query, Unit, query};
use tables::TableName;
use trace::EventId;

/// Options of the page.
const QUANTITY: &str = "quantity";
const SCALE: &str = "scale";

/// Maximum number of cells of a map. Larger maps cannot be displayed.
const MOST_CELLS: usize = 1 << 23;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Quantity {
    Work,
    Duration,
    Communication,
    Wait,
    Idle,
    Input,
    Host,
    Memory,
}

impl Quantity {
    const ALL: [Quantity; 8] = [
        Quantity::Work,
        Quantity::Duration,
        Quantity::Communication,
        Quantity::Wait,
        Quantity::Idle,
        Quantity::Input,
        Quantity::Host,
        Quantity::Memory,
    ];

    /// Returns the value in URLs, and the display name.
    fn names(self) -> (&'static str, &'static str) {
        match self {
            Quantity::Work => ("work", "Work"),
            Quantity::Duration => ("duration", "Step time"),
            Quantity::Communication => ("communication", "Exposed communication"),
            Quantity::Wait => ("wait", "Waiting for the last device"),
            Quantity::Idle => ("idle", "Idle"),
            Quantity::Input => ("input", "Waiting for input"),
            Quantity::Host => ("host", "Waiting for launch or compilation"),
            Quantity::Memory => ("memory", "Peak of device memory"),
        }
    }

    /// Returns the meaning of the quantity.
    fn about(self) -> &'static str {
        match self {
            Quantity::Work => "Work is the time during which a device is neither idle nor in exposed communication.",
            Quantity::Duration => "Devices that wait for each other have the same step time, so compare their work.",
            Quantity::Communication => "Exposed communication includes waiting for other devices.",
            Quantity::Wait => "A device that never waits is the last to arrive.",
            Quantity::Idle => "No op runs on the device.",
            Quantity::Input => "The device is idle while the host is in the input pipeline, or in infeed.",
            Quantity::Host => "The device is idle because the host launches late or compiles.",
            Quantity::Memory => "The largest number of bytes that the device's allocator holds during the step.",
        }
    }

    /// Returns the value of a row, or 0 for [`Quantity::Wait`] and [`Quantity::Memory`], which rows do not contain.
    fn of(self, row: &StepRow) -> Ps {
        let parts = |parts: &[StepPart]| parts.iter().map(|part| row.parts.get(*part)).sum();
        match self {
            Quantity::Work => row.parts.work(),
            Quantity::Duration => row.duration,
            Quantity::Communication => row.parts.get(StepPart::Communication),
            Quantity::Wait | Quantity::Memory => Ps::ZERO,
            Quantity::Idle => row.parts.idle(),
            Quantity::Input => parts(&StepPart::WAITS_FOR_INPUT),
            Quantity::Host => parts(&StepPart::WAITS_FOR_HOST),
        }
    }
}

/// Returns the choices and the map. Empty for runs with fewer than two devices or steps.
pub(super) fn blocks(context: &Context<'_>, asked: &PageQuery) -> Vec<Block> {
    let breakdown = &context.analysis.step_breakdown;
    let shown = shown_devices(context, asked);
    let num_steps = context.analysis.steps.len();
    let num_cells = shown.len().saturating_mul(num_steps);
    if shown.is_empty() || context.analysis.devices.used.len() < 2 || num_steps < 2 || !breakdown.has_steps {
        return Vec::new();
    }
    if num_cells > MOST_CELLS {
        let text = "There are too many devices and steps for a map. Filter by host or device_name.";
        return vec![Block::Note { text: text.to_owned() }];
    }
    let occurs = |quantity: &Quantity| match quantity {
        Quantity::Wait => context.analysis.collectives.sums.wait > Ps::ZERO,
        Quantity::Memory => has_allocators(context),
        quantity => breakdown.rows.iter().any(|row| quantity.of(row) > Ps::ZERO),
    };
    let quantities: Vec<Quantity> = Quantity::ALL.into_iter().filter(occurs).collect();
    let keys: Vec<&str> = quantities.iter().map(|quantity| quantity.names().0).collect();
    let chosen = asked.chosen(QUANTITY, &keys);
    let Some(&quantity) = quantities.iter().find(|quantity| quantity.names().0 == chosen) else { return Vec::new() };
    let differs = asked.chosen(SCALE, &["difference", "time"]) == "difference";
    let choice = |option: &str, label: &str, values: Vec<(&str, &str)>, chosen: &str| {
        Block::Choice(Choice {
            option: option.to_owned(),
            label: label.to_owned(),
            values: values.into_iter().map(|(value, name)| (value.to_owned(), name.to_owned())).collect(),
            chosen: chosen.to_owned(),
        })
    };
    let value = if quantity == Quantity::Memory { "Bytes" } else { "Time" };
    let scales = vec![("difference", "Compared with the step's median"), ("time", value)];
    let mut blocks = vec![
        choice(QUANTITY, "Colour", quantities.iter().map(|quantity| quantity.names()).collect(), chosen),
        choice(SCALE, "Scale", scales, if differs { "difference" } else { "time" }),
        Block::HeatMap(map(context, &shown, quantity, differs)),
    ];
    if !has_allocators(context) {
        let absent = context.profile.not_measured.iter().find(|it| it.field == "memory.devices[].peak_bytes");
        let text =
            |it: &NotMeasured| format!("The map cannot show how much memory is in use during each step. {}", it.reason);
        blocks.extend(absent.map(|it| Block::Note { text: text(it) }));
    }
    blocks
}

/// Returns true if the allocator of a device recorded events.
fn has_allocators(context: &Context<'_>) -> bool {
    context.analysis.memory.devices.iter().any(|device| device.source == "allocator")
}

/// Returns the devices that pass the page's filter, as indices into the devices that ran ops.
fn shown_devices(context: &Context<'_>, asked: &PageQuery) -> Vec<u32> {
    let used = &context.analysis.devices.used;
    let all = || (0..used.len() as u32).collect();
    let Some(table) = tables::of_report(context.profile, TableName::Devices) else { return all() };
    let filter = filter::applied(&asked.filter, &table.columns).filter;
    let Some(name) = table.columns.iter().position(|column| column.key == "device_name") else { return all() };
    if filter.is_empty() {
        return all();
    }
    let passing = query(&table, &Query { filter, ..Query::default() });
    let names = passing.rows.iter().filter_map(|row| match row.get(name) {
        Some(Cell::Text(name)) => Some(name.as_str()),
        _ => None,
    });
    let names: FxHashSet<&str> = names.collect();
    (0u32..).zip(used).filter(|(_, device)| names.contains(device.name.as_str())).map(|(index, _)| index).collect()
}

fn map(context: &Context<'_>, shown: &[u32], quantity: Quantity, differs: bool) -> HeatMap {
    let analysis = context.analysis;
    let (used, num_steps) = (&analysis.devices.used, analysis.steps.len());
    let mut values = values(context, shown, quantity);
    let least_end =
        if quantity == Quantity::Memory { LEAST_DIFFERENCE * median_of(&values) } else { least_end_us(context) };
    if differs {
        subtract_medians(&mut values, num_steps);
    }
    let hosts = &context.trace().hosts;
    let is_of_many_hosts = hosts.len() > 1;
    let mut groups: Vec<(u32, String)> = Vec::new();
    let mut last = None;
    let rows = shown.iter().zip(0u32..).filter_map(|(&device, row)| {
        let device = used.get(device as usize)?;
        if is_of_many_hosts && last.replace(device.host) != Some(device.host) {
            groups.push((row, hosts.get(usize::from(device.host)).cloned().unwrap_or_default()));
        }
        Some(device.name.clone())
    });
    let rows: Vec<String> = rows.collect();
    let (_, name) = quantity.names();
    let how = if differs { ", compared with the median of the step" } else { "" };
    HeatMap {
        title: format!("{name} of each device in each step{how}"),
        unit: if quantity == Quantity::Memory { Unit::Bytes } else { Unit::TimeUs },
        note: format!("{} Click a cell to see the step on the timeline.", quantity.about()),
        rows,
        groups,
        columns: (0..num_steps).map(|step| steps::step_name(context.profile, step as u64)).collect(),
        times: Some(times(context, shown)),
        ..HeatMap::default()
    }
    .with_cells(&values, differs.then_some(least_end))
}

/// Returns the values in microseconds or bytes, row by row. Steps that were not measured completely on a device have no value.
fn values(context: &Context<'_>, shown: &[u32], quantity: Quantity) -> Vec<f64> {
    let analysis = context.analysis;
    let num_steps = analysis.steps.len();
    let mut place = vec![None; analysis.devices.used.len()];
    for (&device, row) in shown.iter().zip(0usize..) {
        place.get_mut(device as usize).into_iter().for_each(|place| *place = Some(row));
    }
    let cell = |device: u32, step: u32| -> Option<usize> {
        let row: usize = (*place.get(device as usize)?)?;
        ((step as usize) < num_steps).then_some(row * num_steps + step as usize)
    };
    let mut values = vec![f64::NAN; shown.len() * num_steps];
    if quantity == Quantity::Memory {
        for (device, step, bytes) in peaks(context, shown) {
            cell(device, step).and_then(|at| values.get_mut(at)).into_iter().for_each(|value| *value = bytes as f64);
        }
        return values;
    }
    for row in analysis.step_breakdown.rows.iter().filter(|row| row.whole) {
        let value = row.step.and_then(|step| cell(row.device, step)).and_then(|at| values.get_mut(at));
        value.into_iter().for_each(|value| *value = quantity.of(row).as_us());
    }
    if quantity == Quantity::Wait {
        for of_device in analysis.collectives.runs.chunk_by(|a, b| a.device == b.device) {
            let device = of_device.first().map_or(0, |run| run.device);
            let windows = analysis.steps.sorted(device);
            for run in of_device {
                let at = windows.at(run.start).and_then(|step| cell(device, step));
                if let Some((value, wait)) = at.and_then(|at| values.get_mut(at)).zip(run.wait) {
                    *value += wait.as_us();
                }
            }
        }
    }
    values
}

/// Returns the largest number of bytes in use during each step, as device, step and bytes. Includes bytes that were
/// already in use when the step began.
fn peaks(context: &Context<'_>, shown: &[u32]) -> Vec<(u32, u32, u64)> {
    let analysis = context.analysis;
    let allocators = allocators(context.captured_trace(), Ps::ZERO);
    let mut found = Vec::new();
    for &index in shown {
        let Some(device) = analysis.captured.used.get(index as usize) else { continue };
        let is_own = |it: &&Allocator| it.host == device.host && it.device_ordinal() == Some(device.ordinal);
        let Some(allocator) = allocators.iter().find(is_own) else { continue };
        let windows = analysis.steps.windows.get(index as usize).into_iter().flatten();
        for (window, step) in windows.zip(0u32..) {
            let Some(window) = window else { continue };
            let [start, end] = [window.interval.start, window.interval.end]
                .map(|time| allocator.events.partition_point(|event| event.time < device.to_host(time)));
            let used = allocator.events.iter().take(end).skip(start.saturating_sub(1)).map(AllocatorEvent::used_bytes);
            found.extend(used.max().map(|bytes| (index, step, bytes)));
        }
    }
    found
}

/// Returns the median of the known values, or 0.
fn median_of(values: &[f64]) -> f64 {
    let known: Vec<f64> = values.iter().copied().filter(|value| value.is_finite()).collect();
    median(&known).unwrap_or_default()
}

/// Share of a step, or of the memory, by which a device must differ from the others for the strongest colour. We chose this
/// limit because a smaller difference may be noise.
const LEAST_DIFFERENCE: f64 = 0.01;

/// Returns the smallest difference that may get the strongest colour, in microseconds.
fn least_end_us(context: &Context<'_>) -> f64 {
    let rows = context.analysis.step_breakdown.rows.iter().filter(|row| row.whole);
    let durations: Vec<f64> = rows.map(|row| row.duration.as_us()).collect();
    LEAST_DIFFERENCE * median(&durations).unwrap_or_default()
}

fn subtract_medians(values: &mut [f64], num_columns: usize) {
    for column in 0..num_columns {
        let of_column = || values.iter().skip(column).step_by(num_columns.max(1)).copied();
        let known: Vec<f64> = of_column().filter(|value| value.is_finite()).collect();
        let Some(median) = median(&known) else { continue };
        values.iter_mut().skip(column).step_by(num_columns.max(1)).for_each(|value| *value -= median);
    }
}

/// Returns the times of the steps on one device, and the delay of each other device relative to this device. Every
/// device has its own delay, because the devices' clocks may be unrelated.
fn times(context: &Context<'_>, shown: &[u32]) -> CellTimes {
    let analysis = context.analysis;
    let origin = analysis.devices.capture.map_or(Ps::ZERO, |capture| capture.start);
    let window = |device: u32, step: usize| {
        let window = analysis.steps.windows.get(device as usize)?.get(step).copied().flatten()?;
        Some(((window.interval.start - origin).as_ps(), (window.interval.end - origin).as_ps()))
    };
    let num_steps = analysis.steps.len();
    // The device with most of the steps is the reference.
    let number = |device: u32| (0..num_steps).filter(|&step| window(device, step).is_some()).count();
    let reference = shown.iter().copied().rev().max_by_key(|&device| number(device)).unwrap_or(0);
    let shift = |device: u32| {
        let apart = |step| Some(window(device, step)?.0 - window(reference, step)?.0);
        let mut all: Vec<i64> = (0..num_steps).filter_map(apart).collect();
        sort::numbers(&mut all);
        all.get(all.len() / 2).copied().unwrap_or_default()
    };
    let column = |step| window(reference, step).or_else(|| shown.iter().find_map(|&device| window(device, step)));
    let is_exact = shown.len().saturating_mul(num_steps) <= MOST_EXACT;
    let cells = shown.iter().filter(|_| is_exact).flat_map(|&device| (0..num_steps).map(move |step| (device, step)));
    CellTimes {
        columns: (0..num_steps).map(|step| column(step).unwrap_or_default()).collect(),
        shifts: shown.iter().map(|&device| shift(device)).collect(),
        events: cells.map(|(device, step)| first_op(context, device, step).map(EventId::get)).collect(),
    }
}

fn first_op(context: &Context<'_>, device: u32, step: usize) -> Option<EventId> {
    let analysis = context.analysis;
    let window = analysis.steps.windows.get(device as usize)?.get(step).copied().flatten()?.interval;
    let ops = &analysis.captured.used.get(device as usize)?.ops;
    let start = |id: EventId| context.captured_trace().events.time(id).map_or(Ps::MAX, |(start, _)| start);
    let first = ops.partition_point(|&id| start(id) < window.start);
    ops.get(first).copied().filter(|&id| start(id) < window.end)
}

#[cfg(test)]
mod tests {
    use super::*;
    use document::HeatMap;
    use metrics::analyse;
    use run::{Run, Settings};
    use trace::{EventColumn, Trace, TraceBuilder};

    /// Builds three GPUs in four steps of 1000 us. The last GPU works 50 us longer, and the first GPU works 300 us
    /// longer in step 2.
    fn three_gpus() -> TraceBuilder {
        let mut b = TraceBuilder::new();
        let python = b.line("/host:CPU", "python");
        for step in 0..4i64 {
            b.event(python, "train", 1000 * step, 900).step_num(step);
            for (device, work) in [(0, if step == 2 { 700 } else { 400 }), (1, 400), (2, 450)] {
                let line = b.line(&format!("/device:GPU:{device}"), "Stream #7(Compute)");
                let id = 10 * step + device;
                b.event(python, "cuLaunchKernel", 1000 * step + 2, 1).correlation(id);
                b.event(line, "gemm", 1000 * step + 10 * (device + 1), work).correlation(id);
            }
        }
        b
    }

    /// Adds an allocator to GPU 0 and 2. GPU 0 uses 5 kB from step 1 on, and 9 kB for a part of step 2.
    fn with_allocators() -> Trace {
        let mut b = three_gpus();
        let host = b.line("/host:CPU", "allocator");
        let names = ["GPU_0_bfc", "GPU_2_bfc"].map(|name| b.trace_mut().strings.intern(name));
        for (allocator, time, bytes) in
            [(0, 1200, 5000), (0, 2100, 9000), (0, 2600, 5000), (1, 100, 700), (1, 3999, 600)]
        {
            let name = if bytes == 600 { "MemoryDeallocation" } else { "MemoryAllocation" };
            let event = b.event(host, name, time, 0);
            event.args(|args| args.allocator_name = names[allocator]).value(EventColumn::InUseBytes, bytes);
        }
        b.build()
    }

    fn map_of(filter: &str, options: &[(&str, &str)]) -> (Vec<Block>, HeatMap) {
        let run = Run { trace: three_gpus().build(), ..Run::default() };
        let examined = analyse(&run, &Settings::default());
        let options = options.iter().map(|&(key, value)| (key.to_owned(), value.to_owned())).collect();
        let asked = PageQuery { filter: filter.to_owned(), options, ..PageQuery::default() };
        let blocks = blocks(&examined.context(&run), &asked);
        let map = blocks.iter().find_map(|block| match block {
            Block::HeatMap(map) => Some(map.clone()),
            _ => None,
        });
        (blocks, map.unwrap())
    }

    fn values(map: &HeatMap) -> Vec<Vec<Option<f64>>> {
        let value = |row, column| map.value(row, column).map(|(value, _)| value);
        (0..map.rows.len()).map(|row| (0..3).map(|column| value(row, column)).collect()).collect()
    }

    #[test]
    fn cells_are_differences_from_the_median_of_their_step() {
        let (_, map) = map_of("", &[]);
        let some = |values: [f64; 3]| values.map(Some).to_vec();
        assert_eq!(map.rows, ["/device:GPU:0", "/device:GPU:1", "/device:GPU:2"]);
        assert_eq!(values(&map), [some([0.0, 0.0, 250.0]), some([0.0, 0.0, -50.0]), some([50.0, 50.0, 0.0])]);
        let (_, map) = map_of("", &[(SCALE, "time")]);
        assert_eq!(values(&map), [some([400.0, 400.0, 700.0]), some([400.0; 3]), some([450.0; 3])]);
    }

    #[test]
    fn the_filter_selects_devices_and_a_click_leads_to_the_step() {
        let (_, map) = map_of("device_name=\"/device:GPU:2\"", &[(QUANTITY, "idle"), (SCALE, "time")]);
        assert_eq!(map.rows, ["/device:GPU:2"]);
        assert_eq!(values(&map), [vec![Some(550.0); 3]]);
        let (_, map) = map_of("", &[]);
        let link = map.link(2, 1).unwrap();
        let (start, end) = link.around_ps.unwrap();
        // The kernel of step 1 begins at 1030 us on this device.
        assert!(start > 1_400_000_000 && end < 1_700_000_000, "{start} {end}");
        assert!(link.event.is_some());
    }

    #[test]
    fn quantities_that_do_not_occur_cannot_be_chosen() {
        let (blocks, _) = map_of("", &[]);
        let Some(Block::Choice(choice)) = blocks.first() else { panic!("{blocks:?}") };
        let keys: Vec<&str> = choice.values.iter().map(|(key, _)| key.as_str()).collect();
        assert_eq!(keys, ["work", "duration", "idle", "host"]);
    }

    #[test]
    fn memory_is_the_peak_of_the_allocator_in_each_step() {
        let run = Run { trace: with_allocators(), ..Run::default() };
        let examined = analyse(&run, &Settings::default());
        let options = [(QUANTITY, "memory"), (SCALE, "time")].map(|(key, value)| (key.to_owned(), value.to_owned()));
        let asked = PageQuery { options: options.into(), ..PageQuery::default() };
        let blocks = blocks(&examined.context(&run), &asked);
        let [_, _, Block::HeatMap(map)] = blocks.as_slice() else { panic!("{blocks:?}") };
        // The allocator of GPU 0 records nothing before step 1, and GPU 1 has no allocator.
        let expected = [[None, Some(5000.0), Some(9000.0)], [None; 3], [Some(700.0); 3]];
        assert_eq!((values(map), map.unit), (expected.map(|row| row.to_vec()).to_vec(), Unit::Bytes));
    }

    #[test]
    fn the_page_says_why_it_cannot_show_memory() {
        let (blocks, _) = map_of("", &[]);
        let Some(Block::Note { text }) = blocks.last() else { panic!("{blocks:?}") };
        assert!(text.ends_with("No allocator recorded events during the capture."), "{text}");
    }
}
