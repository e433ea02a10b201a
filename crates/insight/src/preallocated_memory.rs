//! JAX takes most of a GPU's memory at its start, which is not what the program uses.

use super::draft::{Draft, lacks};
use super::memory::VIEW;
use super::numbers::Numbers;
use super::{Rule, Verdict};
use base::format;
use report::{Confidence, FindingSeverity};
use trace::Framework;

/// The rule.
pub(super) const RULE: Rule =
    Rule { id: "preallocated_memory", title: "Most of the reserved memory is not used", check };

/// Share of the reserved memory in use below which the rest is worth knowing of (ours).
const USED_PERCENT: f64 = 50.0;
/// Least unused memory that is worth knowing of (ours: another small program would fit).
const LEAST_BYTES: u64 = 1 << 30;

fn check(numbers: &Numbers<'_>) -> Verdict {
    if !numbers.is_gpu() || numbers.trace.framework != Framework::Jax {
        return Verdict::Irrelevant;
    }
    let devices = numbers.context.analysis.memory.devices.iter().filter(|device| device.source == "allocator");
    // The most since the process began: what was used before the capture may be used again after it.
    let known = devices.filter_map(|device| {
        let used = device.peak_bytes?.max(device.lifetime_peak_bytes.unwrap_or(0));
        Some((device, used, device.capacity_bytes.filter(|&capacity| capacity > 0)?))
    });
    // Of several devices the one that uses most: the others could give up at least as much.
    let Some((device, used, capacity)) = known.max_by_key(|it| it.1) else {
        return lacks(&format!(
            "the allocator reported nothing. Capture with {} while a step allocates.",
            numbers.words().allocations
        ));
    };
    let (unused, percent) = (capacity.saturating_sub(used), 100.0 * used as f64 / capacity as f64);
    if percent >= USED_PERCENT || unused < LEAST_BYTES {
        return Verdict::Fine;
    }
    let message = format!(
        "JAX's allocator may give out {} of {}, and the process has used at most {} of it since it began. nvidia-smi and rocm-smi show \
         what is reserved, {} of which nobody has used.",
        format::bytes(capacity),
        format::printable(&device.device_name),
        format::bytes(used),
        format::bytes(unused)
    );
    Draft::new(
        FindingSeverity::Note,
        Confidence::High,
        &format!("The process uses {} of the memory that it reserves", format::percent(percent)),
        message,
    )
    .remedy(
        "Nothing is wrong with the program: JAX takes a share of a GPU when it starts, three quarters unless told otherwise. To leave memory to other processes, \
         set XLA_PYTHON_CLIENT_MEM_FRACTION to the share that it needs, or XLA_PYTHON_CLIENT_PREALLOCATE=false, which fragments more. \
         The Memory page shows the use over time, which nvidia-smi does not.",
    )
    .passed("used_percent", percent, USED_PERCENT)
    .evidence("unused_bytes", unused as f64)
    .evidence("capacity_bytes", capacity as f64)
    .link(VIEW, "")
    .fires()
}
