//! Table of collectives, sends and receives, in four forms: by op (the default), by kind (`kind`), by run (`run`), or
//! as a list of communication that is measured separately (`apart`). The suffix `:0-3` keeps only the ops that send
//! data from device 0 to device 3.

use crate::record::{Made, TableRecord};
use crate::shown::{RowKey, Shown};
use base::format;
use metrics::{CollectiveOp, CollectiveSums, Collectives, Context};
use table::{Cell, Column, Table, Unit, column};

pub(super) const TABLE: TableRecord = TableRecord {
    forms: &["op", "kind", "run", "apart"],
    columns_of_form: Some(columns_of_form),
    shown: Shown {
        leading: &[
            "device_name",
            "track",
            "hlo_op_name",
            "name",
            "kind",
            "start_us",
            "duration_us",
            "occurrences",
            "total_time_us",
            "exposed_time_us",
            "avg_time_us",
            "bytes",
            "busbw_gb_per_sec",
            "gb_per_sec",
            "group_size",
        ],
        row_keys: &[
            RowKey::new("kind", &["kind"]).of_form("kind"),
            RowKey::new("name", &["name"]).of_form("apart"),
            RowKey::new("hlo_op_name", &["hlo_op_name"]),
        ],
        ..Shown::WHOLE
    },
    ..TableRecord::new("collectives", columns, Made::Events(|context, form| Box::new(table(context, form)), None))
};

const OP: Column =
    column("hlo_op_name", "Op", Unit::Text, "HLO instruction, or the kernel if there is no instruction.");

const KIND: Column = Column::of_field("kind", "Kind", Unit::Text, "communication.kinds[].kind");

const SUMS: [Column; 8] = [
    column(
        "occurrences",
        "Count",
        Unit::Count,
        "Number of runs, one per device per execution. For separate measurements, the number of spans in flight or \
            of messages.",
    ),
    column("total_time_us", "Time", Unit::TimeUs, "Summed durations."),
    column("avg_time_us", "Mean", Unit::TimeUs, "Mean duration of a run."),
    column("min_time_us", "Shortest", Unit::TimeUs, "Shortest duration of one run."),
    column("max_time_us", "Longest", Unit::TimeUs, "Longest duration of one run."),
    Column::of_field("exposed_time_us", "Exposed", Unit::TimeUs, "communication.exposed_time_us"),
    Column::of_field("wait_time_us", "Waiting", Unit::TimeUs, "communication.wait_time_us"),
    Column::of_field("transfer_time_us", "Transferring", Unit::TimeUs, "communication.transfer_time_us"),
];

/// Columns that only the form by op has.
const BY_OP: [Column; 12] = [
    Column::of_field("bytes", "Bytes per call", Unit::Bytes, "communication.top_ops[].bytes"),
    Column::of_field(
        "algbw_gb_per_sec",
        "Algorithm bandwidth",
        Unit::GigabytesPerSecond,
        "communication.top_ops[].algorithm_gb_per_sec",
    ),
    Column::of_field(
        "busbw_gb_per_sec",
        "Bus bandwidth",
        Unit::GigabytesPerSecond,
        "communication.top_ops[].bus_gb_per_sec",
    ),
    Column::of_field("group_size", "Group", Unit::Count, "communication.top_ops[].group_size"),
    column("replica_groups", "Groups", Unit::Text, "Members of each group, with iota and mesh forms expanded."),
    column("data_type", "Type", Unit::Text, "Data type of the transferred values.")
        .source("The op's expression or the embedded HLO. Absent if neither contains the type.")
        .caveat(
            "PyTorch kernels record their own collective, element count, data type, group size and ranks, so each \
                message size has its own row.",
        ),
    column("channel_id", "Channel", Unit::Count, "Channel of the instruction.")
        .source("The op's expression or the embedded HLO. Absent if neither contains the channel."),
    column("sharding", "Sharding", Unit::Text, "Sharding in HLO text syntax.")
        .source("The op's expression or the embedded HLO. Absent if neither contains the sharding."),
    column("algorithm", "Algorithm", Unit::Text, "Algorithm, as named by NCCL's kernels."),
    column("protocol", "Protocol", Unit::Text, "Protocol, as named by NCCL's kernels."),
    column("tf_op_name", "Framework op", Unit::Text, "Path of the framework op.")
        .source("The trace or, if it lacks the path, the embedded HLO."),
    column("program_id", "Program", Unit::Text, "Number of the program, as an unsigned decimal."),
];

/// Columns that only the form by run has.
const BY_RUN: [Column; 3] = [
    column("device_name", "Device", Unit::Text, "Device of a run."),
    column("start_us", "Start", Unit::TimeUs, "Start of a run, as time since the start of the capture.").caveat(
        "Starts on different devices are only comparable if the clocks of the devices could be aligned \
            ([Clocks](#clocks)).",
    ),
    column("duration_us", "Duration", Unit::TimeUs, "Duration of a run."),
];

/// Columns that only the form for separate measurements has.
const APART: [Column; 4] = [
    Column::of_field("name", "Op", Unit::Text, "communication.apart[].name"),
    Column::of_field("track", "Seen as", Unit::Text, "communication.apart[].track"),
    Column::of_field("total_bytes", "Bytes", Unit::Bytes, "communication.apart[].bytes"),
    column("gb_per_sec", "Bandwidth", Unit::GigabytesPerSecond, "Bytes divided by time."),
];

/// Returns the columns of all forms.
pub(crate) fn columns() -> Vec<Column> {
    [OP, KIND].into_iter().chain(SUMS).chain(BY_OP).chain(BY_RUN).chain(APART).collect()
}

/// Returns the columns of one form. For an unknown form, returns the columns of the form by op.
pub(crate) fn columns_of_form(form: &str) -> Vec<Column> {
    match form {
        "kind" => std::iter::once(KIND).chain(SUMS).collect(),
        "run" => {
            let ([device, start, duration], [.., exposed, wait, _]) = (BY_RUN, SUMS);
            vec![OP, KIND, device, start, duration, exposed, wait]
        }
        "apart" => {
            let ([name, track, bytes, bandwidth], [count, time, mean, _, _, exposed, ..]) = (APART, SUMS);
            vec![name, KIND, track, count, time, mean, exposed, bytes, bandwidth]
        }
        _ => [OP, KIND].into_iter().chain(SUMS).chain(BY_OP).collect(),
    }
}

/// Returns the table of a run. An unknown variant gives the form by op.
pub(crate) fn table(context: &Context<'_>, variant: &str) -> Table {
    let (form, pair) = match variant.split_once(':') {
        Some((form, pair)) => (form, pair.split_once('-').and_then(|(a, b)| Some((a.parse().ok()?, b.parse().ok()?)))),
        None => (variant, None),
    };
    match form {
        "kind" => by_kind(context),
        "run" => by_run(context, pair),
        "apart" => apart(context),
        _ => by_op(context, pair),
    }
}

/// Returns true if an op moves data between the two given devices, or if no devices are given.
fn sends(all: &Collectives, op: &CollectiveOp, pair: Option<(u32, u32)>) -> bool {
    let Some((from, to)) = pair else { return true };
    let message = &op.message;
    let number = |device| all.members_of(op)?.number(device);
    let (Some(from), Some(to)) = (number(from), number(to)) else { return false };
    if !message.pairs.is_empty() {
        return message.pairs.contains(&(from, to));
    }
    from != to && message.groups.iter().flatten().any(|group| group.contains(&from) && group.contains(&to))
}

fn sums(sums: &CollectiveSums) -> Vec<Cell> {
    let compared = |value: f64| if sums.compared > 0 { Cell::Float(value) } else { Cell::Absent };
    vec![
        Cell::Int(sums.occurrences),
        Cell::Float(sums.total.as_us()),
        Cell::Float(sums.total.as_us() / sums.occurrences.max(1) as f64),
        sums.min.map_or(Cell::Absent, |min| Cell::Float(min.as_us())),
        Cell::Float(sums.max.as_us()),
        Cell::Float(sums.exposed.as_us()),
        compared(sums.wait.as_us()),
        compared(sums.transfer.as_us()),
    ]
}

fn by_kind(context: &Context<'_>) -> Table {
    let kinds = context.analysis.collectives.kinds();
    let rows = kinds.iter().map(|(kind, of)| std::iter::once(Cell::Text((*kind).to_owned())).chain(sums(of)).collect());
    Table::new("collectives", columns_of_form("kind"), rows.collect())
}

fn by_op(context: &Context<'_>, pair: Option<(u32, u32)>) -> Table {
    let all = &context.analysis.collectives;
    let ops = all.ops.iter().filter(|op| sends(all, op, pair));
    let rows = ops.map(|op| op_row(context, op));
    Table::new("collectives", columns_of_form("op"), rows.collect())
}

fn op_row(context: &Context<'_>, op: &CollectiveOp) -> Vec<Cell> {
    let trace = context.trace();
    let args = trace.args.get(op.args);
    let name = if args.hlo_op.is_empty() { op.name } else { args.hlo_op };
    let text =
        |text: Option<&str>| text.filter(|text| !text.is_empty()).map_or(Cell::Absent, |t| Cell::Text(t.to_owned()));
    let int = |value: Option<u64>| value.map_or(Cell::Absent, Cell::Int);
    let float = |value: Option<f64>| value.map_or(Cell::Absent, Cell::Float);
    let message = &op.message;
    let mut row = vec![Cell::Text(trace.text(name).to_owned()), Cell::Text(op.kind.to_owned())];
    row.extend(sums(&op.sums));
    row.extend([
        int(message.bytes),
        float(op.algorithm_gb_per_sec()),
        float(op.bus_gb_per_sec()),
        int(message.group_size.map(u64::from)),
        text(message.groups.as_ref().map(|groups| groups_text(groups)).as_deref()),
        text(message.data_type.map(|it| it.name())),
        int(message.channel_id),
        text(message.sharding.as_deref()),
        text(op.algorithm.as_deref()),
        text(op.protocol.as_deref()),
        text(Some(&op.framework_op)),
        text(args.program_id.map(|id| id.cast_unsigned().to_string()).as_deref()),
    ]);
    row
}

/// Formats groups of devices: `{0,1},{2,3}`. Long lists are shortened.
fn groups_text(groups: &[Vec<u32>]) -> String {
    let group = |members: &Vec<u32>| {
        let members: Vec<String> = members.iter().map(u32::to_string).collect();
        format!("{{{}}}", members.join(","))
    };
    format::shorten(&groups.iter().take(64).map(group).collect::<Vec<_>>().join(","), 400)
}

/// Lists collectives that are not part of any sum: see `communication.apart`.
fn apart(context: &Context<'_>) -> Table {
    let rows = context.analysis.collectives.apart.iter().map(|one| {
        let seconds = one.total.as_ps() as f64 * 1e-12;
        let speed = one.bytes.filter(|_| seconds > 0.0).map(|bytes| bytes as f64 / seconds * 1e-9);
        vec![
            Cell::Text(context.trace().text(one.name).to_owned()),
            Cell::Text(one.kind.to_owned()),
            Cell::Text(one.track.label().to_owned()),
            Cell::Int(one.count),
            Cell::Float(one.total.as_us()),
            Cell::Float(one.total.as_us() / one.count.max(1) as f64),
            one.exposed.map_or(Cell::Absent, |exposed| Cell::Float(exposed.as_us())),
            one.bytes.map_or(Cell::Absent, Cell::Int),
            speed.map_or(Cell::Absent, Cell::Float),
        ]
    });
    Table::new("collectives", columns_of_form("apart"), rows.collect())
}

fn by_run(context: &Context<'_>, pair: Option<(u32, u32)>) -> Table {
    let (all, trace) = (&context.analysis.collectives, context.trace());
    let origin = context.analysis.devices.capture.map_or(base::Ps::ZERO, |capture| capture.start);
    let rows = all.runs.iter().filter_map(|run| {
        let op = all.ops.get(run.op as usize)?;
        if !sends(all, op, pair) || pair.is_some_and(|(from, _)| from != run.device) {
            return None;
        }
        let device = context.analysis.devices.used.get(run.device as usize)?;
        Some(vec![
            Cell::Text(trace.text(op.name).to_owned()),
            Cell::Text(op.kind.to_owned()),
            Cell::Text(device.name.clone()),
            Cell::Float((run.start - origin).as_us()),
            Cell::Float(run.duration.as_us()),
            Cell::Float(run.exposed.as_us()),
            run.wait.map_or(Cell::Absent, |wait| Cell::Float(wait.as_us())),
        ])
    });
    Table::new("collectives", columns_of_form("run"), rows.collect())
}
