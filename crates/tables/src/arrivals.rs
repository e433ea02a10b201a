//! Table of the arrivals at collectives: which device arrives last, and how long the other devices wait. A row covers a
//! collective in a group of devices (the default) or a single run (`run`).

use rustc_hash::FxHashMap;

use crate::record::{Made, TableRecord};
use crate::shown::{RowKey, Shown};
use base::{Ps, sort};
use metrics::{Context, GroupRun, SortedWindows};
use table::{Cell, Column, Table, Unit, column};

pub(super) const TABLE: TableRecord = TableRecord {
    forms: &["op", "run"],
    columns_of_form: Some(columns_of_form),
    shown: Shown {
        row_keys: &[
            RowKey::new("device_name", &["device_name"]).of_form("run"),
            RowKey::new("hlo_op_name", &["hlo_op_name"]),
        ],
        ..Shown::WHOLE
    },
    ..TableRecord::new("arrivals", columns, Made::Events(|context, form| Box::new(table(context, form)), None))
};

const OP: Column =
    column("hlo_op_name", "Op", Unit::Text, "HLO instruction, or the kernel if there is no instruction.");
const KIND: Column = Column::of_field("kind", "Kind", Unit::Text, "communication.kinds[].kind");
const STEP: Column = column(
    "step",
    "Step",
    Unit::Count,
    "Zero-based index of the step in which the last device began the collective. Absent outside steps.",
);
const START: Column =
    column("start_us", "Start", Unit::TimeUs, "Time from the start of the capture to the arrival of the last device.");
const DEVICES: Column = column("num_devices", "Devices", Unit::Count, "Number of compared devices in the group.");
const RUNS: Column = column("runs", "Runs", Unit::Count, "Number of runs that were compared in the group.");
const LAST: Column = column(
    "device_name",
    "Last device",
    Unit::Text,
    "Device that arrived last: the device with the shortest run. If a row covers several runs, the device that \
        arrived last most often.",
);
const LAST_PERCENT: Column =
    column("last_percent", "Last, share", Unit::Percent, "Share of the runs in which this device arrived last.");
const WAIT: Column = column(
    "wait_time_us",
    "Wait",
    Unit::TimeUs,
    "Time that the devices of the group waited for the last device: each device's duration minus the shortest \
        duration, summed over the devices.",
);
const MEAN: Column =
    column("mean_wait_us", "Mean wait", Unit::TimeUs, "Wait per run per waiting device (all devices but the last).");
const LONGEST: Column = column("max_wait_us", "Longest wait", Unit::TimeUs, "Longest wait of one device in one run.");
const DELAY: Column = column(
    "delay_us",
    "Delay",
    Unit::TimeUs,
    "Time between the arrivals of the second-last device and the last device. If a row covers several runs, the sum \
        over the runs.",
);
const TRANSFER: Column = column(
    "transfer_time_us",
    "After last arrival",
    Unit::TimeUs,
    "Duration of the run on the last device, during which no device waited for another. If a row covers several runs, \
        the sum over the runs.",
);

fn columns() -> Vec<Column> {
    vec![OP, KIND, STEP, START, DEVICES, RUNS, LAST, LAST_PERCENT, WAIT, MEAN, LONGEST, DELAY, TRANSFER]
}

fn columns_of_form(form: &str) -> Vec<Column> {
    match form {
        "run" => vec![OP, KIND, STEP, START, DEVICES, LAST, WAIT, MEAN, LONGEST, DELAY, TRANSFER],
        _ => vec![OP, KIND, DEVICES, RUNS, LAST, LAST_PERCENT, WAIT, MEAN, LONGEST, DELAY, TRANSFER],
    }
}

fn table(context: &Context<'_>, form: &str) -> Table {
    let rows = if form == "run" { by_run(context) } else { by_op(context) };
    Table::new("arrivals", columns_of_form(form), rows)
}

fn named(context: &Context<'_>, op: u32) -> Option<[Cell; 2]> {
    let (trace, op) = (context.trace(), context.analysis.collectives.ops.get(op as usize)?);
    let hlo_op = trace.args.get(op.args).hlo_op;
    let name = if hlo_op.is_empty() { op.name } else { hlo_op };
    Some([Cell::Text(trace.text(name).to_owned()), Cell::Text(op.kind.to_owned())])
}

fn device(context: &Context<'_>, device: u32) -> Cell {
    let device = context.analysis.devices.used.get(device as usize);
    device.map_or(Cell::Absent, |device| Cell::Text(device.name.clone()))
}

/// Returns the wait per run per waiting device.
fn mean(waited: Ps, waits: u64) -> Cell {
    if waits > 0 { Cell::Float(waited.as_us() / waits as f64) } else { Cell::Absent }
}

fn by_run(context: &Context<'_>) -> Vec<Vec<Cell>> {
    let analysis = context.analysis;
    let origin = analysis.devices.capture.map_or(Ps::ZERO, |capture| capture.start);
    let mut windows: FxHashMap<u32, SortedWindows> = FxHashMap::default();
    let row = |run: &GroupRun| {
        let step = windows.entry(run.last).or_insert_with(|| analysis.steps.sorted(run.last)).at(run.start);
        let mut row = named(context, run.op)?.to_vec();
        row.extend([
            step.map_or(Cell::Absent, |step| Cell::Int(u64::from(step))),
            Cell::Float((run.start - origin).as_us()),
            Cell::Int(u64::from(run.devices)),
            device(context, run.last),
            Cell::Float(run.waited.as_us()),
            mean(run.waited, u64::from(run.devices.saturating_sub(1))),
            Cell::Float(run.longest.as_us()),
            Cell::Float(run.delay.as_us()),
            Cell::Float(run.transfer.as_us()),
        ]);
        Some(row)
    };
    analysis.collectives.group_runs.iter().filter_map(row).collect()
}

/// Sums over all runs of one collective in one group of devices.
#[derive(Default)]
struct Sums {
    runs: u64,
    devices: u32,
    waits: u64,
    waited: Ps,
    longest: Ps,
    delay: Ps,
    transfer: Ps,
    /// Number of runs in which each device arrived last.
    last: FxHashMap<u32, u64>,
}

impl Sums {
    fn add(&mut self, run: &GroupRun) {
        self.runs += 1;
        self.devices = self.devices.max(run.devices);
        self.waits += u64::from(run.devices.saturating_sub(1));
        self.waited += run.waited;
        self.longest = self.longest.max(run.longest);
        self.delay += run.delay;
        self.transfer += run.transfer;
        if run.waited > Ps::ZERO {
            *self.last.entry(run.last).or_default() += 1;
        }
    }
}

/// Returns a row for each collective and group, longest wait first.
fn by_op(context: &Context<'_>) -> Vec<Vec<Cell>> {
    let all = &context.analysis.collectives;
    let mut groups: FxHashMap<(u32, Option<u32>), Sums> = FxHashMap::default();
    for run in &all.group_runs {
        let members = all.ops.get(run.op as usize).and_then(|op| all.members_of(op));
        let group = members.and_then(|members| members.group(run.last));
        groups.entry((run.op, group)).or_default().add(run);
    }
    let mut groups: Vec<_> = groups.into_iter().collect();
    sort::sort_by(&mut groups, |(a, of_a), (b, of_b)| of_b.waited.cmp(&of_a.waited).then_with(|| a.cmp(b)));
    let row = |((op, _), sums): &((u32, Option<u32>), Sums)| {
        let most = sums.last.iter().max_by_key(|&(&device, &count)| (count, std::cmp::Reverse(device)));
        let mut row = named(context, *op)?.to_vec();
        row.extend([
            Cell::Int(u64::from(sums.devices)),
            Cell::Int(sums.runs),
            most.map_or(Cell::Absent, |(&last, _)| device(context, last)),
            most.map_or(Cell::Absent, |(_, &count)| Cell::Float(100.0 * count as f64 / sums.runs.max(1) as f64)),
            Cell::Float(sums.waited.as_us()),
            mean(sums.waited, sums.waits),
            Cell::Float(sums.longest.as_us()),
            Cell::Float(sums.delay.as_us()),
            Cell::Float(sums.transfer.as_us()),
        ]);
        Some(row)
    };
    groups.iter().filter_map(row).collect()
}
