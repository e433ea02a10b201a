//! Instructions that apply a computation to many elements.

use super::analysis::Analysis;
use super::moves;
use super::work::{Arithmetic, Work};
use crate::{Instruction, WindowDimension};

/// Returns the work of a reduce, reduce-window, select-and-scatter, scatter or map.
pub(super) fn work(analysis: &mut Analysis, instruction: &Instruction) -> Work {
    let bytes = bytes(analysis, instruction);
    let first = analysis.module.operand(instruction, 0).map(|operand| operand.shape.elements());
    let Some(input) = first else { return Work::UNKNOWN };
    let output = instruction.shape.first_array().map_or(0.0, |array| array.elements());
    let work = match instruction.opcode.as_str() {
        // A sum of n numbers takes n - 1 additions.
        "reduce" => applied(analysis, instruction, 0, (input - output).max(0.0)),
        "reduce-window" => applied(analysis, instruction, 0, window_applications(instruction, output)),
        "select-and-scatter" => {
            let source = analysis.module.operand(instruction, 1).map_or(0.0, |operand| operand.shape.elements());
            let window: f64 = instruction.attributes().window.iter().map(|dimension| dimension.size as f64).product();
            let selected = applied(analysis, instruction, 0, source * (window - 1.0).max(0.0));
            selected.plus(applied(analysis, instruction, 1, source))
        }
        "scatter" => {
            let updates = instruction.operands.len().saturating_sub(1) / 2 + 1;
            let update = analysis.module.operand(instruction, updates).map_or(0.0, |operand| operand.shape.elements());
            applied(analysis, instruction, 0, update)
        }
        _ => applied(analysis, instruction, 0, output),
    };
    Work { read: bytes.read, written: bytes.written, ..work }
}

/// Returns the work of applying the computation `times` times. The computation's values stay in registers, so its bytes
/// are excluded.
fn applied(analysis: &mut Analysis, instruction: &Instruction, n: usize, times: f64) -> Work {
    let once = analysis.called(instruction, n);
    let array = analysis.module.operand(instruction, 0).and_then(|operand| operand.shape.array());
    let flops = once.flops * times;
    Work {
        flops,
        transcendentals: once.transcendentals * times,
        known: once.known,
        arithmetic: array.map(|array| Arithmetic::other(array, flops)).unwrap_or_default(),
        ..Work::default()
    }
}

fn bytes(analysis: &Analysis, instruction: &Instruction) -> Work {
    let module = analysis.module;
    let operands = || module.operands(instruction);
    match instruction.opcode.as_str() {
        // On GPUs, the initial values are read for every element of the result.
        "reduce" if analysis.conventions.is_gpu() => {
            let inputs = operands().take(instruction.operands.len() / 2).map(|operand| operand.shape.bytes());
            Work::moves(inputs.sum::<f64>() + instruction.shape.bytes(), instruction.shape.bytes())
        }
        // The updated elements are read and written. The updates and their indices are read. Other elements are not
        // touched.
        "scatter" => {
            let targets = instruction.operands.len().saturating_sub(1) / 2;
            let indices = operands().nth(targets).map_or(0.0, |operand| operand.shape.bytes());
            let updates: f64 = operands().skip(targets + 1).map(|operand| operand.shape.bytes()).sum();
            Work::moves(2.0 * updates + indices, updates)
        }
        _ => moves::default(module, instruction),
    }
}

/// Returns the number of times that the computation is applied. For each element of the result, this number is one less
/// than the number of elements in the window. A window that always covers the whole dimension is a reduction with a
/// broadcast result, and is computed once.
///
/// ```text
/// size 2n - 1, padding n - 1 on both sides:   [ . . . x x x x ]      every position sees all n elements
///                                               [ . . x x x x . ]
/// ```
fn window_applications(instruction: &Instruction, output: f64) -> f64 {
    let window = &instruction.attributes().window;
    let size: f64 = window.iter().map(|dimension| dimension.size as f64).product();
    let sized = window.iter().filter(|dimension| dimension.size != 1).count();
    let padded = window.iter().filter(|dimension| dimension.padding_low != 0 || dimension.padding_high != 0).count();
    let spread = |(i, dimension): (usize, &WindowDimension)| {
        let array = instruction.shape.array()?;
        let span = array.dimensions.get(i).and_then(|&size| i64::try_from(size).ok())?;
        let covers = dimension.size != 1
            && dimension.padding_low != 0
            && dimension.padding_low == dimension.padding_high
            && dimension.size.checked_sub(1) == dimension.padding_low.checked_mul(2)
            && dimension.padding_low == span - 1;
        covers.then_some(span as f64)
    };
    let covered = window.iter().enumerate().find_map(spread).filter(|_| sized == 1 && padded == 1);
    match covered {
        Some(span) => (output / span).floor() + (span - 1.0),
        None => (size - 1.0).max(0.0) * output,
    }
}
