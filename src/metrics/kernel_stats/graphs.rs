//! The ops of kernels that a CUDA graph launched (XLA calls graphs command buffers): their events name no op.
//!
//! A kernel is attributed by the first of these that tells one op, and stays without an op otherwise:
//!
//! 1. another kernel with the same graph node that names its op (before a graph is captured, its kernels run as usual);
//! 2. kernels of the same name that name their op, where all of them name the same;
//! 3. the instruction that XLA named the kernel after (`loop_add_fusion_3` is `loop_add_fusion.3`), where one module has it.

use rustc_hash::FxHashMap;

use super::Distinct;
use super::resolve::instruction_name;
use crate::hlo::Modules;
use crate::trace::{Args, StrId, Trace};

/// The op of a kernel.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Op {
    pub hlo_op: String,
    pub hlo_module: String,
    pub program_id: Option<i64>,
    /// The framework op as the event says it; not part of what makes two ops the same.
    pub tf_op: String,
}

impl Op {
    /// As an event names it; `hlo_op` is empty where it names none.
    pub fn of(trace: &Trace, args: &Args) -> Op {
        Op {
            hlo_op: instruction_name(trace.text(args.hlo_op)).to_owned(),
            hlo_module: trace.text(args.hlo_module).to_owned(),
            program_id: args.program_id,
            tf_op: trace.text(args.tf_op).to_owned(),
        }
    }

    fn same(&self, other: &Op) -> bool {
        (&self.hlo_op, self.program_id, &self.hlo_module) == (&other.hlo_op, other.program_id, &other.hlo_module)
    }
}

/// What is known of graphs' kernels. `None` where several ops share a node or name.
#[derive(Debug, Default)]
pub(super) struct GraphOps {
    by_node: FxHashMap<(u16, i64), Option<Op>>,
    by_name: FxHashMap<(u16, StrId), Option<Op>>,
    by_instruction: FxHashMap<StrId, Op>,
}

impl GraphOps {
    pub fn new(trace: &Trace, modules: &Modules<'_>, kernels: impl Iterator<Item = Distinct>) -> GraphOps {
        let mut found = GraphOps::default();
        let mut wanted: Vec<StrId> = Vec::new();
        for (host, name, args) in kernels {
            let args = trace.args.get(args);
            let in_graph = args.graph_id.is_some() || args.graph_node_id.is_some();
            if args.hlo_op.is_empty() {
                if in_graph && !wanted.contains(&name) {
                    wanted.push(name);
                }
                continue;
            }
            if let Some(node) = args.graph_node_id {
                add(&mut found.by_node, (host, node), Op::of(trace, &args));
            }
            add(&mut found.by_name, (host, name), Op::of(trace, &args));
        }
        found.by_instruction = by_instruction(trace, modules, &wanted);
        found
    }

    /// The op of a graph's kernel.
    pub fn op(&self, host: u16, name: StrId, args: &Args) -> Option<&Op> {
        let node = args.graph_node_id.and_then(|node| self.by_node.get(&(host, node))?.as_ref());
        let named = || self.by_name.get(&(host, name))?.as_ref();
        node.or_else(named).or_else(|| self.by_instruction.get(&name))
    }
}

fn add<K: std::hash::Hash + Eq>(map: &mut FxHashMap<K, Option<Op>>, key: K, op: Op) {
    let entry = map.entry(key).or_insert_with(|| Some(op.clone()));
    if entry.as_ref().is_some_and(|known| !known.same(&op)) {
        *entry = None;
    }
}

/// The instructions that kernels are named after, where just one instruction of all modules has that name.
fn by_instruction(trace: &Trace, modules: &Modules<'_>, wanted: &[StrId]) -> FxHashMap<StrId, Op> {
    let mut found: FxHashMap<StrId, Option<Op>> = FxHashMap::default();
    if !wanted.is_empty() {
        let kernel = |&name: &StrId| (trace.text(name).strip_suffix(".kd").unwrap_or(trace.text(name)), name);
        let wanted: FxHashMap<&str, StrId> = wanted.iter().map(kernel).collect();
        for (_, program, _, module) in modules.all() {
            for instruction in module.instructions() {
                let Some(&name) = wanted.get(instruction.name.replace(['.', '-'], "_").as_str()) else { continue };
                let op = Op {
                    hlo_op: instruction.name.clone(),
                    hlo_module: module.name().to_owned(),
                    program_id: Some(program),
                    tf_op: String::new(),
                };
                add(&mut found, name, op);
            }
        }
    }
    found.into_iter().filter_map(|(name, op)| Some((name, op?))).collect()
}
