//! Table of the layers of the model: the ops by name scope, phase of the training step, or source line.

use crate::record::{Made, TableRecord};
use crate::shown::{RowKey, Shown};
use base::Ps;
use metrics::{Context, Layer, LayerGrouping, Layers, rate};
use report::{LayerTime, Phase, UnifiedProfile};
use table::{Cell, Column, Table, Unit, column, columns};

pub(super) const TABLE: TableRecord = TableRecord {
    forms: &["layer", "each-layer", "phase", "source"],
    shown: Shown {
        leading: &[
            "path",
            "total_self_time_us",
            "busy_self_time_percent",
            "forward_self_time_us",
            "backward_self_time_us",
            "bound_by",
            "num_layers",
            "slowest_layer",
            "slowest_ratio",
        ],
        row_keys: &[RowKey::new("source_info", &["scope"]).of_form("source"), RowKey::new("tf_op_name", &["scope"])],
        ..Shown::WHOLE
    },
    ..TableRecord::new(
        "layers",
        || columns(&COLUMNS),
        Made::Events(|context, form| Box::new(table(context, form)), Some(of_profile)),
    )
};

/// A layer with its sums, and the values that they are compared with.
pub(super) struct Row<'a> {
    layer: &'a Layer,
    path: String,
    /// Self time of all ops.
    whole: Ps,
    /// Peak that XProf compares all ops with, in FLOP/s.
    peak: Option<f64>,
    bytes_at_peak: Option<u64>,
    has_phases: bool,
    has_mixed: bool,
}

type CellOf = fn(&Row<'_>) -> Cell;

pub(super) static COLUMNS: [(Column, CellOf); 24] = [
    (
        column(
            "path",
            "Layer path",
            Unit::Text,
            "Program and name scopes, outermost first, and the primitive. By phase: the phase, name scopes and the primitive. By \
                source: file, function and line.",
        )
        .caveat(
            "`*` replaces the numbers of layers whose paths differ only by number. Transformations (`jvp`, \
                `transpose`, `vmap`) are left out, so that the forward and the backward pass of a layer are one row.",
        ),
        |it| Cell::Text(it.path.clone()),
    ),
    (column("depth", "Depth", Unit::Count, "Depth of the layer. 1 for a program, phase or file."), |it| {
        Cell::Int(u64::from(it.layer.depth))
    }),
    (column("num_ops", "Different ops", Unit::Count, "Number of ops, as listed in the `ops` table."), |it| {
        Cell::Int(it.layer.ops)
    }),
    (
        column(
            "total_self_time_us",
            "Self time",
            Unit::TimeUs,
            "Self time of the ops of the layer and of the layers inside it, summed over devices.",
        )
        .bound(),
        |it| Cell::Float(it.layer.self_time.as_us()),
    ),
    (
        column(
            "busy_self_time_percent",
            "Share of busy time",
            Unit::Percent,
            "Self time as a share of busy time, which is the self time of all ops.",
        ),
        |it| share(it.layer.self_time, it.whole),
    ),
    (
        column("total_time_us", "Total time", Unit::TimeUs, "Summed durations of the ops.")
            .bound()
            .caveat("If an op contains other ops, as a loop does, both the op and the other ops are included."),
        |it| Cell::Float(it.layer.total.as_us()),
    ),
    (
        column("forward_self_time_us", "Forward", Unit::TimeUs, "Self time in the forward pass. See [Phases](#phases).")
            .caveat("Absent if no program computes gradients."),
        |it| in_phase(it, Phase::Forward),
    ),
    (column("backward_self_time_us", "Backward", Unit::TimeUs, "Self time in the backward pass."), |it| {
        in_phase(it, Phase::Backward)
    }),
    (
        column("recomputed_self_time_us", "Recomputed", Unit::TimeUs, "Self time of ops that compute values again."),
        |it| in_phase(it, Phase::Recomputed),
    ),
    (
        column("update_self_time_us", "Update", Unit::TimeUs, "Self time of ops that reduce, clip and apply gradients."),
        |it| in_phase(it, Phase::Update),
    ),
    (column("other_self_time_us", "Other", Unit::TimeUs, "Self time of ops that belong to no phase."), |it| {
        in_phase(it, Phase::Other)
    }),
    (
        column(
            "mixed_self_time_us",
            "Mixed",
            Unit::TimeUs,
            "Self time of fusions that contain ops of several phases. It is part of the time of one of these phases.",
        )
        .caveat("Absent if no program computes gradients or the capture contains no program."),
        |it| if it.has_mixed { Cell::Float(it.layer.mixed.as_us()) } else { Cell::Absent },
    ),
    (
        column(
            "exposed_communication_us",
            "Exposed communication",
            Unit::TimeUs,
            "Time during which a collective of the layer runs and its device computes nothing, summed over devices.",
        )
        .caveat("Absent if the layer has no collective."),
        |it| it.layer.exposed.map_or(Cell::Absent, |time| Cell::Float(time.as_us())),
    ),
    (
        column(
            "bound_by",
            "Bound by",
            Unit::Text,
            "Resource that limits the largest part of the layer's self time.",
        )
        .caveat("Absent if the cost of no op is known."),
        |it| it.layer.bound_by().map_or(Cell::Absent, |bound| Cell::Text(bound.to_owned())),
    ),
    (column("flops", "FLOPs", Unit::Flops, "Known FLOPs of all executions."), |it| float(it.layer.flops)),
    (
        column("bytes_accessed", "Bytes", Unit::Bytes, "Known bytes that all executions read and write.").real(),
        |it| float(it.layer.bytes),
    ),
    (
        column(
            "measured_flop_rate_gflops",
            "FLOP/s",
            Unit::GigaflopsPerSecond,
            "Known FLOPs of the ops divided by their self time.",
        )
        .caveat("If a layer contains only asynchronous pairs, their time from start to end is used."),
        |it| float(speed(it, it.layer.flops).map(|rate| rate * 1e-9)),
    ),
    (
        column(
            "measured_memory_bw_gibps",
            "Memory",
            Unit::GibibytesPerSecond,
            "Known bytes of the ops divided by their self time.",
        )
        .caveat("If a layer contains only asynchronous pairs, their time from start to end is used."),
        |it| float(speed(it, it.layer.bytes).map(|rate| rate / (1u64 << 30) as f64)),
    ),
    (
        column(
            "flops_utilization_percent",
            "FLOPs of peak",
            Unit::Percent,
            "Known FLOPs divided by the self time, as a share of the peak that XProf compares with \
                (`roofline.xprof_peak_gflops`), at most 100.",
        ),
        |it| float(of_peak(it)),
    ),
    (
        column(
            "bytes_at_peak",
            "Memory at peak",
            Unit::Bytes,
            "Bytes of the values that the layer computes and that are alive when the memory of the main program is fullest.",
        )
        .caveat(
            "The main program is the program whose ops take the most self time. Arguments, such as parameters, belong \
                to no layer. Absent \
                if the capture contains no buffer assignment.",
        ),
        |it| it.bytes_at_peak.map_or(Cell::Absent, Cell::Int),
    ),
    (
        column("num_layers", "Layers", Unit::Count, "Number of layers that the row stands for.")
            .caveat("Absent if the path contains no `*`, and in the other forms of the table."),
        |it| it.layer.members.as_ref().map_or(Cell::Absent, |members| Cell::Int(members.count)),
    ),
    (
        column(
            "slowest_layer",
            "Slowest layer",
            Unit::Text,
            "Layer with the most self time among the layers that the row stands for and that do the same work.",
        )
        .caveat(
            "Layers do the same work if their known FLOPs are within 5 % of the median. Absent if fewer than 4 layers, or fewer than \
                half of them, do the same work.",
        ),
        |it| slowest(it).map_or(Cell::Absent, |(name, _)| Cell::Text(name)),
    ),
    (
        column(
            "slowest_ratio",
            "Slowest / median",
            Unit::Number,
            "Self time of the slowest layer divided by the median of the layers that do the same work.",
        ),
        |it| slowest(it).map_or(Cell::Absent, |(_, ratio)| Cell::Float(ratio)),
    ),
    (
        column("scope", "Name", Unit::Text, "Innermost name of the path. Filter by it to see the ops of the layer.")
            .caveat("For a path with `*`, the part before the `*`."),
        |it| Cell::Text(it.layer.name.split('*').next().unwrap_or_default().to_owned()),
    ),
];

fn share(part: Ps, whole: Ps) -> Cell {
    if whole <= Ps::ZERO {
        return Cell::Absent;
    }
    Cell::Float(100.0 * part.as_ps() as f64 / whole.as_ps() as f64)
}

fn in_phase(row: &Row<'_>, phase: Phase) -> Cell {
    if row.has_phases { Cell::Float(row.layer.in_phase(phase).as_us()) } else { Cell::Absent }
}

fn float(value: Option<f64>) -> Cell {
    value.map_or(Cell::Absent, Cell::Float)
}

/// Returns `amount` per second of the time during which the ops worked.
fn speed(row: &Row<'_>, amount: Option<f64>) -> Option<f64> {
    rate(amount?, row.layer.work_time.time())
}

fn of_peak(row: &Row<'_>) -> Option<f64> {
    Some(100.0 * (rate(row.layer.flops?, row.layer.self_time)? / row.peak?).min(1.0))
}

fn slowest(row: &Row<'_>) -> Option<(String, f64)> {
    let slowest = row.layer.members.as_ref()?.slowest.as_ref()?;
    Some((slowest.name.clone(), slowest.ratio()?))
}

fn of_profile(profile: &UnifiedProfile) -> Table {
    let listed = profile.layers.iter().flat_map(|section| &section.layers);
    let wanted: Vec<usize> = COLUMNS_OF_PROFILE.iter().filter_map(|(key, _)| place(key)).collect();
    let all = columns(&COLUMNS);
    let columns = wanted.into_iter().filter_map(|at| all.get(at).cloned()).collect();
    let cells = |layer: &LayerTime| COLUMNS_OF_PROFILE.iter().map(|(_, cell)| cell(layer)).collect();
    Table::new("layers", columns, listed.map(cells).collect())
}

fn place(key: &str) -> Option<usize> {
    COLUMNS.iter().position(|(column, _)| column.key == key)
}

type CellOfProfile = fn(&LayerTime) -> Cell;

/// Columns that a profile contains, with their cells.
static COLUMNS_OF_PROFILE: [(&str, CellOfProfile); 9] = [
    ("path", |it| Cell::Text(it.path.clone())),
    ("total_self_time_us", |it| Cell::Float(it.self_time_us)),
    ("busy_self_time_percent", |it| float(it.busy_self_time_percent)),
    ("exposed_communication_us", |it| float(it.exposed_communication_us)),
    ("flops", |it| float(it.flops)),
    ("bytes_accessed", |it| float(it.bytes_accessed)),
    ("num_layers", |it| if it.path.contains('*') { Cell::Int(it.members) } else { Cell::Absent }),
    ("slowest_layer", |it| it.slowest_member.clone().map_or(Cell::Absent, Cell::Text)),
    ("slowest_ratio", |it| float(it.slowest_ratio)),
];

/// Returns the layers of a run, most self time first. `variant` is one of the [groupings](LayerGrouping).
fn table(context: &Context<'_>, variant: &str) -> Table {
    let grouping = LayerGrouping::from_key(variant);
    let layers = context.layers(grouping);
    let bytes = context.layer_bytes(grouping);
    let ops = &context.analysis.ops;
    let whole = layers.rows.first().map_or(Ps::ZERO, |run| run.self_time);
    let peak = context.analysis.roofline.peaks.as_ref().and_then(|peaks| peaks.xprof_flops_per_second);
    let mut order: Vec<usize> = (1..layers.rows.len()).collect();
    // The sort is stable, so that a layer stays before the layers inside it.
    base::sort::sort_by_key(&mut order, |&at| std::cmp::Reverse(time(layers, at)));
    let cells = |at: usize| {
        let layer = layers.rows.get(at)?;
        let bytes_at_peak = bytes.and_then(|bytes| bytes.get(at).copied());
        let row = Row {
            layer,
            path: layers.path(at),
            whole,
            peak,
            bytes_at_peak,
            has_phases: ops.has_gradients,
            has_mixed: ops.has_phases_of_programs,
        };
        Some(COLUMNS.iter().map(|(_, cell)| cell(&row)).collect())
    };
    Table::new("layers", columns(&COLUMNS), order.into_iter().filter_map(cells).collect())
}

fn time(layers: &Layers, at: usize) -> Ps {
    layers.rows.get(at).map_or(Ps::ZERO, |layer| layer.self_time)
}
