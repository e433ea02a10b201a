//! Op profile: the ops as a tree, one row per node, each below its parent.

use crate::record::{Made, TableRecord};
use metrics::{Context, Grouping, NodeText, OpNode, OpTree, TreeColumns, rate};
use table::{CellRef, Column, Rows, SharedColumn, SharedTexts, Unit, column, columns};

pub(super) const TABLE: TableRecord = TableRecord {
    forms: &["program", "category", "scope", "source"],
    ..TableRecord::new(
        "op-tree",
        || columns(&COLUMNS),
        Made::Events(|context, form| Box::new(OpTreeRows::new(context, form)), None),
    )
};

/// Source of a cell.
pub(super) enum NodeValue {
    /// Text that nodes share.
    Text(NodeText),
    /// Any other cell.
    Cell(for<'t> fn(&'t OpTreeRows<'t>, &'t OpNode) -> CellRef<'t>),
}

pub(super) static COLUMNS: [(Column, NodeValue); 15] = [
    (
        column("name", "Name", Unit::Text, "The node.")
            .caveat("Copies of one instruction (`deduplicated_name`) are under the node \"... and its duplicates\"."),
        NodeValue::Text(NodeText::Name),
    ),
    (
        column("depth", "Depth", Unit::Count, "Depth of the node. 0 for the root."),
        NodeValue::Cell(|_, node| CellRef::Int(u64::from(node.depth))),
    ),
    (
        column("total_self_time_us", "Self time", Unit::TimeUs, "Self time of the ops below the node.").bound(),
        NodeValue::Cell(|_, node| CellRef::Float(node.time.as_us())),
    ),
    (
        column(
            "total_self_time_percent",
            "Share of the whole",
            Unit::Percent,
            "Self time as a share of the root's self time.",
        ),
        NodeValue::Cell(|rows, node| share(node, rows.tree.nodes.first())),
    ),
    (
        column(
            "parent_time_percent",
            "Share of parent",
            Unit::Percent,
            "Self time as a share of the parent's self time.",
        ),
        NodeValue::Cell(|rows, node| share(node, rows.parent(node))),
    ),
    (
        column(
            "wasted_time_us",
            "Wasted time",
            Unit::TimeUs,
            "Idle time, plus the self time that ops lose below the roofline. An op loses `self time * (1 - roofline \
                efficiency)`; ops with unknown efficiency are excluded.",
        )
        .caveat("Absent if the node has no idle time and no op with a known efficiency."),
        NodeValue::Cell(|_, node| CellRef::float(node.unused().map(|time| time.as_us()))),
    ),
    (
        column(
            "utilization_percent",
            "Of peak",
            Unit::Percent,
            "Share of the judged time that is not wasted: `100 * (1 - wasted time / judged time)`. Judged time is \
                idle time plus the self time of ops with a known efficiency.",
        )
        .caveat("Ops with unknown cost are excluded. Absent if no op has a known cost; 0 for idle time."),
        NodeValue::Cell(|_, node| CellRef::float(node.utilization().map(|share| 100.0 * share))),
    ),
    (
        column(
            "known_cost_percent",
            "Cost known",
            Unit::Percent,
            "Share of the node's time in ops with a known cost. The node's share of the peak is based on these ops.",
        ),
        NodeValue::Cell(|_, node| CellRef::float(node.judged().map(|share| 100.0 * share))),
    ),
    (
        column(
            "flops_utilization_percent",
            "FLOPs of peak",
            Unit::Percent,
            "Known FLOPs below the node divided by its whole time, as a share of the peak that XProf compares with \
                (`roofline.xprof_peak_gflops`), at most 100.",
        )
        .caveat(
            "XProf's \"FLOPS utilization\" of programs, categories and ops of a TPU. Its root excludes idle time; \
                crossprof's root includes it. XProf derives wasted time from this number alone, so it treats a copy at full \
                bandwidth as wasted time; `utilization_percent` uses the limit that applies to the op.",
        ),
        NodeValue::Cell(|rows, node| CellRef::float(rows.of_peak(node))),
    ),
    (
        column("occurrences", "Events", Unit::Count, "Number of events of the ops below the node (kernels on GPUs)."),
        NodeValue::Cell(|_, node| CellRef::Int(node.occurrences)),
    ),
    (
        column(
            "measured_flop_rate_gflops",
            "FLOP/s",
            Unit::GigaflopsPerSecond,
            "Known FLOPs below the node divided by the self time of its ops.",
        )
        .caveat("If a node contains only asynchronous pairs, their time from start to end is used."),
        NodeValue::Cell(|_, node| {
            CellRef::float(node.flops.and_then(|flops| rate(flops, node.work_time.time())).map(|rate| rate * 1e-9))
        }),
    ),
    (
        column(
            "measured_memory_bw_gibps",
            "Memory",
            Unit::GibibytesPerSecond,
            "Known bytes below the node divided by the self time of its ops.",
        )
        .caveat(
            "If a node contains only asynchronous pairs, their time from start to end is used. The bytes of a \
                `copy-done` repeat the bytes of its `copy-start`, so they are included only in the row of the \
                `copy-done`.",
        ),
        NodeValue::Cell(|_, node| {
            let speed = node.bytes.and_then(|bytes| rate(bytes, node.work_time.time()));
            CellRef::float(speed.map(|it| it / (1u64 << 30) as f64))
        }),
    ),
    (
        column("category", "Category", Unit::Text, "Category of the op. Only for leaves, which are ops."),
        NodeValue::Text(NodeText::Category),
    ),
    (
        column("hlo_op_name", "Op", Unit::Text, "Name of the op. Only for leaves, which are ops."),
        NodeValue::Text(NodeText::Op),
    ),
    (column("path", "Path", Unit::Text, "Names from the root to the node."), NodeValue::Text(NodeText::Path)),
];

/// Table of a run.
pub(crate) struct OpTreeRows<'a> {
    tree: &'a OpTree,
    /// Peak that XProf compares all ops with, in FLOP/s.
    peak: Option<f64>,
    texts: SharedTexts<'a>,
    kept: &'a TreeColumns,
    columns: Vec<Column>,
}

impl<'a> OpTreeRows<'a> {
    /// Creates the tree by `variant`: `program` (also for unknown words), `category`, `scope` or
    /// `source`.
    pub(crate) fn new(context: &Context<'a>, variant: &str) -> OpTreeRows<'a> {
        let (trace, analysis, grouping) = (context.trace(), context.analysis, Grouping::from_key(variant));
        let kept = context.tree_columns(grouping);
        let texts = SharedTexts::new(analysis.ops.texts.tables(trace).into_iter().chain([kept.table()]));
        let peak = analysis.roofline.peaks.as_ref().and_then(|peaks| peaks.xprof_flops_per_second);
        OpTreeRows { tree: context.tree(grouping), peak, texts, kept, columns: columns(&COLUMNS) }
    }

    /// Returns the FLOPS utilization of XProf's op profile: known FLOPs divided by the whole time, in percent of XProf's peak.
    fn of_peak(&self, node: &OpNode) -> Option<f64> {
        let share = rate(node.flops.unwrap_or(0.0), node.time)? / self.peak?;
        Some(100.0 * share.min(1.0))
    }

    fn parent(&self, node: &OpNode) -> Option<&OpNode> {
        self.tree.nodes.get(node.parent? as usize)
    }
}

fn share<'a>(node: &OpNode, of: Option<&OpNode>) -> CellRef<'a> {
    let Some(whole) = of.filter(|whole| whole.time.as_ps() > 0) else { return CellRef::Absent };
    CellRef::Float((100.0 * node.time.as_ps() as f64 / whole.time.as_ps() as f64).min(100.0))
}

impl Rows for OpTreeRows<'_> {
    fn name(&self) -> &'static str {
        "op-tree"
    }

    fn columns(&self) -> &[Column] {
        &self.columns
    }

    fn len(&self) -> usize {
        self.tree.nodes.len()
    }

    fn cell(&self, row: usize, column: usize) -> CellRef<'_> {
        match (self.tree.nodes.get(row), COLUMNS.get(column)) {
            (Some(_), Some((_, NodeValue::Text(text)))) => {
                let number = SharedColumn::new(self.kept.column(*text)).number(row);
                CellRef::text(self.texts.get(number as usize))
            }
            (Some(node), Some((_, NodeValue::Cell(cell)))) => cell(self, node),
            _ => CellRef::Absent,
        }
    }

    fn shared_texts(&self) -> SharedTexts<'_> {
        self.texts.clone()
    }

    fn shared_column(&self, column: usize) -> Option<SharedColumn<'_>> {
        match COLUMNS.get(column)?.1 {
            NodeValue::Text(text) => Some(SharedColumn::new(self.kept.column(text))),
            NodeValue::Cell(_) => None,
        }
    }
}
