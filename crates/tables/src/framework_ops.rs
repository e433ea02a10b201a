//! Table of ops by their name in the framework: XProf's `framework_op_stats` for the devices, with
//! its column ids.
//!
//! A framework op (`jit(f)/layer_3/dot_general`) becomes several HLO ops, in several programs. Ops without a path are separate
//! rows. Excludes the host rows that XProf's preprocessing adds. The step breakdown splits host time by thread role instead.

use rustc_hash::FxHashMap;

use super::op_columns;
use crate::record::{Made, TableRecord};
use crate::shown::Shown;
use base::{Ps, sort};
use metrics::roofline::Bound;
use metrics::{Context, Op, Text, rate};
use table::{CellRef, Column, Rows, Unit, column, columns};

pub(super) const TABLE: TableRecord = TableRecord {
    shown: Shown {
        leading: &[
            "operation",
            "type",
            "total_self_time_us",
            "busy_self_time_percent",
            "occurrences",
            "avg_self_time_us",
            "bound_by",
            "num_hlo_ops",
        ],
        ..Shown::WHOLE
    },
    ..TableRecord::new(
        "framework-ops",
        || columns(&COLUMNS),
        Made::Events(|context, _| Box::new(FrameworkOpRows::new(context)), None),
    )
};

type CellOf = for<'t> fn(&'t FrameworkOpRows<'t>, &PlacedGroup<'t>) -> CellRef<'t>;

pub(super) static COLUMNS: [(Column, CellOf); 18] = [
    (column("rank", "Rank", Unit::Count, "Rank by self time, from 1.").xprof("rank"), |_, it| {
        CellRef::Int(it.row as u64 + 1)
    }),
    (
        column("operation", "Framework op", Unit::Text, "Path of the framework op, or the op's name.")
            .xprof("operation"),
        |rows, it| CellRef::text(rows.name(it.group)),
    ),
    (
        column(
            "type",
            "Type",
            Unit::Text,
            "Text after `:` (`MatMul` for `dense/MatMul:MatMul`). If there is no `:`, the last part of the path \
                without parameters. `Unknown` if there is no path.",
        )
        .xprof("type"),
        |rows, it| CellRef::text(rows.kind(it.group)),
    ),
    (
        column(
            "total_self_time_us",
            "Self time",
            Unit::TimeUs,
            "Time during which the op runs and no op that started later runs on the same line, summed over devices.",
        )
        .bound()
        .xprof("total_self_time"),
        |_, it| CellRef::Float(it.group.self_time.as_us()),
    ),
    (
        column(
            "device_total_self_time_percent",
            "Share of measured time",
            Unit::Percent,
            "Self time as a share of the time of all devices, including idle time.",
        )
        .caveat("XProf's first table shows a fraction instead of a percentage.")
        .xprof("device_total_self_time_percent"),
        |rows, it| share(it.group.self_time, rows.device_time()),
    ),
    (
        column(
            "busy_self_time_percent",
            "Share of busy time",
            Unit::Percent,
            "Self time as a share of all ops' self time, excluding idle time (XProf's second table).",
        ),
        |rows, it| share(it.group.self_time, rows.context.analysis.ops.op_time),
    ),
    (
        column(
            "device_cumulative_total_self_time_percent",
            "Cumulative share of measured time",
            Unit::Percent,
            "Sum of the shares of this row and the rows above.",
        )
        .caveat("XProf shows a fraction instead of a percentage.")
        .xprof("device_cumulative_total_self_time_percent"),
        |rows, it| share(it.group.cumulative, rows.device_time()),
    ),
    (
        column(
            "occurrences",
            "Events",
            Unit::Count,
            "Number of events (kernels on GPUs) of the row's most frequent HLO op, as in XProf.",
        )
        .xprof("occurrences"),
        |_, it| CellRef::Int(it.group.occurrences),
    ),
    (
        column("avg_self_time_us", "Mean self time", Unit::TimeUs, "Self time divided by the number of events.")
            .bound()
            .xprof("avg_self_time"),
        |_, it| it.mean(it.group.self_time),
    ),
    (column("total_time_us", "Total time", Unit::TimeUs, "Summed durations.").bound().xprof("total_time"), |_, it| {
        CellRef::Float(it.group.total.as_us())
    }),
    (
        column("avg_time_us", "Mean time", Unit::TimeUs, "Mean duration of an occurrence.").bound().xprof("avg_time"),
        |_, it| it.mean(it.group.total),
    ),
    (
        column(
            "bound_by",
            "Bound by",
            Unit::Text,
            "Limit that the ops of the row, taken together, are closest to; see [Roofline](#roofline).",
        )
        .caveat("The compute limit takes the data types of all these ops into account.")
        .xprof("bound_by"),
        |_, it| it.group.bound_by.map_or(CellRef::Absent, CellRef::Text),
    ),
    (
        column(
            "measured_flop_rate_gflops",
            "FLOP/s",
            Unit::GigaflopsPerSecond,
            "FLOPs of the row's ops divided by total time.",
        )
        .caveat("For asynchronous pairs, the time from start to end is used.")
        .xprof("measured_flop_rate"),
        |_, it| it.per_second(it.group.flops, 1e9),
    ),
    (op_columns::MODEL_FLOP_RATE, |_, it| it.per_second(it.group.model_flops, 1e9)),
    (op_columns::MEMORY_BANDWIDTH, |_, it| it.per_second(it.group.bytes, (1u64 << 30) as f64)),
    (op_columns::INTENSITY, |_, it| {
        let bytes = it.group.bytes.filter(|&bytes| bytes > 0.0);
        CellRef::float(it.group.flops.zip(bytes).map(|(flops, bytes)| flops / bytes))
    }),
    (
        column(
            "gpu_tensorcore_utilization_percent",
            "On tensor cores",
            Unit::Percent,
            "Time of kernels whose names indicate tensor cores, as a share of the row's total time.",
        )
        .caveat("Absent if no GPU ran, or if the use of tensor cores is unknown because the ops have no path.")
        .xprof("gpu_tensorcore_utilization"),
        |_, it| CellRef::float(it.group.tensor_core_percent),
    ),
    (
        column("num_hlo_ops", "HLO ops", Unit::Count, "Number of HLO ops that the framework op was compiled into."),
        |_, it| CellRef::Int(it.group.num_ops),
    ),
];

/// Framework op with its index in the table.
pub(super) struct PlacedGroup<'a> {
    row: usize,
    group: &'a Group,
}

impl<'a> PlacedGroup<'a> {
    /// Returns the mean time per occurrence.
    fn mean(&self, time: Ps) -> CellRef<'a> {
        match self.group.occurrences {
            0 => CellRef::Absent,
            count => CellRef::Float(time.as_us() / count as f64),
        }
    }

    fn per_second(&self, amount: Option<f64>, unit: f64) -> CellRef<'a> {
        CellRef::float(amount.and_then(|amount| rate(amount, self.group.work_time)).map(|rate| rate / unit))
    }
}

/// Framework op: sums over its HLO ops.
#[derive(Default)]
pub(super) struct Group {
    /// Path of the framework op. For an op without a path, the op's name.
    text: Text,
    has_path: bool,
    /// Occurrences by XProf's definition: executions of the HLO op that ran most often.
    occurrences: u64,
    total: Ps,
    self_time: Ps,
    flops: Option<f64>,
    model_flops: Option<f64>,
    bytes: Option<f64>,
    /// Time during which the work was done: the total time or, for asynchronous pairs, the time from start to end.
    work_time: Ps,
    num_ops: u64,
    bound_by: Option<&'static str>,
    tensor_core_percent: Option<f64>,
    /// Self time of this row and the rows above it.
    cumulative: Ps,
}

impl Group {
    fn add(&mut self, op: &Op) {
        self.occurrences = self.occurrences.max(op.occurrences);
        self.total += op.total;
        self.self_time += op.self_time;
        self.num_ops += 1;
        // The op that waits for an asynchronous op duplicates its cost.
        if !op.is_left_out() {
            self.add_cost(op);
        }
    }

    fn add_cost(&mut self, op: &Op) {
        add(&mut self.flops, op.flops);
        add(&mut self.model_flops, op.model_flops.or(op.flops));
        add(&mut self.bytes, op.bytes);
        self.work_time += op.work_time();
    }
}

fn add(sum: &mut Option<f64>, value: Option<f64>) {
    if let Some(value) = value {
        *sum = Some(sum.unwrap_or(0.0) + value);
    }
}

/// Table of a run.
pub(crate) struct FrameworkOpRows<'a> {
    context: Context<'a>,
    groups: Vec<Group>,
    columns: Vec<Column>,
}

impl<'a> FrameworkOpRows<'a> {
    /// Creates the table of a run, sorted by self time, largest first.
    pub(crate) fn new(context: &Context<'a>) -> FrameworkOpRows<'a> {
        let (ops, trace, roofline) = (&context.analysis.ops, context.trace(), &context.analysis.roofline);
        let mut index: FxHashMap<(bool, &str), usize> = FxHashMap::default();
        let mut members: Vec<Vec<&Op>> = Vec::new();
        let mut groups: Vec<Group> = Vec::new();
        for op in &ops.rows {
            let has_path = !op.framework_path.is_empty();
            let text = if has_path { op.framework_path } else { op.name };
            let name = operation(ops.text(trace, text), has_path);
            let at = *index.entry((has_path, name)).or_insert_with(|| {
                groups.push(Group { text, has_path, ..Group::default() });
                members.push(Vec::new());
                groups.len() - 1
            });
            if let (Some(group), Some(members)) = (groups.get_mut(at), members.get_mut(at)) {
                group.add(op);
                members.push(op);
            }
        }
        let tensor_cores = TensorCores::new(context);
        for (group, members) in groups.iter_mut().zip(&members) {
            // A row with a single op has the cost and rates of that op, even if another op records the same cost.
            if let [op] = members.as_slice()
                && op.is_left_out()
            {
                group.add_cost(op);
            }
            let point = roofline.point_of_all(members);
            group.bound_by = point.map(|point| point.bound_by).filter(|&it| it != Bound::Unknown).map(Bound::label);
            let name = operation(ops.text(trace, group.text), group.has_path);
            group.tensor_core_percent = tensor_cores.percent(name, group);
        }
        let name = |group: &Group| operation(ops.text(trace, group.text), group.has_path);
        sort::sort_by(&mut groups, |a, b| b.self_time.cmp(&a.self_time).then_with(|| name(a).cmp(name(b))));
        let mut sum = Ps::ZERO;
        for group in &mut groups {
            sum += group.self_time;
            group.cumulative = sum;
        }
        FrameworkOpRows { context: *context, groups, columns: columns(&COLUMNS) }
    }

    fn device_time(&self) -> Ps {
        self.context.analysis.ops.device_time
    }

    fn name(&self, group: &Group) -> &'a str {
        operation(self.context.analysis.ops.text(self.context.trace(), group.text), group.has_path)
    }

    fn kind(&self, group: &Group) -> &'a str {
        let text = self.context.analysis.ops.text(self.context.trace(), group.text);
        if group.has_path { op_type(text) } else { "Unknown" }
    }
}

impl Rows for FrameworkOpRows<'_> {
    fn name(&self) -> &'static str {
        "framework-ops"
    }

    fn columns(&self) -> &[Column] {
        &self.columns
    }

    fn len(&self) -> usize {
        self.groups.len()
    }

    fn cell(&self, row: usize, column: usize) -> CellRef<'_> {
        match (self.groups.get(row), COLUMNS.get(column)) {
            (Some(group), Some((_, cell))) => cell(self, &PlacedGroup { row, group }),
            _ => CellRef::Absent,
        }
    }
}

fn share<'a>(part: Ps, whole: Ps) -> CellRef<'a> {
    if whole <= Ps::ZERO {
        return CellRef::Absent;
    }
    CellRef::Float((100.0 * part.as_ps() as f64 / whole.as_ps() as f64).min(100.0))
}

/// Splits `path:Type` into `path` and `Type`. The type is empty if the path has none
/// (`jit(f)/add:`, `jit(f)/add`).
fn parts(text: &str) -> (&str, &str) {
    match text.rsplit_once(':') {
        Some((path, kind)) if kind.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_') => (path, kind),
        _ => (text, ""),
    }
}

fn operation(text: &str, has_path: bool) -> &str {
    if has_path { parts(text).0 } else { text }
}

/// Returns the operation of a path: the recorded type or, if there is none, the last part of the path without parameters
/// (`while[cond=...]`).
fn op_type(text: &str) -> &str {
    let (path, kind) = parts(text);
    let last = path.rsplit('/').next().unwrap_or(path);
    if kind.is_empty() { last.split('[').next().unwrap_or(last) } else { kind }
}

/// Time of kernels that use tensor cores, by framework op.
struct TensorCores<'a> {
    on_gpu: bool,
    by_path: FxHashMap<&'a str, Ps>,
    /// True if some kernel that uses tensor cores has no framework path. The op to which the kernel belongs is then
    /// unknown, so ops without a path show no percentage.
    without_path: bool,
}

impl<'a> TensorCores<'a> {
    fn new(context: &Context<'a>) -> TensorCores<'a> {
        let kernels = &context.analysis.kernel_stats;
        let mut found = TensorCores { on_gpu: false, by_path: FxHashMap::default(), without_path: false };
        for kernel in &kernels.kernels {
            let Some(uses) = kernel.uses_tensor_core else { continue };
            found.on_gpu = true;
            match operation(kernels.text(context.trace(), kernel.op_name), true) {
                _ if !uses => {}
                "" => found.without_path = true,
                path => *found.by_path.entry(path).or_default() += kernel.occurrences.total,
            }
        }
        found
    }

    fn percent(&self, name: &str, group: &Group) -> Option<f64> {
        if !self.on_gpu || group.total <= Ps::ZERO || (!group.has_path && self.without_path) {
            return None;
        }
        let time = self.by_path.get(name).copied().filter(|_| group.has_path).unwrap_or_default();
        Some((100.0 * time.as_ps() as f64 / group.total.as_ps() as f64).min(100.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operation_and_type_are_read_from_paths() {
        for (text, path, kind) in [
            ("jit(f)/jit(main)/add:", "jit(f)/jit(main)/add", "add"),
            ("jit(f)/layer_3/dot_general", "jit(f)/layer_3/dot_general", "dot_general"),
            ("model/dense/MatMul:MatMul", "model/dense/MatMul", "MatMul"),
            ("jit(f)/jvp(bsd,de->bse)/while[cond=a]", "jit(f)/jvp(bsd,de->bse)/while[cond=a]", "while"),
            ("a::b/c d", "a::b/c d", "c d"),
            ("x", "x", "x"),
        ] {
            assert_eq!((operation(text, true), op_type(text)), (path, kind), "{text}");
        }
        assert_eq!(operation("fusion:1", false), "fusion:1");
    }
}
