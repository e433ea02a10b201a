//! Finds the ops of kernels that a CUDA graph launched (XLA calls graphs command buffers). The events of these kernels
//! do not name their op.
//!
//! A kernel gets its op from the first of these sources that names one, or no op if none does:
//!
//! 1. another kernel with the same graph node that names its op (before a graph is captured, its kernels run as usual);
//! 2. kernels of the same name that name their op, if all of them name the same one;
//! 3. the instruction that XLA named the kernel after (`loop_add_fusion_3` is `loop_add_fusion.3`), if one module has it.

use rustc_hash::{FxHashMap, FxHashSet};

use super::Distinct;
use crate::op::ops::{Text, Texts};
use hlo::Modules;
use trace::{Args, StrId, Trace};

/// The op of a kernel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Op {
    pub hlo_op: Text,
    pub hlo_module: Text,
    pub program_id: Option<i64>,
    /// Framework op that the event records. Not part of the op's identity.
    pub tf_op: StrId,
}

impl Op {
    /// Reads the op that an event names. `hlo_op` is empty if it names none.
    pub fn of(trace: &Trace, texts: &mut Texts, args: &Args) -> Op {
        Op {
            hlo_op: instruction(trace, texts, args.hlo_op),
            hlo_module: Texts::of_trace(args.hlo_module),
            program_id: args.program_id,
            tf_op: args.tf_op,
        }
    }

    fn same(&self, other: &Op) -> bool {
        (self.hlo_op, self.program_id, self.hlo_module) == (other.hlo_op, other.program_id, other.hlo_module)
    }
}

/// Returns the instruction that a kernel runs, without the instructions that XLA fused with it. Empty for an empty
/// name.
fn instruction(trace: &Trace, texts: &mut Texts, hlo_op: StrId) -> Text {
    if hlo_op.is_empty() {
        return Text::default();
    }
    let named = trace.text(hlo_op);
    let instruction = instruction_name(named);
    if instruction == named { Texts::of_trace(hlo_op) } else { texts.keep(trace, instruction) }
}

/// Ops of graph kernels. `None` if several ops share a node or name.
#[derive(Debug, Default)]
pub(super) struct GraphOps {
    by_node: FxHashMap<(u16, i64), Option<Op>>,
    by_name: FxHashMap<(u16, StrId), Option<Op>>,
    by_instruction: FxHashMap<StrId, Op>,
}

impl GraphOps {
    /// Finds the ops of a run's `kernels`. Returns empty maps if every graph kernel names its op.
    pub fn new(
        trace: &Trace,
        modules: &Modules,
        texts: &mut Texts,
        kernels: impl Iterator<Item = Distinct> + Clone,
    ) -> GraphOps {
        let mut found = GraphOps::default();
        let mut wanted: Vec<StrId> = Vec::new();
        let mut seen: FxHashSet<StrId> = FxHashSet::default();
        for (_, name, args) in kernels.clone() {
            let Some(args) = trace.args.set(args.index()) else { continue };
            if args.hlo_op.is_empty() && is_in_graph(args) && seen.insert(name) {
                wanted.push(name);
            }
        }
        if wanted.is_empty() {
            return found;
        }
        for (host, name, args) in kernels {
            let args = trace.args.get(args);
            if args.hlo_op.is_empty() {
                continue;
            }
            let op = Op::of(trace, texts, &args);
            if let Some(node) = args.graph_node_id {
                add(&mut found.by_node, (host, node), op);
            }
            add(&mut found.by_name, (host, name), op);
        }
        found.by_instruction = by_instruction(trace, modules, texts, &wanted);
        found
    }

    /// Returns the op of a graph kernel.
    pub fn op(&self, host: u16, name: StrId, args: &Args) -> Option<Op> {
        let node = args.graph_node_id.and_then(|node| self.by_node.get(&(host, node)).copied().flatten());
        let named = || self.by_name.get(&(host, name)).copied().flatten();
        node.or_else(named).or_else(|| self.by_instruction.get(&name).copied())
    }
}

/// Returns true if a CUDA graph launched the kernel.
pub(super) fn is_in_graph(args: &Args) -> bool {
    args.graph_id.is_some() || args.graph_node_id.is_some()
}

fn add<K: std::hash::Hash + Eq>(map: &mut FxHashMap<K, Option<Op>>, key: K, op: Op) {
    let entry = map.entry(key).or_insert(Some(op));
    if entry.as_ref().is_some_and(|known| !known.same(&op)) {
        *entry = None;
    }
}

/// Finds the instructions that kernels are named after, if only one instruction in all modules has that name.
fn by_instruction(trace: &Trace, modules: &Modules, texts: &mut Texts, wanted: &[StrId]) -> FxHashMap<StrId, Op> {
    let mut found: FxHashMap<StrId, Option<Op>> = FxHashMap::default();
    if !wanted.is_empty() {
        let kernel = |&name: &StrId| (trace.text(name).strip_suffix(".kd").unwrap_or(trace.text(name)), name);
        let wanted: FxHashMap<&str, StrId> = wanted.iter().map(kernel).collect();
        for (_, program, _, module) in modules.all() {
            for instruction in module.instructions() {
                let Some(&name) = wanted.get(instruction.name.replace(['.', '-'], "_").as_str()) else { continue };
                let op = Op {
                    hlo_op: texts.keep(trace, &instruction.name),
                    hlo_module: texts.keep(trace, module.name()),
                    program_id: Some(program),
                    tf_op: StrId::EMPTY,
                };
                add(&mut found, name, op);
            }
        }
    }
    found.into_iter().filter_map(|(name, op)| Some((name, op?))).collect()
}

/// Returns the instruction of `hlo_op`. Kernels of a called computation name the callers too (`call.1::fusion.3`).
pub(super) fn instruction_name(hlo_op: &str) -> &str {
    hlo_op.rsplit("::").next().unwrap_or(hlo_op)
}
