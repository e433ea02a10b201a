//! Bytes that instructions read and write, and instructions that only move bytes.

use super::conventions::Conventions;
use super::work::Work;
use crate::{ArrayShape, Instruction, Module, Shape};

/// Size of a pointer in a tuple's pointer table, in bytes.
const POINTER_BYTES: f64 = 8.0;

/// Counts each operand as read once and each result as written once.
pub(super) fn default(module: &Module, instruction: &Instruction) -> Work {
    Work::moves(module.operands(instruction).map(operand).sum(), instruction.shape.bytes())
}

/// Returns the bytes that are read for an operand. For a tuple, returns only the bytes of its pointer table, because
/// its elements are operands of other instructions.
fn operand(operand: &Instruction) -> f64 {
    match &operand.shape {
        Shape::Tuple(elements) => elements.len() as f64 * POINTER_BYTES,
        shape => shape.bytes(),
    }
}

/// Returns the bytes of the `n`-th operand. Returns zero if there is no such operand.
fn bytes_of(module: &Module, instruction: &Instruction, n: usize) -> f64 {
    module.operand(instruction, n).map_or(0.0, operand)
}

/// Returns the work of an instruction without arithmetic.
pub(super) fn work(module: &Module, instruction: &Instruction, conventions: Conventions) -> Work {
    let result = instruction.shape.bytes();
    let of = |n| bytes_of(module, instruction, n);
    match instruction.opcode.as_str() {
        // Aliases of values, which move nothing.
        "parameter" | "constant" | "get-tuple-element" | "bitcast" | "after-all" | "add-dependency" | "domain" => {
            Work::default()
        }
        "tuple" => Work::moves(0.0, instruction.shape.tuple().len() as f64 * POINTER_BYTES),
        "transpose" if is_bitcast(module, instruction) => Work::default(),
        // Only the selected part is read.
        "slice" => Work::moves(result, result),
        "dynamic-slice" => Work::moves(result + of(1), result),
        "dynamic-update-slice" => Work::moves(of(1) + of(2), of(1)),
        "gather" => Work::moves(result + of(1), result),
        "infeed" => Work::moves(0.0, result),
        "outfeed" => Work::moves(module.operands(instruction).map(|operand| operand.shape.bytes()).sum(), 0.0),
        // The work was counted at the start instruction. XLA counts it twice.
        opcode if conventions.corrects() && waits(opcode) => Work::default(),
        // The source is read and the target is written. XLA also counts the source's entry in the result.
        "copy-start" if conventions.corrects() => Work::moves(of(0), of(0)),
        _ => default(module, instruction),
    }
}

/// Returns true if instructions with this opcode wait for another instruction.
pub(super) fn waits(opcode: &str) -> bool {
    opcode == "async-update" || opcode.ends_with("-done")
}

/// Returns the share of the `n`-th operand's elements that is used.
pub(super) fn utilization(module: &Module, instruction: &Instruction, n: usize) -> f64 {
    let elements = |n| module.operand(instruction, n).map_or(0.0, |operand| operand.shape.elements());
    let share = |part: f64, whole: f64| if whole > 0.0 { part / whole } else { 0.0 };
    match (instruction.opcode.as_str(), n) {
        ("slice" | "dynamic-slice" | "gather", 0) => share(instruction.shape.elements(), elements(0)),
        // Overwritten elements are not used.
        ("dynamic-update-slice", 0) => share(instruction.shape.elements() - elements(1), instruction.shape.elements()),
        _ => 1.0,
    }
}

/// Returns true if a transpose only renames dimensions, because both layouts have the same order of elements.
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

/// Returns the actual result. If the result is a tuple, its other elements are scratch memory and auxiliary values.
pub(super) fn result(instruction: &Instruction) -> Option<&ArrayShape> {
    instruction.shape.tuple().first().unwrap_or(&instruction.shape).array()
}

/// Counts operands as read and the actual result as written. Scratch memory is excluded, because its bytes would make a
/// call look more efficient than it is.
pub(super) fn without_scratch(module: &Module, instruction: &Instruction, result: &ArrayShape) -> Work {
    Work { written: result.bytes(), ..default(module, instruction) }
}
