//! Bytes that instructions read and write, and instructions that do nothing else.

use super::conventions::Conventions;
use super::work::Work;
use crate::{ArrayShape, Instruction, Module, Shape};

/// A pointer in a tuple's table.
const POINTER_BYTES: f64 = 8.0;

/// Operands read once and results written once.
pub(super) fn default(module: &Module, instruction: &Instruction) -> Work {
    Work::moves(module.operands(instruction).map(operand).sum(), instruction.shape.bytes())
}

/// What reading an operand takes: of a tuple its table, since its elements are operands of others.
fn operand(operand: &Instruction) -> f64 {
    match &operand.shape {
        Shape::Tuple(elements) => elements.len() as f64 * POINTER_BYTES,
        shape => shape.bytes(),
    }
}

/// Bytes of operand number `n`, 0 where there is none.
fn bytes_of(module: &Module, instruction: &Instruction, n: usize) -> f64 {
    module.operand(instruction, n).map_or(0.0, operand)
}

/// Work of an instruction that computes nothing.
pub(super) fn work(module: &Module, instruction: &Instruction, conventions: Conventions) -> Work {
    let result = instruction.shape.bytes();
    let of = |n| bytes_of(module, instruction, n);
    match instruction.opcode.as_str() {
        // Names for values that lie where they lay.
        "parameter" | "constant" | "get-tuple-element" | "bitcast" | "after-all" | "add-dependency" | "domain" => {
            Work::default()
        }
        "tuple" => Work::moves(0.0, instruction.shape.tuple().len() as f64 * POINTER_BYTES),
        "transpose" if is_bitcast(module, instruction) => Work::default(),
        // Only the part that is taken is read.
        "slice" => Work::moves(result, result),
        "dynamic-slice" => Work::moves(result + of(1), result),
        "dynamic-update-slice" => Work::moves(of(1) + of(2), of(1)),
        "gather" => Work::moves(result + of(1), result),
        "infeed" => Work::moves(0.0, result),
        "outfeed" => Work::moves(module.operands(instruction).map(|operand| operand.shape.bytes()).sum(), 0.0),
        // What is waited for was counted where it was started. XLA counts it twice.
        opcode if conventions.corrects() && waits(opcode) => Work::default(),
        // The source is read and the target written; XLA counts the source's entry in the result as well.
        "copy-start" if conventions.corrects() => Work::moves(of(0), of(0)),
        _ => default(module, instruction),
    }
}

/// Does an instruction with this opcode wait for another one?
pub(super) fn waits(opcode: &str) -> bool {
    opcode == "async-update" || opcode.ends_with("-done")
}

/// How much of operand number `n` is used, as a share of its elements.
pub(super) fn utilization(module: &Module, instruction: &Instruction, n: usize) -> f64 {
    let elements = |n| module.operand(instruction, n).map_or(0.0, |operand| operand.shape.elements());
    let share = |part: f64, whole: f64| if whole > 0.0 { part / whole } else { 0.0 };
    match (instruction.opcode.as_str(), n) {
        ("slice" | "dynamic-slice" | "gather", 0) => share(instruction.shape.elements(), elements(0)),
        // What the update overwrites is not used.
        ("dynamic-update-slice", 0) => share(instruction.shape.elements() - elements(1), instruction.shape.elements()),
        _ => 1.0,
    }
}

/// Does a transpose only rename dimensions, because both layouts put the elements into the same order?
///
/// ```text
/// f32[48,32]{0,1} transpose(f32[32,48]{1,0}), dimensions={1,0}: the fastest dimension is the operand's 1 in both
/// ```
fn is_bitcast(module: &Module, instruction: &Instruction) -> bool {
    let Some(operand) = module.operand(instruction, 0).and_then(|operand| operand.shape.array()) else { return false };
    let Some(result) = instruction.shape.array() else { return false };
    let (Some(from), Some(to)) = (&operand.layout, &result.layout) else { return false };
    let dimensions = &instruction.attributes().dimensions;
    let renamed = to.minor_to_major.iter().map(|&d| usize::try_from(d).ok().and_then(|d| dimensions.get(d).copied()));
    from.tiles == to.tiles && renamed.eq(from.minor_to_major.iter().map(|&dimension| Some(dimension)))
}

/// The result proper: the rest of a tuple is scratch memory and auxiliary values.
pub(super) fn result(instruction: &Instruction) -> Option<&ArrayShape> {
    instruction.shape.tuple().first().unwrap_or(&instruction.shape).array()
}

/// Operands read, the result proper written: counting scratch memory would reward using it.
pub(super) fn without_scratch(module: &Module, instruction: &Instruction, result: &ArrayShape) -> Work {
    Work { written: result.bytes(), ..default(module, instruction) }
}
