//! Ops that read arrays only to convert them to a narrower type, and the instructions that produce these arrays.
//!
//! Two rules share this code: one about arguments that a program converts in each run, and one about arrays that a loop
//! converts in each iteration.

use std::collections::BTreeMap;

use super::gathered_batch::users;
use super::numbers::Numbers;
use base::Ps;
use hlo::{Computation, ComputationIndex, DataType, Instruction, Module};
use metrics::Op;
use metrics::roofline::Level;

/// Minimum number of bytes of a converted array. We chose this limit because converting scales and biases costs
/// nothing, and the inputs of most programs are smaller.
pub(super) const LEAST_CONVERTED_BYTES: f64 = (1 << 20) as f64;
/// Maximum number of instructions or call levels that are read for one value. Longer paths are not worth a search.
const MOST_STEPS: usize = 100;
/// Maximum number of instructions of a fusion that is examined. A larger fusion does more than convert, and each of its
/// operands would need a search.
const MOST_FUSED: usize = 2000;
/// Ops that change the shape of an array or copy it, but do not change its values.
const PASSES_ON: [&str; 4] = ["bitcast", "copy", "reshape", "transpose"];

/// An array that an op reads only to convert it.
pub(super) struct Conversion<'a> {
    /// The op that reads the array.
    pub op: &'a Op,
    /// The instruction of the op.
    pub instruction: &'a Instruction,
    /// The instruction that produces the array, outside all loops that leave the array unchanged.
    pub origin: &'a Instruction,
    /// True if the op is in a loop that leaves the array unchanged.
    pub is_invariant: bool,
    /// Types before and after the conversion.
    pub types: (DataType, DataType),
    /// Bytes that one execution reads.
    pub read_bytes: f64,
    /// Bytes that one execution would save if the array had the narrower type.
    pub saved_bytes: f64,
    /// True if the op reads the whole array and not a slice.
    pub is_whole: bool,
    /// Time that the op would save if the array had the narrower type.
    pub avoidable: Ps,
}

/// Returns the large arrays that the ops of a program read only to convert them.
pub(super) fn conversions<'a>(numbers: &Numbers<'a>, program: i64, module: &'a Module) -> Vec<Conversion<'a>> {
    let loops = Loops::new(module);
    let ops = &numbers.context.analysis.ops;
    let peak = numbers.context.analysis.roofline.peaks.as_ref();
    let peak = peak.and_then(|peaks| peaks.level(Level::Hbm)).map(|level| level.bytes_per_second);
    let mut found = Vec::new();
    for op in ops.rows.iter().filter(|op| op.program_id == Some(program)) {
        let Some(instruction) = module.instruction(ops.text(numbers.trace, op.name)) else { continue };
        // If an op converts several arrays, its time is counted once.
        let mut left = op.self_time;
        for (number, read) in reads(module, instruction) {
            let Some(operand) = module.operand(instruction, number) else { continue };
            if read.wide_bytes < LEAST_CONVERTED_BYTES {
                continue;
            }
            let (origin, is_invariant) = loops.origin(operand);
            let saved_bytes = read.wide_bytes - read.narrow_bytes;
            let avoidable = avoidable(module, (op, instruction), saved_bytes, peak).min(left);
            left = left - avoidable;
            found.push(Conversion {
                op,
                instruction,
                origin,
                is_invariant,
                types: read.types,
                read_bytes: read.wide_bytes,
                saved_bytes,
                is_whole: read.is_whole,
                avoidable,
            });
        }
    }
    found
}

/// Returns how often a program ran on a device: the most frequent number of executions among the ops of the entry
/// computation. Ops in loops run more often than the program, and ops in branches less often, but most ops run once.
pub(super) fn runs(numbers: &Numbers<'_>, program: i64, module: &Module) -> u64 {
    let ops = &numbers.context.analysis.ops;
    let is_entry = |op: &&Op| {
        let instruction = module.instruction(ops.text(numbers.trace, op.name));
        op.program_id == Some(program) && instruction.is_some_and(|it| module.entry_index() == Some(it.computation))
    };
    let mut by_executions: BTreeMap<u64, u64> = BTreeMap::new();
    for op in ops.rows.iter().filter(is_entry) {
        *by_executions.entry(executions(op)).or_default() += 1;
    }
    by_executions.into_iter().max_by_key(|(_, ops)| *ops).map_or(0, |(executions, _)| executions)
}

/// Returns how often a device executes an op.
pub(super) fn executions(op: &Op) -> u64 {
    op.executions / u64::from(op.devices.max(1))
}

/// Returns the name of a type in NumPy and JAX.
pub(super) fn type_name(data_type: DataType) -> &'static str {
    match data_type.name() {
        "f64" => "float64",
        "f32" => "float32",
        "f16" => "float16",
        "bf16" => "bfloat16",
        other => other,
    }
}

/// Returns the time that an op would save if its array had the narrower type. An op that only converts saves its whole
/// time. Any other op saves the time of the bytes that it no longer reads. The estimate is the op's time multiplied by
/// the share of its bytes that it no longer reads. The estimate is at most the time to read the saved bytes at the peak
/// bandwidth, because an op may be bound by compute.
fn avoidable(module: &Module, (op, instruction): (&Op, &Instruction), saved_bytes: f64, peak: Option<f64>) -> Ps {
    if only_converts(module, instruction) {
        return op.self_time;
    }
    let all_bytes = saved_bytes * op.executions as f64;
    let of_bytes = op.bytes.filter(|bytes| *bytes > 0.0).map(|bytes| (all_bytes / bytes).min(1.0));
    let of_bytes = of_bytes.map(|share| share * op.self_time.as_ps() as f64);
    let at_peak = peak.filter(|peak| *peak > 0.0).map(|peak| all_bytes / peak * 1e12);
    let time = match (of_bytes, at_peak) {
        (Some(a), Some(b)) => a.min(b),
        (Some(one), None) | (None, Some(one)) => one,
        (None, None) => 0.0,
    };
    Ps::new(time.min(op.self_time.as_ps() as f64) as i64)
}

fn only_converts(module: &Module, instruction: &Instruction) -> bool {
    let Some(fused) = module.called(instruction, 0) else { return instruction.is("convert") };
    let is_part = |it: &Instruction| {
        let others = ["parameter", "convert", "constant", "slice", "dynamic-slice", "tuple"];
        others.contains(&it.opcode.as_str()) || PASSES_ON.contains(&it.opcode.as_str())
    };
    instruction.is("fusion") && module.instructions_of(fused).iter().all(is_part)
}

/// An operand that an op only converts.
#[derive(Clone, Copy)]
struct Read {
    types: (DataType, DataType),
    wide_bytes: f64,
    narrow_bytes: f64,
    is_whole: bool,
}

/// Returns the operands that an op only converts to a narrower type, by operand number.
fn reads(module: &Module, instruction: &Instruction) -> Vec<(usize, Read)> {
    if instruction.is("convert") {
        return module
            .operand(instruction, 0)
            .and_then(|it| narrowing(it, instruction))
            .map(|it| (0, it))
            .into_iter()
            .collect();
    }
    let fused =
        module.called(instruction, 0).filter(|it| instruction.is("fusion") && it.instructions.len() <= MOST_FUSED);
    let Some(fused) = fused else { return Vec::new() };
    let read = |number: usize| Some((number, converted(module, parameter(module, fused, number)?, 0)?));
    (0..instruction.operands.len()).filter_map(read).collect()
}

/// Returns the conversion to a narrower floating-point type.
fn narrowing(from: &Instruction, to: &Instruction) -> Option<Read> {
    let (wide, narrow) = (from.shape.array()?, to.shape.array()?);
    let types = (wide.data_type, narrow.data_type);
    let is_narrower = types.0.bits() > types.1.bits() && types.0.is_floating() && types.1.is_floating();
    let (wide_bytes, narrow_bytes) = (wide.bytes(), narrow.bytes());
    is_narrower.then_some(Read { types, wide_bytes, narrow_bytes, is_whole: true })
}

fn parameter<'a>(module: &'a Module, computation: &'a Computation, number: usize) -> Option<&'a Instruction> {
    let is_it =
        |it: &&Instruction| it.is("parameter") && it.attributes().parameter_number == i64::try_from(number).ok();
    module.instructions_of(computation).iter().find(is_it)
}

/// Returns how a value is converted. `None` if the value is also read without a conversion.
fn converted(module: &Module, value: &Instruction, depth: usize) -> Option<Read> {
    if depth > MOST_STEPS {
        return None;
    }
    let mut found: Option<Read> = None;
    for user in users(module, value) {
        let position = user.operands.iter().position(|&it| Some(it) == module.index_of(value))?;
        let opcode = user.opcode.as_str();
        let read = match opcode {
            "convert" => narrowing(value, user)?,
            "slice" | "dynamic-slice" if position == 0 => {
                Read { is_whole: false, ..converted(module, user, depth + 1)? }
            }
            "fusion" => converted(module, parameter(module, module.called(user, 0)?, position)?, depth + 1)?,
            _ if PASSES_ON.contains(&opcode) => converted(module, user, depth + 1)?,
            _ => return None,
        };
        // If several instructions convert the value, the one that reads the most bytes is kept.
        found = Some(match found {
            Some(other) if other.wide_bytes >= read.wide_bytes => other,
            _ => read,
        });
    }
    found
}

pub(super) struct Loops<'a> {
    module: &'a Module,
    by_body: BTreeMap<ComputationIndex, &'a Instruction>,
}

impl<'a> Loops<'a> {
    pub(super) fn new(module: &'a Module) -> Loops<'a> {
        let whiles = module.instructions().iter().filter(|it| it.is("while"));
        Loops { module, by_body: whiles.filter_map(|it| Some((*it.called.first()?, it))).collect() }
    }

    /// Returns the loop whose body contains an instruction.
    pub(super) fn around(&self, instruction: &Instruction) -> Option<&'a Instruction> {
        self.by_body.get(&instruction.computation).copied()
    }

    /// Returns the instruction that makes a value, and true if a loop around the value leaves it unchanged.
    pub(super) fn origin(&self, value: &'a Instruction) -> (&'a Instruction, bool) {
        let (mut value, mut is_invariant) = (value, false);
        for _ in 0..MOST_STEPS {
            let next = match value.opcode.as_str() {
                "get-tuple-element" => match self.outside(value) {
                    Some(outside) => {
                        is_invariant = true;
                        Some(outside)
                    }
                    None => None,
                },
                opcode if PASSES_ON.contains(&opcode) => self.module.operand(value, 0),
                _ => None,
            };
            match next {
                Some(next) => value = next,
                None => break,
            }
        }
        (value, is_invariant)
    }

    /// For an element of a loop's state that no iteration changes, returns its value outside the loop.
    fn outside(&self, element: &'a Instruction) -> Option<&'a Instruction> {
        let state = self.module.operand(element, 0).filter(|it| it.is("parameter"))?;
        let of_loop = self.around(state)?;
        let index = element_index(element)?;
        is_unchanged(self.module, of_loop, index)
            .then(|| self.module.operand(of_loop, 0).filter(|it| it.is("tuple")))
            .flatten()
            .and_then(|start| self.module.operand(start, index))
    }
}

/// Returns the tuple index that a `get-tuple-element` reads.
pub(super) fn element_index(element: &Instruction) -> Option<usize> {
    usize::try_from(element.attributes().tuple_index).ok().filter(|_| element.is("get-tuple-element"))
}

/// Returns true if the body of a loop leaves an element of the loop's state unchanged.
pub(super) fn is_unchanged(module: &Module, of_loop: &Instruction, index: usize) -> bool {
    let Some(root) = module.called(of_loop, 0).and_then(|body| module.root(body)).filter(|it| it.is("tuple")) else {
        return false;
    };
    let mut value = module.operand(root, index);
    while let Some(it) = value.filter(|it| matches!(it.opcode.as_str(), "copy" | "bitcast")) {
        value = module.operand(it, 0);
    }
    value.is_some_and(|it| {
        element_index(it) == Some(index) && module.operand(it, 0).is_some_and(|state| state.is("parameter"))
    })
}
