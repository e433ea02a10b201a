//! Table of the input pipeline: its ops, its stages, or the steps with the time of each stage.

use crate::profile_table::{ProfileColumns, float, int, optional_text, text};
use crate::record::{Made, TableRecord};
use crate::shown::{RowKey, Shown};
use base::{Ps, sort};
use facts::hlo_categories::{HOST_RECV, HOST_RECV_DONE, HOST_SEND, HOST_SEND_DONE};
use metrics::{Breakdown, Context, InputCategory, InputStage, StepPart};
use report::{InputOpTime, InputStageTime, UnifiedProfile};
use table::{Cell, Column, Table, Unit, column};
use trace::{ArgsId, EventKind, Interval, Platform, StrId};

pub(super) const TABLE: TableRecord = TableRecord {
    forms: &["ops", "stages", "steps"],
    columns_of_form: Some(columns_of_form),
    shown: Shown {
        row_keys: &[RowKey::new("step", &["step"]).of_form("steps"), RowKey::new("stage", &["stage"])],
        ..Shown::WHOLE
    },
    ..TableRecord::new(
        "input-pipeline",
        all_columns,
        Made::Events(|context, form| Box::new(table(context, form)), Some(|profile| of_profile(profile, "ops"))),
    )
};

const STAGE: Column = Column::of_field("stage", "Stage", Unit::Text, "input_pipeline.stages[].stage");
const BUSY: Column = Column::of_field("busy_percent", "Busy", Unit::Percent, "input_pipeline.ops[].busy_percent");
const COUNT: Column = Column::of_field("count", "Count", Unit::Count, "input_pipeline.ops[].count").xprof("count");
const MEAN: Column = column("mean_time_us", "Mean", Unit::TimeUs, "Mean duration of an event.");

type OpCell = fn(&InputOpTime, f64) -> Cell;

/// Columns of ops. The functions of the cells receive the self time of all ops that XProf lists.
pub(super) static OPS: [(Column, OpCell); 13] = [
    (Column::of_field("name", "Op", Unit::Text, "input_pipeline.ops[].name").xprof("opName"), |op, _| text(&op.name)),
    (STAGE, |op, _| text(&op.stage)),
    (Column::of_field("detail", "In the program", Unit::Text, "input_pipeline.ops[].detail"), |op, _| {
        optional_text(&op.detail)
    }),
    (Column::of_field("parent", "Feeds", Unit::Text, "input_pipeline.ops[].parent"), |op, _| optional_text(&op.parent)),
    (BUSY, |op, _| Cell::Float(op.busy_percent)),
    (COUNT, |op, _| Cell::Int(op.count)),
    (MEAN, |op, _| Cell::Float(op.total_time_us / op.count.max(1) as f64)),
    (
        Column::of_field("total_time_us", "Time", Unit::TimeUs, "input_pipeline.ops[].total_time_us").xprof("timeInMs"),
        |op, _| Cell::Float(op.total_time_us),
    ),
    (
        Column::of_field("self_time_us", "Self time", Unit::TimeUs, "input_pipeline.ops[].self_time_us")
            .xprof("selfTimeInMs"),
        |op, _| Cell::Float(op.self_time_us),
    ),
    (
        column("total_time_percent", "Share", Unit::Percent, "Time as a share of the self time of all ops that XProf lists.")
            .xprof("timeInPercent")
            .caveat("Absent for ops that XProf does not list. XProf writes the share as a fraction."),
        |op, whole| share(op, op.total_time_us, whole),
    ),
    (
        column(
            "self_time_percent",
            "Self share",
            Unit::Percent,
            "Self time as a share of the self time of all ops that XProf lists.",
        )
        .xprof("selfTimeInPercent"),
        |op, whole| share(op, op.self_time_us, whole),
    ),
    (Column::of_field("threads", "Threads", Unit::Count, "input_pipeline.ops[].threads"), |op, _| Cell::Int(op.threads)),
    (
        column(
            "category",
            "Category in XProf",
            Unit::Text,
            "`Enqueue`, `Demanded file read`, `Advanced file read` (behind a prefetch, interleave, cache or parallel map) or \
                `Preprocessing`.",
        )
        .xprof("category")
        .caveat(
            "Absent for ops that XProf does not list. XProf counts all tf.data iterators except five file readers as \
                preprocessing, even if they only wait for other threads.",
        ),
        |op, _| InputCategory::of(op).map_or(Cell::Absent, |it| text(it.label())),
    ),
];

pub(super) static STAGES: ProfileColumns<InputStageTime, 6> = [
    (STAGE, |it| text(&it.stage)),
    (Column::of_field("time_us", "Stage time", Unit::TimeUs, "input_pipeline.stages[].time_us"), |it| {
        Cell::Float(it.time_us)
    }),
    (
        Column::of_field("stage_busy_percent", "Stage busy", Unit::Percent, "input_pipeline.stages[].busy_percent"),
        |it| Cell::Float(it.busy_percent),
    ),
    (
        Column::of_field("thread_time_us", "Time of threads", Unit::TimeUs, "input_pipeline.stages[].thread_time_us"),
        |it| Cell::Float(it.thread_time_us),
    ),
    (COUNT, |it| Cell::Int(it.count)),
    (column("mean_thread_time_us", "Mean", Unit::TimeUs, "Time of threads divided by the number of events."), |it| {
        Cell::Float(it.thread_time_us / it.count.max(1) as f64)
    }),
];

/// Columns of steps before the stages.
const STEP: [Column; 8] = [
    column("step", "Position", Unit::Count, "Position of the step, from 0."),
    column(
        "step_name",
        "Step",
        Unit::Text,
        "Number or name of the step in the trace, or its position if it has neither.",
    ),
    column("duration_us", "Duration", Unit::TimeUs, "Mean over the devices that ran the step."),
    Column::of_field("input_bound_us", "Wait for input", Unit::TimeUs, "step_breakdown.parts.input_bound_us")
        .caveat("Mean over the devices that ran the step, as in the [breakdown of steps](#table-step-breakdown)."),
    column("input_bound_percent", "Waiting share", Unit::Percent, "Wait for input as a share of the step."),
    column(
        "held_us",
        "Held on the host",
        Unit::TimeUs,
        "Time during which a thread that feeds devices is in the input pipeline, on the host of the step's first \
         device.",
    ),
    column(
        "input_us",
        "Input",
        Unit::TimeUs,
        "Wait for input, and copies from the host that overlap with neither computation nor communication. Mean over the \
         devices that ran the step. Absent for TPUs.",
    )
    .xprof("infeedTimeMs")
    .caveat("XProf takes copies for computation unless their name starts with `MEMCPYHtoD`. JAX names them `MemcpyH2D`."),
    column(
        "host_transfer_us",
        "Host transfer",
        Unit::TimeUs,
        "Time of the ops that send data to the host or receive data from the host, including the time during which they wait. \
         Largest value of all cores. Only for TPUs.",
    )
    .xprof("hostTransferTimeMs"),
];

/// Categories of ops of a TPU that exchange data with the host.
const HOST_TRANSFERS: [&str; 4] = [HOST_RECV, HOST_RECV_DONE, HOST_SEND, HOST_SEND_DONE];

/// Columns of the stages of a step.
const STAGE_TIMES: [Column; InputStage::ALL.len()] = [
    stage_time("read_us", "Read"),
    stage_time("preprocess_us", "Preprocess"),
    stage_time("batch_us", "Batch"),
    stage_time("transfer_us", "Transfer"),
    stage_time("enqueue_us", "Enqueue"),
    stage_time("wait_us", "Waiting threads"),
    stage_time("other_us", "Other"),
];

const fn stage_time(key: &'static str, heading: &'static str) -> Column {
    column(
        key,
        heading,
        Unit::TimeUs,
        "Time of the step during which a thread works in this stage, on the host of the step's first device.",
    )
}

fn columns_of_form(form: &str) -> Vec<Column> {
    match form {
        "stages" => STAGES.iter().map(|(column, _)| *column).collect(),
        "steps" => STEP.into_iter().chain(STAGE_TIMES).collect(),
        _ => OPS.iter().map(|(column, _)| *column).collect(),
    }
}

/// Returns the columns of all forms, without duplicates.
fn all_columns() -> Vec<Column> {
    let mut all: Vec<Column> = Vec::new();
    for column in TABLE.forms.iter().flat_map(|form| columns_of_form(form)) {
        if all.iter().all(|known| known.key != column.key) {
            all.push(column);
        }
    }
    all
}

fn table(context: &Context<'_>, form: &str) -> Table {
    let rows = match form {
        "steps" => steps(context),
        _ => return of_profile(context.profile, form),
    };
    Table::new(TABLE.key, columns_of_form(form), rows)
}

fn of_profile(profile: &UnifiedProfile, form: &str) -> Table {
    let rows = match &profile.input_pipeline {
        None => Vec::new(),
        Some(found) if form == "stages" => {
            found.stages.iter().map(|it| STAGES.iter().map(|(_, cell)| cell(it)).collect()).collect()
        }
        Some(found) => {
            let listed = found.ops.iter().filter(|op| InputCategory::of(op).is_some());
            let whole: f64 = listed.map(|op| op.self_time_us).sum();
            found.ops.iter().map(|op| OPS.iter().map(|(_, cell)| cell(op, whole)).collect()).collect()
        }
    };
    Table::new(TABLE.key, columns_of_form(form), rows)
}

fn steps(context: &Context<'_>) -> Vec<Vec<Cell>> {
    let Some(found) = &context.analysis.input_pipeline else { return Vec::new() };
    let breakdown = &context.analysis.step_breakdown;
    let devices = &context.analysis.captured;
    let names = crate::step_breakdown::step_names(&context.profile.steps);
    let transfers = HostTransfers::new(context);
    let is_tpu = devices.platform == Some(Platform::Tpu);
    let row = |rows: &[metrics::StepRow]| {
        let (first, mean) = (rows.first()?, Breakdown::mean_of_step(rows, None)?);
        let device = devices.used.get(first.device as usize)?;
        let end = first.start + first.duration;
        let within = Interval::new(device.to_host(first.start), device.to_host(end));
        let wait = Some(mean.part_us(StepPart::InputBound)).filter(|_| breakdown.measures(StepPart::InputBound));
        let share = wait.filter(|_| mean.duration_us > 0.0).map(|wait| 100.0 * wait / mean.duration_us);
        let held =
            context.analysis.hosts.get(&device.host).map(|host| host.held_by_input.length_within(within).as_us());
        let name = names.get(first.step? as usize).map_or(Cell::Absent, |name| text(name));
        let mut cells = vec![
            int(first.step.map(u64::from)),
            name,
            Cell::Float(mean.duration_us),
            float(wait),
            float(share),
            float(held),
            float((!is_tpu).then(|| wait.unwrap_or(0.0) + mean.part_us(StepPart::HostToDevice))),
            float(transfers.as_ref().map(|it| it.longest(rows).as_us())),
        ];
        let stage = |stage| Cell::Float(found.stage_time(device.host, stage, within).as_us());
        cells.extend(InputStage::ALL.map(stage));
        Some(cells)
    };
    breakdown.steps().filter_map(row).collect()
}

fn share(op: &InputOpTime, time_us: f64, whole: f64) -> Cell {
    float(InputCategory::of(op).filter(|_| whole > 0.0).map(|_| 100.0 * time_us / whole))
}

/// Ops of TPUs that exchange data with the host.
struct HostTransfers {
    /// Start and duration of the ops of each used device, sorted by start.
    of_device: Vec<Vec<(Ps, Ps)>>,
}

impl HostTransfers {
    /// Finds the ops. Returns `None` if the devices are not TPUs.
    fn new(context: &Context<'_>) -> Option<HostTransfers> {
        let (trace, devices) = (context.captured_trace(), &context.analysis.captured);
        if devices.platform != Some(Platform::Tpu) {
            return None;
        }
        let is_transfer =
            |kind: &&EventKind| HOST_TRANSFERS.contains(&trace.text(trace.args.get(kind.args).hlo_category));
        let kinds: Vec<(StrId, ArgsId)> =
            trace.events.kinds().iter().filter(is_transfer).map(|kind| (kind.name, kind.args)).collect();
        let kinds = sort::set(kinds);
        let of_device = |device: &metrics::Device| -> Vec<(Ps, Ps)> {
            let ops = device.ops.iter().filter(|_| !kinds.is_empty()).filter_map(|&id| trace.events.get(id));
            ops.filter(|op| kinds.contains(&(op.name, op.args))).map(|op| (op.start, op.duration)).collect()
        };
        Some(HostTransfers { of_device: devices.used.iter().map(of_device).collect() })
    }

    /// Returns the time of a step's ops on the device where this time is longest.
    fn longest(&self, rows: &[metrics::StepRow]) -> Ps {
        let time = |row: &metrics::StepRow| -> Ps {
            let ops = self.of_device.get(row.device as usize).map_or(&[][..], Vec::as_slice);
            let first = ops.partition_point(|&(start, _)| start < row.start);
            let inside = ops.iter().skip(first).take_while(|&&(start, _)| start < row.start + row.duration);
            inside.map(|&(_, duration)| duration).sum()
        };
        rows.iter().map(time).max().unwrap_or_default()
    }
}
