//! Arranges the ops as a tree: the op profile.
//!
//! ```text
//! by program    run > jit_train(7) > loop fusion > fusion.3 and its duplicates > fusion.3
//! by category   run > loop fusion > fusion.3 ...
//! by scope      run > jit(train) > layer_3 > attn > dot_general > fusion.3
//! by source     run > model.py > model.py:42 > fusion.3
//! ```
//!
//! A node's time is the self time of the ops below it, so that the times of children add up to their parent's time
//! exactly.

use super::{Groups, Op, OpColumns, Ops, WorkTime};
use base::{Ps, sort};
use trace::{Trace, in_blocks};

/// A node of the tree.
#[derive(Clone, Debug, PartialEq)]
pub struct OpNode {
    /// Name of the node. Empty for a leaf, because [`OpTree::name`] returns the name of its op.
    pub name: String,
    /// Index of the node's parent. `None` for the root.
    pub parent: Option<u32>,
    /// Depth in the tree, 0 for the root.
    pub depth: u32,
    /// Row of the op, for a leaf.
    pub op: Option<u32>,
    /// True if the node stands for the time during which the devices ran nothing. The name alone does not show this,
    /// because a scope of the program may have any name.
    pub is_idle: bool,
    /// Self time of all ops below the node.
    pub time: Ps,
    /// Occurrences of all ops below the node.
    pub occurrences: u64,
    /// Sum of the known FLOPs of the ops below the node. `None` if no FLOPs are known.
    pub flops: Option<f64>,
    /// Sum of the known bytes of the ops below the node. `None` if no bytes are known.
    pub bytes: Option<f64>,
    /// Part of `time` in ops whose cost is known.
    pub known: Ps,
    /// Part of `known` that these ops would not need at the peak of their limiting resource; see [`OpTree::new`].
    pub wasted: Ps,
    /// Part of `time` during which devices ran nothing.
    pub idle: Ps,
    /// Time during which the FLOPs were done and the bytes were moved.
    pub work_time: WorkTime,
}

impl OpNode {
    fn add(&mut self, time: Ps, occurrences: u64, wasted: Option<Ps>) {
        self.time += time;
        self.occurrences += occurrences;
        if let Some(wasted) = wasted {
            self.known += time;
            self.wasted += wasted;
        }
    }

    fn add_all(&mut self, below: &OpNode) {
        self.time += below.time;
        self.occurrences += below.occurrences;
        self.known += below.known;
        self.wasted += below.wasted;
    }

    /// Returns the unused time: idle time, and the time that ops with a known cost would not need at the peaks. `None`
    /// if nothing is known.
    pub fn unused(&self) -> Option<Ps> {
        (self.known + self.idle > Ps::ZERO).then(|| self.wasted + self.idle)
    }

    /// Returns the used share of the judged time, from 0 to 1. The judged time consists of the idle time and the time
    /// of ops whose cost is known. Returns `None` if the cost of no op is known, because the used share of the ops'
    /// time is then unknown.
    pub fn utilization(&self) -> Option<f64> {
        let judged = self.known + self.idle;
        let can_tell = judged > Ps::ZERO && (self.known > Ps::ZERO || self.is_idle);
        can_tell.then(|| (1.0 - (self.wasted + self.idle).as_ps() as f64 / judged.as_ps() as f64).clamp(0.0, 1.0))
    }

    /// Returns the share of the node's time that [`utilization`](OpNode::utilization) covers, from 0 to 1. `None` if
    /// the time is zero.
    pub fn judged(&self) -> Option<f64> {
        (self.time > Ps::ZERO).then(|| ((self.known + self.idle).as_ps() as f64 / self.time.as_ps() as f64).min(1.0))
    }
}

/// The tree. Parents come before their children, and the children of a node are sorted by descending time.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct OpTree {
    /// The nodes, the root first.
    pub nodes: Vec<OpNode>,
}

/// Function that returns the time that an op would need at the peaks, as a share of its actual time, from 0 to 1.
/// `None` if unknown.
pub(crate) type Efficiency<'e> = &'e dyn Fn(&Op) -> Option<f64>;

impl OpTree {
    /// Builds the tree of all groups and ops, with the time during which devices ran nothing. The wasted time of an op is `self
    /// time * (1 - efficiency)`. The wasted time of a node is the sum over its ops. Ops without FLOPs and bytes have no known
    /// wasted time.
    pub fn new(trace: &Trace, ops: &Ops, groups: &Groups, efficiency: Efficiency<'_>) -> OpTree {
        let mut builder = Builder::new(groups);
        let mut next = 0;
        in_blocks(&ops.rows, |op| {
            let row = next;
            next += 1;
            let parent = groups.of_row.get(row).copied().unwrap_or_default();
            builder.leaf(parent, row, op, wasted(op, efficiency));
        });
        builder.idle(ops.idle);
        builder.finish(trace, ops)
    }

    /// Builds a tree for a chart. The tree contains the groups of the ops that pass the filter, or of all ops if there
    /// is no filter. It contains only ops that take at least `least_share` of the total time. FLOPs and bytes are left
    /// out. If there is no filter, the tree also includes the time during which devices ran nothing.
    pub fn outline(
        trace: &Trace,
        ops: &Ops,
        groups: &Groups,
        columns: &OpColumns,
        wasted: &Wasted,
        passing: Option<&[bool]>,
        least_share: f64,
    ) -> OpTree {
        let mut builder = Builder::new(groups);
        builder.add_rows(groups, columns, wasted, passing);
        let whole = builder.nodes.first().map_or(0, |root| root.time.as_ps());
        let passes = |row: usize| passing.is_none_or(|passing| passing.get(row).copied().unwrap_or_default());
        // Ops are sorted by descending self time.
        let large = ops.rows.iter().take_while(|op| op.self_time.as_ps() as f64 >= least_share * whole as f64);
        for (row, op) in large.enumerate().filter(|&(row, _)| passes(row)) {
            let parent = groups.of_row.get(row).copied().unwrap_or_default();
            let mut leaf = builder.empty_leaf(parent, row);
            leaf.add(op.self_time, op.occurrences, wasted.of(row));
            builder.nodes.push(leaf);
        }
        if passing.is_none() {
            builder.idle(ops.idle);
        }
        builder.finish(trace, ops)
    }

    /// Returns the name of a node.
    pub fn name<'t>(&'t self, trace: &'t Trace, ops: &'t Ops, node: usize) -> &'t str {
        self.nodes.get(node).map_or("", |node| name(trace, ops, node))
    }

    /// Returns the names from the root's child down to the node, joined with `/`.
    pub fn path(&self, trace: &Trace, ops: &Ops, node: usize) -> String {
        let mut names = Vec::new();
        let mut at = self.nodes.get(node);
        while let Some(node) = at {
            let Some(parent) = node.parent else { break };
            names.push(name(trace, ops, node));
            at = self.nodes.get(parent as usize);
        }
        names.reverse();
        names.join("/")
    }
}

/// Returns the self time that an op would not need at the peak of its limiting resource.
fn wasted(op: &Op, efficiency: Efficiency<'_>) -> Option<Ps> {
    efficiency(op).map(|share| {
        let lost = op.self_time.as_ps() as f64 * (1.0 - share.clamp(0.0, 1.0));
        Ps::new(lost as i64)
    })
}

/// The wasted time of each op, in the order of [`Ops::rows`]. Cached because it is expensive to compute.
#[derive(Clone, Debug, Default)]
pub struct Wasted(Vec<Option<Ps>>);

impl Wasted {
    /// Computes the wasted time of these ops; see [`OpTree::new`].
    pub fn new(ops: &Ops, efficiency: Efficiency<'_>) -> Wasted {
        let mut all = Vec::with_capacity(ops.rows.len());
        in_blocks(&ops.rows, |op| all.push(wasted(op, efficiency)));
        Wasted(all)
    }

    fn of(&self, row: usize) -> Option<Ps> {
        self.0.get(row).copied().flatten()
    }
}

/// Number of rows that are read at a time.
const BLOCK: usize = 2048;

fn name<'t>(trace: &'t Trace, ops: &'t Ops, node: &'t OpNode) -> &'t str {
    let op = node.op.and_then(|op| ops.rows.get(op as usize));
    op.map_or(node.name.as_str(), |op| ops.text(trace, op.name))
}

fn node(name: String, parent: Option<u32>, depth: u32) -> OpNode {
    OpNode {
        name,
        parent,
        depth,
        op: None,
        is_idle: false,
        time: Ps::ZERO,
        occurrences: 0,
        flops: None,
        bytes: None,
        known: Ps::ZERO,
        wasted: Ps::ZERO,
        idle: Ps::ZERO,
        work_time: WorkTime::default(),
    }
}

struct Builder {
    nodes: Vec<OpNode>,
}

impl Builder {
    fn new(groups: &Groups) -> Builder {
        let nodes = groups.groups.iter().map(|group| node(group.name.clone(), group.parent, group.depth));
        Builder { nodes: nodes.collect() }
    }

    /// Adds the ops that pass the filter to their groups, and the groups to their parents.
    fn add_rows(&mut self, groups: &Groups, columns: &OpColumns, wasted: &Wasted, passing: Option<&[bool]>) {
        for (block, of_row) in groups.of_row.chunks(BLOCK).enumerate() {
            let first = block * BLOCK;
            match passing {
                None => self.add_block(of_row, columns, first, wasted, |_| true),
                Some(passing) => {
                    let passing = passing.get(first..).unwrap_or_default();
                    self.add_block(of_row, columns, first, wasted, |at| passing.get(at).copied().unwrap_or_default());
                }
            }
        }
        for at in (1..self.nodes.len()).rev() {
            let (above, below) = self.nodes.split_at_mut(at);
            let Some(node) = below.first() else { continue };
            if let Some(parent) = node.parent.and_then(|parent| above.get_mut(parent as usize)) {
                parent.add_all(node);
            }
        }
    }

    #[inline(never)]
    fn add_block(
        &mut self,
        of_row: &[u32],
        columns: &OpColumns,
        first: usize,
        wasted: &Wasted,
        passes: impl Fn(usize) -> bool,
    ) {
        for (at, &group) in of_row.iter().enumerate().filter(|&(at, _)| passes(at)) {
            let (time, occurrences) = columns.time(first + at);
            if let Some(node) = self.nodes.get_mut(group as usize) {
                node.add(time, occurrences, wasted.of(first + at));
            }
        }
    }

    fn empty_leaf(&self, parent: u32, row: usize) -> OpNode {
        let depth = self.nodes.get(parent as usize).map_or(0, |node| node.depth) + 1;
        OpNode { op: u32::try_from(row).ok(), ..node(String::new(), Some(parent), depth) }
    }

    fn leaf(&mut self, parent: u32, row: usize, op: &Op, wasted: Option<Ps>) {
        self.nodes.push(self.empty_leaf(parent, row));
        let at = u32::try_from(self.nodes.len() - 1).unwrap_or(u32::MAX);
        self.add(at, |node| {
            node.add(op.self_time, op.occurrences, wasted);
            let more = |sum: &mut Option<f64>, part: Option<f64>| {
                if let Some(part) = part {
                    *sum = Some(sum.unwrap_or(0.0) + part);
                }
            };
            // The cost of a wait duplicates the cost of the op that started the work. The cost is shown on the wait
            // itself, but counted only once in the nodes above.
            let counts = !op.is_left_out() || node.op.is_some();
            node.work_time.add(op, counts);
            if counts {
                more(&mut node.flops, op.flops);
                more(&mut node.bytes, op.bytes);
            }
        });
    }

    fn idle(&mut self, time: Ps) {
        if time <= Ps::ZERO {
            return;
        }
        self.nodes.push(OpNode { is_idle: true, ..node("idle".to_owned(), Some(0), 1) });
        let at = u32::try_from(self.nodes.len() - 1).unwrap_or(u32::MAX);
        self.add(at, |node| {
            node.time += time;
            node.idle += time;
        });
    }

    fn add(&mut self, at: u32, change: impl Fn(&mut OpNode)) {
        let mut next = Some(at);
        while let Some(node) = next.and_then(|at| self.nodes.get_mut(at as usize)) {
            change(node);
            next = node.parent;
        }
    }

    /// Sorts siblings by time and lays the tree out depth first. Leaves out groups without ops.
    fn finish(self, trace: &Trace, ops: &Ops) -> OpTree {
        let nodes = self.nodes;
        let mut children: Vec<Vec<u32>> = vec![Vec::new(); nodes.len()];
        let is_empty = |node: &OpNode| node.op.is_none() && node.occurrences == 0 && !node.is_idle;
        for (at, node) in (0u32..).zip(&nodes).filter(|(_, node)| !is_empty(node)) {
            if let Some(siblings) = node.parent.and_then(|parent| children.get_mut(parent as usize)) {
                siblings.push(at);
            }
        }
        let key = |at: u32| nodes.get(at as usize).map(|node| (std::cmp::Reverse(node.time), name(trace, ops, node)));
        for siblings in &mut children {
            sort::sort_by(siblings, |&a, &b| key(a).cmp(&key(b)));
        }
        let mut tree = OpTree { nodes: Vec::with_capacity(nodes.len()) };
        let mut stack: Vec<(u32, Option<u32>)> = vec![(0, None)];
        while let Some((at, parent)) = stack.pop() {
            let Some(node) = nodes.get(at as usize) else { continue };
            let place = u32::try_from(tree.nodes.len()).unwrap_or(u32::MAX);
            tree.nodes.push(OpNode { parent, ..node.clone() });
            // The stack is last in, first out, so children are pushed in reverse.
            let below = children.get(at as usize).into_iter().flatten().rev();
            stack.extend(below.map(|&child| (child, Some(place))));
        }
        tree
    }
}
