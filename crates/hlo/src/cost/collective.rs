//! Counts the arithmetic of collectives, and the bytes that they read from and write to device memory.

use super::analysis::Analysis;
use super::work::{Arithmetic, Work};
use super::{elementwise, moves};
use crate::collective::collective;
use crate::{Collective, Instruction};

/// Returns true for the opcode of a collective or of the start of an asynchronous collective.
pub(super) fn is(opcode: &str) -> bool {
    let kind = opcode.strip_suffix("-start").unwrap_or(opcode);
    matches!(kind, "all-reduce" | "all-gather" | "reduce-scatter" | "all-to-all" | "collective-permute")
}

/// Returns the work of a collective on one device.
pub(super) fn work(analysis: &Analysis, instruction: &Instruction) -> Work {
    let Some(found) = collective(analysis.module, instruction) else { return Work::UNKNOWN };
    let gpu = analysis.conventions.is_gpu();
    let (operand, result) = (found.operand_bytes as f64, found.result_bytes as f64);
    let bytes = match found.kind {
        _ if !gpu => moves::default(analysis.module, instruction),
        "all-gather" | "reduce-scatter" => ring(&found),
        _ => Work::moves(operand, result),
    };
    let reduces = matches!(found.kind, "all-reduce" | "reduce-scatter");
    let counted = found.kind == "all-reduce" || gpu;
    let array = instruction.shape.first_array().filter(|_| reduces && counted);
    let Some(array) = array else { return bytes };
    // XLA assumes two operands per addition for any number of devices.
    let cycles = if gpu { cycles(analysis, instruction) } else { 1.0 };
    let flops = cycles * instruction.shape.elements();
    Work { flops, arithmetic: Arithmetic::other(array, flops), ..bytes }
}

/// Returns the number of clock cycles of the operation that combines two elements.
fn cycles(analysis: &Analysis, instruction: &Instruction) -> f64 {
    let module = analysis.module;
    let root = module.called(instruction, 0).and_then(|computation| module.root(computation));
    root.map_or(3.0, elementwise::cycles)
}

/// Returns the bytes of an all-gather or reduce-scatter among n devices in a ring. In each of n - 1 steps, a shard is
/// read and sent, and an arriving shard is written, or is added to a shard that is read. The device's own shard is read
/// and written. The larger array (the result of an all-gather, the operand of a
/// reduce-scatter) has n shards. Each shard is written or read once.
///
/// ```text
/// n = 4:  (n - 1) sent + (n - 1) received + 1 own + n = 3 n - 1 = 11 shards
/// ```
fn ring(found: &Collective) -> Work {
    let shard = found.operand_bytes.min(found.result_bytes) as f64;
    let whole = found.operand_bytes.max(found.result_bytes) as f64;
    let devices = found.group_size.map(f64::from).filter(|&size| size > 0.0);
    let devices = devices.unwrap_or(if shard > 0.0 { (whole / shard).round() } else { 1.0 });
    let steps = (devices - 1.0).max(0.0) * shard;
    if found.kind == "all-gather" {
        Work::moves(shard + steps, whole + steps)
    } else {
        Work::moves(whole + steps, shard + steps)
    }
}
