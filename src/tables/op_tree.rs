//! The op profile: the ops as a tree, a row a node, each below its parent.

use crate::analysis::Context;
use crate::metrics::ops::tree::{Node, Tree};
use crate::metrics::ops::{Grouping, Ops, rate};
use crate::table::{CellRef, Column, Rows, Unit};
use crate::trace::Trace;

const COLUMNS: [Column; 13] = [
    column("name", "Name", Unit::Text),
    column("depth", "Depth", Unit::Count),
    column("total_self_time_us", "Self time", Unit::TimeUs),
    column("total_self_time_percent", "Share", Unit::Percent),
    column("parent_time_percent", "Share of parent", Unit::Percent),
    column("wasted_time_us", "Wasted time", Unit::TimeUs),
    column("utilization_percent", "Of peak", Unit::Percent),
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
    trace: &'a Trace,
    ops: &'a Ops,
    tree: &'a Tree,
    /// Path of each node that is no leaf, and of each leaf's parent.
    paths: Vec<String>,
}

impl<'a> OpTreeRows<'a> {
    /// The tree by `variant`: `program` (also for an unknown word), `category`, `scope` or `source`.
    pub fn new(context: &Context<'a>, variant: &str) -> OpTreeRows<'a> {
        let (trace, ops) = (context.trace(), &context.analysis.ops);
        let tree = context.analysis.tree(trace, Grouping::from_key(variant));
        let mut paths: Vec<String> = Vec::with_capacity(tree.nodes.len());
        for node in &tree.nodes {
            let above = node.parent.and_then(|parent| paths.get(parent as usize)).map_or("", String::as_str);
            paths.push(match (node.op, above) {
                // A leaf shows its parent's.
                (Some(_), _) => String::new(),
                (None, "") => node.name.clone(),
                (None, above) => format!("{above}/{}", node.name),
            });
        }
        OpTreeRows { trace, ops, tree, paths }
    }

    fn share(&self, node: &Node, of: Option<&Node>) -> CellRef<'_> {
        let Some(whole) = of.filter(|whole| whole.time.0 > 0) else { return CellRef::Absent };
        CellRef::Float((100.0 * node.time.0 as f64 / whole.time.0 as f64).min(100.0))
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
        let op = node.op.and_then(|op| self.ops.rows.get(op as usize));
        match column {
            0 => CellRef::text(self.tree.name(self.trace, self.ops, row)),
            1 => CellRef::Int(u64::from(node.depth)),
            2 => CellRef::Float(node.time.as_us()),
            3 => self.share(node, self.tree.nodes.first()),
            4 => self.share(node, parent),
            5 => CellRef::float(node.wasted.map(|time| time.as_us())),
            6 => CellRef::float(
                node.wasted
                    .filter(|_| node.time.0 > 0)
                    .map(|wasted| (100.0 * (1.0 - wasted.0 as f64 / node.time.0 as f64)).clamp(0.0, 100.0)),
            ),
            7 => CellRef::Int(node.occurrences),
            8 => CellRef::float(node.flops.and_then(|flops| rate(flops, node.time)).map(|rate| rate * 1e-9)),
            9 => CellRef::float(node.bytes.and_then(|bytes| rate(bytes, node.time)).map(|it| it / (1u64 << 30) as f64)),
            10 => op.map_or(CellRef::Absent, |op| CellRef::text(self.ops.text(self.trace, op.category))),
            11 => op.map_or(CellRef::Absent, |op| CellRef::text(self.ops.text(self.trace, op.name))),
            12 => {
                let at = if node.op.is_some() { node.parent.map(|parent| parent as usize) } else { Some(row) };
                at.and_then(|at| self.paths.get(at)).map_or(CellRef::Absent, |path| CellRef::text(path))
            }
            _ => CellRef::Absent,
        }
    }
}
