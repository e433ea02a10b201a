//! The op profile: the ops as a tree, a row a node, each below its parent.

use crate::table::{CellRef, Column, Rows, SharedColumn, SharedTexts, Unit};
use metrics::{Context, Grouping, NodeText, OpNode, OpTree, TreeColumns, rate};

const COLUMNS: [Column; 15] = [
    column("name", "Name", Unit::Text),
    column("depth", "Depth", Unit::Count),
    column("total_self_time_us", "Self time", Unit::TimeUs),
    column("total_self_time_percent", "Share", Unit::Percent),
    column("parent_time_percent", "Share of parent", Unit::Percent),
    column("wasted_time_us", "Wasted time", Unit::TimeUs),
    column("utilization_percent", "Of peak", Unit::Percent),
    column("known_cost_percent", "Cost known", Unit::Percent),
    column("flops_utilization_percent", "FLOPs of peak", Unit::Percent),
    column("occurrences", "Count", Unit::Count),
    column("measured_flop_rate_gflops", "FLOP/s", Unit::GigaflopsPerSecond),
    column("measured_memory_bw_gibps", "Memory", Unit::GibibytesPerSecond),
    column("category", "Category", Unit::Text),
    column("hlo_op_name", "Op", Unit::Text),
    column("path", "Path", Unit::Text),
];

const fn column(key: &'static str, title: &'static str, unit: Unit) -> Column {
    Column { key, title, unit }
}

/// The table of a run.
pub struct OpTreeRows<'a> {
    tree: &'a OpTree,
    /// The one peak that XProf compares with, FLOP/s.
    peak: Option<f64>,
    texts: SharedTexts<'a>,
    kept: &'a TreeColumns,
}

/// The columns of texts.
fn text_of(column: usize) -> Option<NodeText> {
    match COLUMNS.get(column)?.key {
        "name" => Some(NodeText::Name),
        "category" => Some(NodeText::Category),
        "hlo_op_name" => Some(NodeText::Op),
        "path" => Some(NodeText::Path),
        _ => None,
    }
}

impl<'a> OpTreeRows<'a> {
    /// The tree by `variant`: `program` (also for an unknown word), `category`, `scope` or `source`.
    pub fn new(context: &Context<'a>, variant: &str) -> OpTreeRows<'a> {
        let (trace, analysis, grouping) = (context.trace(), context.analysis, Grouping::from_key(variant));
        let kept = analysis.tree_columns(trace, grouping);
        let texts = SharedTexts::new(analysis.ops.texts.tables(trace).into_iter().chain([kept.table()]));
        let peak = analysis.roofline.peaks.as_ref().and_then(|peaks| peaks.xprof_flops_per_second);
        OpTreeRows { tree: analysis.tree(trace, grouping), peak, texts, kept }
    }

    /// What XProf's op profile calls FLOPS utilization: known FLOPs over all time, in percent of its one peak.
    fn of_peak(&self, node: &OpNode) -> Option<f64> {
        let share = rate(node.flops.unwrap_or(0.0), node.time)? / self.peak?;
        Some(100.0 * share.min(1.0))
    }

    fn share(&self, node: &OpNode, of: Option<&OpNode>) -> CellRef<'_> {
        let Some(whole) = of.filter(|whole| whole.time.as_ps() > 0) else { return CellRef::Absent };
        CellRef::Float((100.0 * node.time.as_ps() as f64 / whole.time.as_ps() as f64).min(100.0))
    }
}

impl Rows for OpTreeRows<'_> {
    fn name(&self) -> &'static str {
        "op-tree"
    }

    fn columns(&self) -> &[Column] {
        &COLUMNS
    }

    fn len(&self) -> usize {
        self.tree.nodes.len()
    }

    fn cell(&self, row: usize, column: usize) -> CellRef<'_> {
        let Some(node) = self.tree.nodes.get(row) else { return CellRef::Absent };
        let parent = node.parent.and_then(|parent| self.tree.nodes.get(parent as usize));
        if let Some(text) = self.shared_column(column) {
            return CellRef::text(self.texts.get(text.number(row) as usize));
        }
        match column {
            1 => CellRef::Int(u64::from(node.depth)),
            2 => CellRef::Float(node.time.as_us()),
            3 => self.share(node, self.tree.nodes.first()),
            4 => self.share(node, parent),
            5 => CellRef::float(node.unused().map(|time| time.as_us())),
            6 => CellRef::float(node.utilization().map(|share| 100.0 * share)),
            7 => CellRef::float(node.judged().map(|share| 100.0 * share)),
            8 => CellRef::float(self.of_peak(node)),
            9 => CellRef::Int(node.occurrences),
            10 => CellRef::float(node.flops.and_then(|flops| rate(flops, node.work_time)).map(|rate| rate * 1e-9)),
            11 => CellRef::float(
                node.bytes.and_then(|bytes| rate(bytes, node.work_time)).map(|it| it / (1u64 << 30) as f64),
            ),
            _ => CellRef::Absent,
        }
    }

    fn shared_texts(&self) -> SharedTexts<'_> {
        self.texts.clone()
    }

    fn shared_column(&self, column: usize) -> Option<SharedColumn<'_>> {
        Some(SharedColumn::new(self.kept.column(text_of(column)?)))
    }
}
