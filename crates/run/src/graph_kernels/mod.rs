//! Finds the instruction of each kernel that a CUDA graph launched.
//!
//! XLA records most of a program in a small number of CUDA graphs, which it calls *command buffers*. The events of
//! kernels in such a graph name the command buffer instead of an instruction (`hlo_op: command_buffer_1`), or nothing
//! at all. Without an instruction, such a kernel has no cost, source line or layer. The instruction comes from the first
//! of four sources that contains it.
//!
//! The first source is another kernel that has the same graph node, if its event names the instruction. The second source
//! is the order of the kernels, because a graph runs them in the order of the compiled program ([`align`]). The third
//! source is other kernels with the same name, if their events name only one instruction. XLA also runs a graph's kernels
//! outside the graph, before it captures the graph. The last source is the name of the kernel (`loop_add_fusion_3`), if it
//! matches only one instruction (`loop_add_fusion.3`) in all modules.
//!
//! ```text
//! kernels of the graph          instructions of the program      found
//! loop_convert_fusion_2         loop_convert_fusion.2            loop_convert_fusion.2
//! nvjet_sm90_128x128_NNT        custom-call.1 (cublas)           custom-call.1
//! loop_convert_fusion_2         loop_convert_fusion.5            loop_convert_fusion.5: one kernel for identical fusions
//! ```
//!
//! This module then stores the instruction in `hlo_op`, and keeps the recorded name in
//! [`command_buffer`](trace::Args::command_buffer).

mod align;
mod instructions;
#[cfg(test)]
mod tests;

use rustc_hash::{FxHashMap, FxHashSet};

use self::instructions::Instructions;
use base::{Ps, sort};
use hlo::{Module, Modules};
use trace::{Args, EventColumn, EventKind, LineKind, StrId, Trace, instruction_name};

/// Kinds of events whose arguments were changed. The key is the new kind, and the value is the kind that was read.
pub type ReadKinds = FxHashMap<EventKind, EventKind>;

/// Maximum total number of table cells in all alignments of a run, so that no file takes more than a few seconds.
const MOST_CELLS: usize = 256 << 20;

/// Number of launches that are examined for each graph. The first or the last launch may be incomplete.
const LAUNCHES: usize = 4;

/// Finds the instructions of graph kernels, and names them in the events of these kernels. Returns the kinds of events
/// that changed. The map is empty if every kernel already names its instruction. The time is linear in the number of
/// events if the trace has such kernels, and in the number of kinds otherwise.
pub(crate) fn name(trace: &mut Trace, modules: &Modules) -> ReadKinds {
    let unnamed = unnamed(trace, modules);
    if unnamed.is_empty() {
        return ReadKinds::default();
    }
    let mut ops = by_order(trace, modules, &unnamed);
    by_name(trace, modules, &unnamed, &mut ops);
    let mut new_kinds: FxHashMap<usize, EventKind> = FxHashMap::default();
    let mut read = ReadKinds::default();
    for (at, op) in ops {
        let Some(&kind) = trace.events.kinds().get(at) else { continue };
        let mut args = trace.args.get(kind.args);
        args.command_buffer = args.hlo_op;
        args.hlo_op = trace.strings.intern(&op.instruction);
        if args.program_id.is_none() {
            (args.program_id, args.hlo_module) = (op.program_id, trace.strings.intern(&op.module));
        }
        let new = EventKind { args: trace.args.intern(&args), ..kind };
        new_kinds.insert(at, new);
        read.insert(new, kind);
    }
    if !new_kinds.is_empty() {
        trace.events.change_kinds(|at, _, _| new_kinds.get(&at).copied());
    }
    read
}

/// Reverts [`name`].
pub(crate) fn undo(trace: &mut Trace, read: &ReadKinds) {
    if !read.is_empty() {
        trace.events.change_kinds(|_, kind, _| read.get(&kind).copied());
    }
}

/// The op that a kernel belongs to.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Op {
    instruction: String,
    module: String,
    program_id: Option<i64>,
}

/// Returns the kinds of graph kernel events that name no instruction.
fn unnamed(trace: &Trace, modules: &Modules) -> Vec<usize> {
    let is_unnamed = |kind: &EventKind| {
        let Some(args) = trace.args.set(kind.args.index()).filter(|args| args.is_in_graph()) else { return false };
        let is_op = trace.lines.get(kind.line.index()).is_some_and(|line| line.kind == LineKind::DeviceOps);
        is_op && !is_named(trace, modules, kind, args)
    };
    trace.events.kinds().iter().enumerate().filter(|(_, kind)| is_unnamed(kind)).map(|(at, _)| at).collect()
}

/// Returns true if events of a kind name an instruction. If the compiled program is unknown, any name is accepted.
fn is_named(trace: &Trace, modules: &Modules, kind: &EventKind, args: &Args) -> bool {
    let name = instruction_name(trace.text(args.hlo_op));
    let Some(module) = module(trace, modules, host(trace, kind), args) else { return !name.is_empty() };
    !name.is_empty() && module.instruction(name).is_some()
}

fn host(trace: &Trace, kind: &EventKind) -> u16 {
    let plane = trace.lines.get(kind.line.index()).and_then(|line| trace.plane_of(line));
    plane.map_or(0, |plane| plane.host)
}

fn module<'m>(trace: &Trace, modules: &'m Modules, host: u16, args: &Args) -> Option<&'m Module> {
    modules.of_op(host, args.program_id, trace.text(args.hlo_module))
}

/// A program on a device: plane, program id and name.
type Program = (usize, Option<i64>, StrId);

/// A command buffer of a program: its name and the id of its graph. XLA may record a command buffer several times.
type Buffer = (StrId, Option<i64>);

/// Start and kind of each kernel in a launch.
type Launch = Vec<(Ps, usize)>;

/// Launches of a graph, each with its correlation id.
type Launches = Vec<(Option<i64>, Launch)>;

/// Finds the instructions of kernels by comparing the order of the kernels in the graph with the order of the
/// instructions in the program.
fn by_order(trace: &Trace, modules: &Modules, unnamed: &[usize]) -> FxHashMap<usize, Op> {
    let mut found = FxHashMap::default();
    let launches = launches(trace, modules, unnamed);
    let mut programs: Vec<&Program> = launches.keys().collect();
    sort::sort_by_key(&mut programs, |program| **program);
    // Results are cached, because the devices run the same programs.
    let mut known: FxHashMap<(*const Module, Vec<StrId>), Vec<Option<usize>>> = FxHashMap::default();
    let mut cells = 0;
    for program in programs {
        let Some(buffers) = launches.get(program) else { continue };
        let Some(args) = buffers.values().flatten().find_map(|(_, kind)| args_of(trace, *kind)) else { continue };
        let host = trace.planes.get(program.0).map_or(0, |plane| plane.host);
        let Some(module) = module(trace, modules, host, &args) else { continue };
        let mut instructions = Instructions::new(module);
        let elsewhere = named_elsewhere(trace, *program, module);
        instructions.launching.retain(|it| !elsewhere.contains(&it.index));
        for sequence in sequences(trace, buffers) {
            let names: Vec<StrId> = sequence.iter().map(|&(kind, _)| name_of(trace, kind)).collect();
            let of = known.entry((std::ptr::from_ref(module), names)).or_insert_with_key(|(_, names)| {
                cells += align::cells(names.len(), instructions.launching.len());
                if cells > MOST_CELLS {
                    return Vec::new();
                }
                let is_copy = |kind| args_of(trace, kind).is_some_and(|args| args.kernel_details.is_empty());
                let kernels: Vec<_> = names
                    .iter()
                    .zip(&sequence)
                    .map(|(&name, &(kind, _))| instructions.kernel(trace.text(name), is_copy(kind)))
                    .collect();
                align::align(
                    kernels.len(),
                    instructions.launching.len(),
                    |kernel, at| match (kernels.get(kernel), instructions.launching.get(at)) {
                        (Some(&kernel), Some(at)) => instructions.fit(kernel, at),
                        _ => align::Fit::No,
                    },
                    |at| instructions.launching.get(at).map_or(0, |at| instructions.skip(at)),
                    |kernel| sequence.get(kernel).is_some_and(|&(_, is_first)| is_first),
                )
            });
            for (&(kind, _), at) in sequence.iter().zip(of) {
                let at = at.and_then(|at| instructions.launching.get(at));
                let Some(instruction) = at.and_then(|at| module.at(at.index)) else { continue };
                found.entry(kind).or_insert_with(|| Op {
                    instruction: instruction.name.clone(),
                    module: module.name().to_owned(),
                    program_id: args.program_id,
                });
            }
        }
    }
    found
}

fn args_of(trace: &Trace, kind: usize) -> Option<Args> {
    trace.events.kinds().get(kind).map(|kind| trace.args.get(kind.args))
}

fn name_of(trace: &Trace, kind: usize) -> StrId {
    trace.events.kinds().get(kind).map_or(StrId::EMPTY, |kind| kind.name)
}

/// Returns the kernels of each graph, for programs that have a module. The kernels come from the launch that has the
/// most kernels.
fn launches(trace: &Trace, modules: &Modules, unnamed: &[usize]) -> FxHashMap<Program, FxHashMap<Buffer, Launch>> {
    let mut place: Vec<Option<(Program, Buffer)>> = vec![None; trace.events.kinds().len()];
    for &at in unnamed {
        let Some(kind) = trace.events.kinds().get(at) else { continue };
        let args = trace.args.get(kind.args);
        if module(trace, modules, host(trace, kind), &args).is_some() {
            let plane = trace.lines.get(kind.line.index()).map_or(0, |line| line.plane.index());
            let of = ((plane, args.program_id, args.hlo_module), (args.hlo_op, args.graph_id));
            place.get_mut(at).into_iter().for_each(|slot| *slot = Some(of));
        }
    }
    let mut all: FxHashMap<(Program, Buffer), Launches> = FxHashMap::default();
    if place.iter().all(Option::is_none) {
        return FxHashMap::default();
    }
    let correlations = trace.events.column(EventColumn::Correlation);
    trace.events.for_each_time(trace.events.ids(), |id, kind, interval| {
        let Some(of) = place.get(kind).copied().flatten() else { return };
        let correlation = correlations.get(id);
        let launches = all.entry(of).or_default();
        let at = launches.iter().position(|(of, _)| *of == correlation);
        let at = at.or_else(|| {
            (launches.len() < LAUNCHES).then(|| {
                launches.push((correlation, Launch::new()));
                launches.len() - 1
            })
        });
        let launch = at.and_then(|at| launches.get_mut(at));
        launch.into_iter().for_each(|(_, kernels)| kernels.push((interval.start, kind)));
    });
    let mut found: FxHashMap<Program, FxHashMap<Buffer, Launch>> = FxHashMap::default();
    for ((program, buffer), launches) in all {
        let mut best = Launch::new();
        for (_, mut launch) in launches {
            sort::sort_by_key(&mut launch, |it| *it);
            // A kernel in a loop of the graph runs several times.
            let mut seen = FxHashSet::default();
            launch.retain(|&(_, kind)| seen.insert(kind));
            if launch.len() > best.len() {
                best = launch;
            }
        }
        found.entry(program).or_default().insert(buffer, best);
    }
    found
}

/// Returns the instructions that kernels outside the program's graphs name in their events.
fn named_elsewhere(trace: &Trace, program: Program, module: &Module) -> FxHashSet<hlo::InstructionIndex> {
    let mut found = FxHashSet::default();
    for kind in trace.events.kinds() {
        let plane = trace.lines.get(kind.line.index()).map_or(0, |line| line.plane.index());
        let Some(args) = trace.args.set(kind.args.index()).filter(|args| !args.hlo_op.is_empty()) else { continue };
        if (plane, args.program_id, args.hlo_module) == program && !args.is_in_graph() {
            let instruction = module.instruction(instruction_name(trace.text(args.hlo_op)));
            found.extend(instruction.and_then(|it| module.index_of(it)));
        }
    }
    found
}

/// Returns the kernels of a program's command buffers, buffer by buffer. The flag of each kernel is true if it is the
/// first kernel of a buffer. If command buffers were recorded several times, returns several sequences.
fn sequences(trace: &Trace, buffers: &FxHashMap<Buffer, Launch>) -> Vec<Vec<(usize, bool)>> {
    // XLA numbers the command buffers of a program in their order.
    let number = |name: StrId| {
        let digits = trace.text(name).rsplit('_').next().unwrap_or_default();
        digits.parse::<u64>().unwrap_or_default()
    };
    let mut sorted: Vec<(u64, Buffer, &Launch)> =
        buffers.iter().map(|(&it, launch)| (number(it.0), it, launch)).collect();
    sort::sort_by_key(&mut sorted, |(number, buffer, launch)| (*number, launch.first().copied(), *buffer));
    let mut sequences: Vec<Vec<(usize, bool)>> = Vec::new();
    let mut times: FxHashMap<StrId, usize> = FxHashMap::default();
    for (_, (name, _), launch) in sorted {
        let time = times.entry(name).or_default();
        if sequences.len() <= *time {
            sequences.resize_with(*time + 1, Vec::new);
        }
        let kernels = launch.iter().enumerate().map(|(at, &(_, kind))| (kind, at == 0));
        if let Some(sequence) = sequences.get_mut(*time) {
            sequence.extend(kernels);
        }
        *time += 1;
    }
    sequences
}

/// The op for each key. `None` if several ops have the same key.
type Unique<K> = FxHashMap<K, Option<Op>>;

/// Finds the instructions of the remaining kernels. Uses other kernels with the same graph node or name, and the names
/// of the instructions.
fn by_name(trace: &Trace, modules: &Modules, unnamed: &[usize], ops: &mut FxHashMap<usize, Op>) {
    let is_unnamed: FxHashSet<usize> = unnamed.iter().copied().collect();
    let mut by_node: Unique<(u16, i64)> = Unique::default();
    let mut by_name: Unique<(u16, StrId)> = Unique::default();
    for (at, kind) in trace.events.kinds().iter().enumerate() {
        let Some(args) = trace.args.set(kind.args.index()) else { continue };
        let is_op = trace.lines.get(kind.line.index()).is_some_and(|line| line.kind == LineKind::DeviceOps);
        if !is_op || args.hlo_op.is_empty() || is_unnamed.contains(&at) {
            continue;
        }
        let op = || Op {
            instruction: instruction_name(trace.text(args.hlo_op)).to_owned(),
            module: trace.text(args.hlo_module).to_owned(),
            program_id: args.program_id,
        };
        if let Some(node) = args.graph_node_id.filter(|&node| node != 0) {
            add(&mut by_node, (host(trace, kind), node), op());
        }
        add(&mut by_name, (host(trace, kind), kind.name), op());
    }
    let by_instruction = by_instruction(trace, modules, unnamed);
    for &at in unnamed {
        let Some(kind) = trace.events.kinds().get(at) else { continue };
        let args = trace.args.get(kind.args);
        let node = args.graph_node_id.and_then(|node| by_node.get(&(host(trace, kind), node)).cloned().flatten());
        if let Some(op) = node {
            ops.insert(at, op);
        } else if !ops.contains_key(&at) && args.hlo_op.is_empty() {
            let named = by_name.get(&(host(trace, kind), kind.name)).cloned().flatten();
            let op = named.or_else(|| by_instruction.get(&kind.name).cloned().flatten());
            ops.extend(op.map(|op| (at, op)));
        }
    }
}

fn add<K: std::hash::Hash + Eq>(map: &mut Unique<K>, key: K, op: Op) {
    let entry = map.entry(key).or_insert_with(|| Some(op.clone()));
    if entry.as_ref().is_some_and(|known| *known != op) {
        *entry = None;
    }
}

/// Finds instructions for kernels whose program is unknown. A kernel must be named after an instruction, and only one
/// instruction in all modules may have this name.
fn by_instruction(trace: &Trace, modules: &Modules, unnamed: &[usize]) -> Unique<StrId> {
    let is_wanted = |args: &Args| args.hlo_op.is_empty() && args.program_id.is_none();
    let wanted: FxHashMap<&str, StrId> = unnamed
        .iter()
        .filter(|&&at| args_of(trace, at).is_some_and(|args| is_wanted(&args)))
        .map(|&at| name_of(trace, at))
        .map(|name| (trace.text(name).strip_suffix(".kd").unwrap_or(trace.text(name)), name))
        .collect();
    let mut found = Unique::default();
    if wanted.is_empty() {
        return found;
    }
    for (_, program, _, module) in modules.all() {
        for instruction in module.instructions() {
            let Some(&name) = wanted.get(instructions::kernel_name(&instruction.name).as_str()) else { continue };
            let (instruction, module) = (instruction.name.clone(), module.name().to_owned());
            add(&mut found, name, Op { instruction, module, program_id: Some(program) });
        }
    }
    found
}
