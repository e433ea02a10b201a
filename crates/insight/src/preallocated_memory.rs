//! JAX reserves most of a GPU's memory at start, and the program uses little of it.
//!
//! JAX on GPUs only: the process has used less than 50 % of the memory that JAX's allocator holds, and at least 1 GiB
//! of it was never used (ours: another small program would fit). By default, the allocator takes three quarters of the
//! device's memory at start, and nvidia-smi shows all of this memory as used. With
//! `XLA_PYTHON_CLIENT_PREALLOCATE=false`, the allocator has the same limit but takes memory only when it needs it, and
//! the rule does not fire. `memory.devices[].is_preallocated` distinguishes the two cases by the sizes of free blocks.
//! Severity: note. Confidence: high. Remedy: set `XLA_PYTHON_CLIENT_MEM_FRACTION` or `XLA_PYTHON_CLIENT_PREALLOCATE`.
//! The program itself needs no change. The rule is skipped if there are no allocator events, or if they do not show how
//! much memory the allocator holds.

use super::draft::{Draft, lacks};
use super::numbers::Numbers;
use super::{Rule, Verdict};
use base::format;
use report::{Confidence, FindingSeverity, View};
use trace::Framework;

pub(super) static RULE: Rule =
    Rule { id: "preallocated_memory", title: "Most of the preallocated memory is unused", ..Rule::checked_by(check) };

/// Used share of the reserved memory below which the rule fires.
const USED_PERCENT: f64 = 50.0;
/// Minimum unused memory for the rule to fire. Another small program would fit into the unused memory.
const LEAST_BYTES: u64 = 1 << 30;

fn check(numbers: &Numbers<'_>) -> Verdict {
    if !numbers.is_gpu() || numbers.trace.framework != Framework::Jax {
        return Verdict::Irrelevant;
    }
    let devices = numbers.context.analysis.memory.devices.iter().filter(|device| device.source == "allocator");
    // Uses the peak since the process started, because the program may need that much again after the capture.
    let known = devices.filter_map(|device| {
        let used = device.peak_bytes?.max(device.lifetime_peak_bytes.unwrap_or(0));
        Some((device, used, device.capacity_bytes.filter(|&capacity| capacity > 0)?))
    });
    // Uses the device with the highest peak. The others could free at least as much.
    let Some((device, used, capacity)) = known.max_by_key(|it| it.1) else {
        return lacks(&format!(
            "the capture contains no allocator events. Capture with {} while a step allocates.",
            numbers.words().allocations
        ));
    };
    let (unused, percent) = (capacity.saturating_sub(used), 100.0 * used as f64 / capacity as f64);
    if percent >= USED_PERCENT || unused < LEAST_BYTES {
        return Verdict::Fine;
    }
    match device.is_preallocated {
        Some(true) => {}
        Some(false) => return Verdict::Fine,
        None => {
            return lacks(
                "the allocator's events do not show whether it holds all memory up to its limit. Capture steps that \
                 allocate and free arrays of several sizes.",
            );
        }
    }
    let message = format!(
        "{} of the {} that JAX's allocator holds on {} were never used: the process has used at most {} since it started. \
         nvidia-smi and rocm-smi show the memory that it holds.",
        format::bytes(unused),
        format::bytes(capacity),
        format::printable(&device.device_name),
        format::bytes(used)
    );
    Draft::new(
        FindingSeverity::Note,
        Confidence::High,
        &format!("The process uses {} of the memory that it holds", format::percent(percent)),
        message,
    )
    .remedy(
        "To leave memory to other processes, set XLA_PYTHON_CLIENT_MEM_FRACTION to the share that the program needs, or \
         XLA_PYTHON_CLIENT_PREALLOCATE=false, which causes more fragmentation. The program itself needs no change: by default, \
         JAX takes three quarters of a GPU's memory at start. The Memory page shows the use over time, which nvidia-smi does \
         not.",
    )
    .passed("used_percent", percent, USED_PERCENT)
    .evidence("unused_bytes", unused as f64)
    .evidence("capacity_bytes", capacity as f64)
    .link(View::Memory, "")
    .fires()
}
