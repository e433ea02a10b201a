//! Fusions: many instructions in one kernel. Intermediate values are in registers, and only parameters and results
//! are in memory.
//!
//! On GPUs, each inner element is computed as often as it is needed. This number of times is the *utilisation* of the
//! instruction, and is derived backwards from the result. Elementwise users need the same elements as their own users.
//! Therefore, the utilisations of several users are added only at the *elementwise roots*: the next instructions that
//! are not elementwise, or the result.
//!
//! ```text
//! e = exp(p)            e needed by s as is, and by t transposed: computed twice
//! t = transpose(e)      p needed for both, but read once: a read beyond the whole comes from the cache
//! s = add(e, t)         root: needed once
//! ```

use std::rc::Rc;

use super::analysis::Analysis;
use super::elementwise::is_elementwise;
use super::moves;
use super::work::Work;
use crate::{Computation, ComputationIndex, Instruction, Module};

/// On GPUs, constants with more elements than this are read from memory. For other platforms, see
/// [`IMMEDIATE_ELEMENTS`].
const IMMEDIATE_ELEMENTS_GPU: f64 = 8.0;
const IMMEDIATE_ELEMENTS: f64 = 1.0;

/// Maximum total number of entries in the sets of elementwise roots. Beyond this limit, the analysis assumes that every
/// instruction is needed once. Real fusions stay far below this limit.
const MAX_ROOTS: usize = 1 << 20;

/// Maximum depth of nested fusions when only bytes are counted.
const DEPTH: u32 = 3;

/// Returns the work of a fusion.
pub(super) fn work(analysis: &mut Analysis, fusion: &Instruction) -> Work {
    let module = analysis.module;
    let (Some(&index), Some(computation)) = (fusion.called.first(), module.called(fusion, 0)) else {
        return Work::UNKNOWN;
    };
    let inside = module.instructions_of(computation);
    if fusion.attributes().fusion_kind == "kCustom"
        && let Some(only) = inside.iter().find(|inner| inner.is("gather") || inner.is("scatter"))
    {
        return analysis.instruction(only);
    }
    let written = written(module, fusion, computation);
    if !analysis.conventions.is_gpu() {
        let corrects = analysis.conventions.corrects();
        let read = inside.iter().map(|inner| read_by_users(module, computation, inner, corrects, DEPTH)).sum();
        return Work { read, written, ..analysis.called(fusion, 0) };
    }
    Work { written, ..fused(analysis, index, computation).0 }
}

/// Returns the work of a fused computation without its results, and the utilisation of each instruction in it. Computed
/// once.
fn fused(analysis: &mut Analysis, index: ComputationIndex, computation: &Computation) -> (Work, Rc<[f64]>) {
    if let Some((work, needed)) = analysis.fused.get(&index) {
        return (*work, Rc::clone(needed));
    }
    let module = analysis.module;
    // The work of a computation that contains itself is unknown.
    analysis.fused.insert(index, (Work::UNKNOWN, Rc::new([])));
    let inside = module.instructions_of(computation);
    let works: Vec<Work> = inside.iter().map(|inner| analysis.instruction(inner)).collect();
    let needed: Rc<[f64]> = utilizations(analysis, computation).into();
    let mut sum = Work::default();
    for ((inner, own), &times) in inside.iter().zip(works).zip(needed.iter()) {
        // Inside a fusion, only reading parameters and large constants moves bytes.
        let read = read(module, inner, times, &needed, computation);
        sum = sum.plus(Work { read, written: 0.0, ..own.times(times) });
    }
    analysis.fused.insert(index, (sum, Rc::clone(&needed)));
    (sum, needed)
}

/// Returns the bytes that are read for a parameter or a large constant.
fn read(module: &Module, inner: &Instruction, needed: f64, all: &[f64], computation: &Computation) -> f64 {
    match inner.opcode.as_str() {
        "constant" if inner.shape.elements() > IMMEDIATE_ELEMENTS_GPU => inner.shape.bytes() * needed.min(1.0),
        "parameter" if inner.shape.array().is_some() => (inner.shape.bytes() * needed.min(1.0)).floor(),
        // The elements of a tuple are read at the instructions that extract them.
        "parameter" => {
            let inside = module.instructions_of(computation).iter().zip(all);
            let taken = inside.filter(|(user, _)| {
                user.is("get-tuple-element") && module.operand(user, 0).is_some_and(|from| from.name == inner.name)
            });
            taken.map(|(user, &needed)| (user.shape.bytes() * needed.min(1.0)).floor()).sum()
        }
        _ => 0.0,
    }
}

/// Returns the bytes of the results. A result that updates a parameter is written in place.
fn written(module: &Module, fusion: &Instruction, computation: &Computation) -> f64 {
    let Some(root) = module.root(computation) else { return fusion.shape.bytes() };
    if fusion.shape.array().is_some() {
        return update_bytes(module, root).unwrap_or(fusion.shape.bytes());
    }
    let parts = fusion.shape.tuple().iter().enumerate();
    let element = |n| if root.is("tuple") { module.operand(root, n) } else { None };
    parts.map(|(n, part)| element(n).and_then(|e| update_bytes(module, e)).unwrap_or(part.bytes())).sum()
}

/// Returns the bytes that a dynamic-update-slice writes.
fn update_bytes(module: &Module, instruction: &Instruction) -> Option<f64> {
    let update = module.operand(instruction, 1).filter(|_| instruction.is("dynamic-update-slice"))?;
    Some(update.shape.bytes())
}

/// Returns the utilisation of each instruction of a fusion, in order.
fn utilizations(analysis: &mut Analysis, computation: &Computation) -> Vec<f64> {
    let module = analysis.module;
    let inside = module.instructions_of(computation);
    let base = computation.instructions.start;
    let local = |index: u32| index.checked_sub(base).map(|i| i as usize).filter(|&i| i < inside.len());
    let mut needed = vec![0.0f64; inside.len()];
    let mut as_root = vec![0.0f64; inside.len()];
    // Elementwise roots of each instruction, as ascending indices.
    let mut roots: Vec<Vec<usize>> = vec![Vec::new(); inside.len()];
    let Some(root) = computation.root.and_then(local) else { return vec![1.0; inside.len()] };
    if let (Some(own), Some(times)) = (roots.get_mut(root), as_root.get_mut(root)) {
        own.push(root);
        *times = 1.0;
    }
    let mut entries = 0;
    for (i, instruction) in inside.iter().enumerate().rev() {
        let own = roots.get_mut(i).map(std::mem::take).unwrap_or_default();
        let times: f64 = own.iter().filter_map(|&root| as_root.get(root)).sum();
        if let Some(slot) = needed.get_mut(i) {
            *slot = times;
        }
        let passes_on =
            is_elementwise(module, instruction) || matches!(instruction.opcode.as_str(), "tuple" | "get-tuple-element");
        let nested = if passes_on { Vec::new() } else { of_nested(analysis, instruction) };
        for (n, &operand) in instruction.operands.iter().enumerate() {
            let Some(operand) = local(operand).filter(|&operand| operand < i) else { continue };
            let Some(roots) = roots.get_mut(operand) else { continue };
            entries += own.len() + 1;
            if passes_on {
                merge(roots, &own);
                continue;
            }
            merge(roots, &[operand]);
            let elements = inside.get(operand).map_or(0.0, |operand| operand.shape.elements());
            let share = match nested.get(n) {
                Some(&share) => share,
                None if in_place(module, computation, instruction) && n == 0 => 0.0,
                None => moves::utilization(module, instruction, n),
            };
            if let Some(slot) = as_root.get_mut(operand).filter(|_| elements > 0.0) {
                *slot += whole(times * share, elements);
            }
        }
        if entries > MAX_ROOTS {
            return vec![1.0; inside.len()];
        }
    }
    needed
}

/// Rounds a share of `elements` up to whole elements, because fractions of an element are not computed. A share that
/// exceeds a whole number only by a rounding error is rounded down.
fn whole(share: f64, elements: f64) -> f64 {
    (share * elements * (1.0 - 1e-9)).ceil() / elements
}

/// Returns how much of each operand a nested fusion needs. The result is empty for other instructions.
fn of_nested(analysis: &mut Analysis, instruction: &Instruction) -> Vec<f64> {
    let module = analysis.module;
    let (Some(&index), Some(computation)) = (instruction.called.first(), module.called(instruction, 0)) else {
        return Vec::new();
    };
    if !instruction.is("fusion") {
        return Vec::new();
    }
    let needed = fused(analysis, index, computation).1;
    let mut of = vec![1.0; instruction.operands.len()];
    for (inner, &needed) in module.instructions_of(computation).iter().zip(needed.iter()) {
        let number = inner.attributes().parameter_number.and_then(|number| usize::try_from(number).ok());
        if let Some(slot) = number.and_then(|number| of.get_mut(number)) {
            *slot = needed;
        }
    }
    of
}

/// Returns true if the instruction updates a parameter and is a result of the fusion, so that it works in place.
fn in_place(module: &Module, computation: &Computation, instruction: &Instruction) -> bool {
    let root = module.root(computation).filter(|_| instruction.is("dynamic-update-slice"));
    root.is_some_and(|root| {
        root.name == instruction.name
            || (root.is("tuple") && module.operands(root).any(|element| element.name == instruction.name))
    })
}

/// Adds the entries of `from` to `into`. Both are ascending.
fn merge(into: &mut Vec<usize>, from: &[usize]) {
    if into.is_empty() {
        into.extend_from_slice(from);
        return;
    }
    for &entry in from {
        if let Err(at) = into.binary_search(&entry) {
            into.insert(at, entry);
        }
    }
}

/// Returns the bytes that are read for a parameter or constant under the general conventions. A slice reads only its
/// part of the value. Each broadcast, reshape and nested fusion reads the value separately. All other users share one
/// read. XLA counts a gather as a read of the whole value. With corrections, a gather reads the elements of its result, as it does
/// outside of a fusion.
fn read_by_users(module: &Module, computation: &Computation, inner: &Instruction, corrects: bool, depth: u32) -> f64 {
    if inner.is("constant") {
        return if inner.shape.elements() > IMMEDIATE_ELEMENTS { inner.shape.bytes() } else { 0.0 };
    }
    if !inner.is("parameter") || depth == 0 {
        return 0.0;
    }
    let whole = inner.shape.bytes();
    let (mut size, mut shared) = (0.0, false);
    let inside = module.instructions_of(computation);
    for user in inside.iter().filter(|user| module.operands(user).any(|operand| operand.name == inner.name)) {
        let first = module.operand(user, 0).is_some_and(|operand| operand.name == inner.name);
        match user.opcode.as_str() {
            "slice" => size += user.shape.bytes(),
            "dynamic-slice" if first => size += user.shape.bytes(),
            "gather" if first && corrects => size += user.shape.bytes().min(whole),
            // The operand has the same memory as the result.
            "dynamic-update-slice" if first => {}
            "broadcast" | "reshape" => size += whole,
            "fusion" => {
                let Some(nested) = module.called(user, 0) else { continue };
                let numbers = user.operands.iter().enumerate();
                let ours = numbers.filter(|&(_, &index)| module.at(index).is_some_and(|o| o.name == inner.name));
                for (number, _) in ours {
                    let mut parameters = module.instructions_of(nested).iter();
                    let number = i64::try_from(number).ok();
                    let parameter = parameters.find(|p| p.is("parameter") && p.attributes().parameter_number == number);
                    size += parameter.map_or(0.0, |p| read_by_users(module, nested, p, corrects, depth - 1));
                }
            }
            _ if !shared => {
                shared = true;
                size += whole;
            }
            _ => {}
        }
    }
    size
}

#[cfg(test)]
mod tests {
    use crate::{Conventions, cost_by, read_module};

    #[test]
    fn a_gather_reads_the_rows_that_it_returns() {
        let text = "HloModule m\n\nlookup {\n  table = f32[32000,384] parameter(0)\n  ids = s32[8,1] parameter(1)\n  \
                    ROOT rows = f32[8,1,384] gather(table, ids), offset_dims={1,2}, collapsed_slice_dims={}, start_index_map={0}, \
                    index_vector_dim=1, slice_sizes={1,384}\n}\n\nENTRY main {\n  t = f32[32000,384] parameter(0)\n  \
                    i = s32[8,1] parameter(1)\n  ROOT f = f32[8,1,384] fusion(t, i), kind=kLoop, calls=lookup\n}\n";
        let module = read_module(text.as_bytes());
        let fusion = module.instruction("f").unwrap();
        let bytes = |conventions| cost_by(&module, fusion, conventions).unwrap().bytes_accessed;
        // 8 rows of 384 numbers are read and written, and 8 ids are read.
        assert_eq!(bytes(Conventions::Cpu), f64::from(2 * 8 * 384 * 4 + 8 * 4));
        assert_eq!(bytes(Conventions::General), f64::from(32_000 * 384 * 4 + 8 * 384 * 4 + 8 * 4));
    }
}
