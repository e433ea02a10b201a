//! The ops as a tree: the op profile.
//!
//! ```text
//! by program    run > jit_train(7) > loop fusion > fusion.3 and its duplicates > fusion.3
//! by category   run > loop fusion > fusion.3 ...
//! by scope      run > jit(train) > layer_3 > attn > dot_general > fusion.3
//! by source     run > model.py > model.py:42 > fusion.3
//! ```
//!
//! A node's time is the self time of the ops below it, so that children add up to their parent exactly.

use rustc_hash::FxHashMap;

use super::{Op, Ops, Text};
use crate::trace::{Trace, in_blocks};
use crate::units::Ps;

/// By what the ops are grouped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Grouping {
    /// Program, then category.
    Program,
    /// Category.
    Category,
    /// The framework's name scopes (`jax.named_scope`, functions, primitives).
    Scope,
    /// Source file, then line.
    Source,
}

impl Grouping {
    /// All of them.
    pub const ALL: [Grouping; 4] = [Grouping::Program, Grouping::Category, Grouping::Scope, Grouping::Source];

    /// The word of the command line and of addresses.
    pub fn key(self) -> &'static str {
        match self {
            Grouping::Program => "program",
            Grouping::Category => "category",
            Grouping::Scope => "scope",
            Grouping::Source => "source",
        }
    }

    /// The grouping of that word; the first for any other.
    pub fn from_key(key: &str) -> Grouping {
        Grouping::ALL.into_iter().find(|grouping| grouping.key() == key).unwrap_or(Grouping::Program)
    }
}

/// A node of the tree.
#[derive(Clone, Debug, PartialEq)]
pub struct Node {
    /// Its name; empty for a leaf, which has its op's ([`Tree::name`]).
    pub name: String,
    /// Index of its parent; `None` for the root.
    pub parent: Option<u32>,
    /// 0 for the root.
    pub depth: u32,
    /// The op, for a leaf.
    pub op: Option<u32>,
    /// It is the time in which devices ran nothing, not ops: a program may have a scope of any name.
    pub is_idle: bool,
    /// Self time of all ops below.
    pub time: Ps,
    /// Occurrences of all ops below.
    pub occurrences: u64,
    /// FLOPs of the ops below whose FLOPs are known; `None` where none is.
    pub flops: Option<f64>,
    /// Bytes of the ops below whose bytes are known.
    pub bytes: Option<f64>,
    /// Self time that the peaks of the device do not explain; see [`Tree::new`].
    pub wasted: Option<Ps>,
}

/// The tree. Parents come before their children, and among the children of one node the longest first.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Tree {
    /// The nodes, the root first.
    pub nodes: Vec<Node>,
}

/// What the peaks say of an op: the share of its time that it would need at the peak, 0 to 1.
pub type Efficiency<'e> = &'e dyn Fn(&Op) -> Option<f64>;

impl Tree {
    /// The ops that pass, grouped. `with_idle` adds the time in which devices ran nothing. The wasted time of an op is its
    /// self time times one minus its `efficiency`, and that of a node the sum over its ops; an op without FLOPs and bytes
    /// wastes nothing that is known.
    pub fn new(
        trace: &Trace,
        ops: &Ops,
        grouping: Grouping,
        with_idle: bool,
        passes: &dyn Fn(usize) -> bool,
        efficiency: Efficiency<'_>,
    ) -> Tree {
        let mut builder = Builder { nodes: vec![node("run".to_owned(), None, 0)], index: FxHashMap::default() };
        let copies = duplicates(ops);
        // Many ops share their groups: the groups' names are put together once.
        let mut groups: FxHashMap<[Text; 3], u32> = FxHashMap::default();
        let mut next = 0;
        in_blocks(&ops.rows, |op| {
            let row = next;
            next += 1;
            if !passes(row) {
                return;
            }
            let mut at = *groups.entry(group(op, grouping)).or_insert_with(|| {
                path(trace, ops, op, grouping).iter().fold(0, |parent, name| builder.child(parent, name))
            });
            let original = if op.deduplicated_name.is_empty() { op.name } else { op.deduplicated_name };
            if copies.get(&(op.program_id, original)).is_some_and(|&count| count > 1) {
                at = builder.child(at, &format!("{} and its duplicates", ops.text(trace, original)));
            }
            let wasted = efficiency(op).map(|share| {
                let lost = op.self_time.0 as f64 * (1.0 - share.clamp(0.0, 1.0));
                Ps(lost as i64)
            });
            let repeats = ops.text(trace, op.category) == "copy-done";
            builder.leaf(at, row, op, repeats, wasted);
        });
        let idle = ops.idle();
        if with_idle && idle > Ps::ZERO {
            builder.idle(idle);
        }
        builder.finish(trace, ops)
    }

    /// Name of a node.
    pub fn name<'t>(&'t self, trace: &'t Trace, ops: &'t Ops, node: usize) -> &'t str {
        self.nodes.get(node).map_or("", |node| name(trace, ops, node))
    }

    /// Names from the root's child down to the node, joined with `/`.
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

fn name<'t>(trace: &'t Trace, ops: &'t Ops, node: &'t Node) -> &'t str {
    let op = node.op.and_then(|op| ops.rows.get(op as usize));
    op.map_or(node.name.as_str(), |op| ops.text(trace, op.name))
}

/// What tells the group of an op.
fn group(op: &Op, grouping: Grouping) -> [Text; 3] {
    let none = Text::default();
    match grouping {
        Grouping::Program => [op.program, op.module, op.category],
        Grouping::Category => [op.category, none, none],
        Grouping::Scope => [op.framework_path, none, none],
        Grouping::Source => [op.source, none, none],
    }
}

/// How many ops of a program say that they are copies of one, itself included.
fn duplicates(ops: &Ops) -> FxHashMap<(Option<i64>, Text), u32> {
    let mut counts = FxHashMap::default();
    for op in ops.rows.iter().filter(|op| !op.deduplicated_name.is_empty()) {
        *counts.entry((op.program_id, op.deduplicated_name)).or_insert(1) += 1;
    }
    counts
}

/// The groups of an op from the top.
fn path(trace: &Trace, ops: &Ops, op: &Op, grouping: Grouping) -> Vec<String> {
    let text = |text: Text| ops.text(trace, text);
    match grouping {
        Grouping::Program => vec![program(trace, ops, op), text(op.category).to_owned()],
        Grouping::Category => vec![text(op.category).to_owned()],
        Grouping::Scope => scopes(text(op.framework_path)),
        Grouping::Source => match text(op.source).rsplit_once(':') {
            Some((file, line)) => vec![file.to_owned(), format!("{}:{line}", file.rsplit('/').next().unwrap_or(file))],
            None if op.source.is_empty() => vec!["unknown source".to_owned()],
            None => vec![text(op.source).to_owned()],
        },
    }
}

/// `jit_train(7)`: as XProf writes programs.
fn program(trace: &Trace, ops: &Ops, op: &Op) -> String {
    match (ops.text(trace, op.module), ops.text(trace, op.program)) {
        ("", "") => "no program".to_owned(),
        ("", id) => format!("program {id}"),
        (module, "") => module.to_owned(),
        (module, _) if module.contains('(') => module.to_owned(),
        (module, id) => format!("{module}({id})"),
    }
}

/// The name scopes of a framework path. A slash inside parentheses belongs to the name: `jvp(a/b)`.
///
/// The parts that only say that a function was compiled (`jit(main)`, `jit(train)/jit(main)`) stay: two programs differ in
/// them.
fn scopes(path: &str) -> Vec<String> {
    let path = path.trim_end_matches(':');
    if path.is_empty() {
        return vec!["no framework op".to_owned()];
    }
    let mut depth = 0i32;
    let parts = path.split(|c: char| {
        depth += i32::from(c == '(') - i32::from(c == ')');
        c == '/' && depth <= 0
    });
    parts.filter(|part| !part.is_empty()).take(MAX_DEPTH).map(str::to_owned).collect()
}

/// Scopes deeper than this are one node: no real program nests so deep, and a made-up path must not either.
const MAX_DEPTH: usize = 40;

fn node(name: String, parent: Option<u32>, depth: u32) -> Node {
    Node {
        name,
        parent,
        depth,
        op: None,
        is_idle: false,
        time: Ps::ZERO,
        occurrences: 0,
        flops: None,
        bytes: None,
        wasted: None,
    }
}

struct Builder {
    nodes: Vec<Node>,
    /// Children by parent and name.
    index: FxHashMap<(u32, String), u32>,
}

impl Builder {
    fn child(&mut self, parent: u32, name: &str) -> u32 {
        if let Some(&known) = self.index.get(&(parent, name.to_owned())) {
            return known;
        }
        let depth = self.nodes.get(parent as usize).map_or(0, |node| node.depth) + 1;
        self.nodes.push(node(name.to_owned(), Some(parent), depth));
        let at = u32::try_from(self.nodes.len() - 1).unwrap_or(u32::MAX);
        self.index.insert((parent, name.to_owned()), at);
        at
    }

    fn leaf(&mut self, parent: u32, row: usize, op: &Op, repeats: bool, wasted: Option<Ps>) {
        let depth = self.nodes.get(parent as usize).map_or(0, |node| node.depth) + 1;
        self.nodes.push(Node { op: u32::try_from(row).ok(), ..node(String::new(), Some(parent), depth) });
        let at = u32::try_from(self.nodes.len() - 1).unwrap_or(u32::MAX);
        self.add(at, |node| {
            node.time += op.self_time;
            node.occurrences += op.occurrences;
            let more = |sum: &mut Option<f64>, part: Option<f64>| {
                if let Some(part) = part {
                    *sum = Some(sum.unwrap_or(0.0) + part);
                }
            };
            more(&mut node.flops, op.flops);
            // A wait repeats the bytes of its start: they are the wait's own, and count once above it.
            if !repeats || node.op.is_some() {
                more(&mut node.bytes, op.bytes);
            }
            if let Some(wasted) = wasted {
                node.wasted = Some(node.wasted.unwrap_or(Ps::ZERO) + wasted);
            }
        });
    }

    fn idle(&mut self, time: Ps) {
        self.nodes.push(Node { is_idle: true, ..node("idle".to_owned(), Some(0), 1) });
        let at = u32::try_from(self.nodes.len() - 1).unwrap_or(u32::MAX);
        self.add(at, |node| node.time += time);
    }

    /// Changes a node and all above it.
    fn add(&mut self, at: u32, change: impl Fn(&mut Node)) {
        let mut next = Some(at);
        while let Some(node) = next.and_then(|at| self.nodes.get_mut(at as usize)) {
            change(node);
            next = node.parent;
        }
    }

    /// Orders siblings by time and lays the tree out depth first.
    fn finish(self, trace: &Trace, ops: &Ops) -> Tree {
        let nodes = self.nodes;
        let mut children: Vec<Vec<u32>> = vec![Vec::new(); nodes.len()];
        for (at, node) in (0u32..).zip(&nodes) {
            if let Some(siblings) = node.parent.and_then(|parent| children.get_mut(parent as usize)) {
                siblings.push(at);
            }
        }
        let key = |at: u32| nodes.get(at as usize).map(|node| (std::cmp::Reverse(node.time), name(trace, ops, node)));
        for siblings in &mut children {
            siblings.sort_by(|&a, &b| key(a).cmp(&key(b)));
        }
        let mut tree = Tree { nodes: Vec::with_capacity(nodes.len()) };
        let mut stack: Vec<(u32, Option<u32>)> = vec![(0, None)];
        while let Some((at, parent)) = stack.pop() {
            let Some(node) = nodes.get(at as usize) else { continue };
            let place = u32::try_from(tree.nodes.len()).unwrap_or(u32::MAX);
            tree.nodes.push(Node { parent, ..node.clone() });
            // The last of the stack comes first.
            let below = children.get(at as usize).into_iter().flatten().rev();
            stack.extend(below.map(|&child| (child, Some(place))));
        }
        tree
    }
}
