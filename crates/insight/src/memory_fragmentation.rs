//! Free memory is fragmented into blocks that are too small to use.
//!
//! If the capture contains allocator events, the finding is a warning if two conditions hold at the peak: at least 75 %
//! of the capacity is in use (ours: below this share, a large block is always free), and at least 50 % of the free
//! memory is outside its largest block (ours: a request for half of the free memory fails). Otherwise, the finding is a
//! note if at least 10 % of the largest program's allocations, and at least 1 MiB, are free even at the program's peak
//! (`free_at_peak_percent = 100 * (total - peak) / total`). Confidence: high. Remedy: use blocks of the same size,
//! shapes that do not change, or preallocation. The rule is skipped if neither the allocator nor a program is known.

use super::draft::Draft;
use super::limits::OF_PEAK_MEMORY_PERCENT;
use super::memory::{LEAST_BYTES, fullest_device, largest_program, name};
use super::numbers::Numbers;
use super::{Rule, Verdict};
use base::format;
use report::{Confidence, FindingSeverity, View};

pub(super) static RULE: Rule =
    Rule { id: "memory_fragmentation", title: "Free memory is fragmented", ..Rule::checked_by(check) };

/// Free memory is fragmented if at least this share of it is outside its largest block. At this share, a request for
/// half of the free memory fails.
const POOL_PERCENT: f64 = 50.0;
/// Fragmentation matters only if at least this share of the capacity is in use. Below this share, a large block is
/// always free.
const USED_PERCENT: f64 = 75.0;

fn check(numbers: &Numbers<'_>) -> Verdict {
    let device = fullest_device(numbers);
    if let Ok((device, used)) = &device
        && let Some(pool) = device.fragmentation_percent.filter(|&pool| pool >= POOL_PERCENT && *used >= USED_PERCENT)
    {
        return pool_is_fragmented(&device.device_name, pool, *used);
    }
    let program = match largest_program(numbers) {
        Ok(program) => program,
        // The allocator's events were checked above, and need no program.
        Err(verdict) => return if device.is_ok() { Verdict::Fine } else { verdict },
    };
    let figures = &program.figures;
    let (Some(total), true) = (figures.total_allocation_bytes, figures.fragmentation_percent.is_some()) else {
        return Verdict::Fine;
    };
    let free = total.saturating_sub(figures.peak_heap_bytes);
    let percent = 100.0 * free as f64 / total.max(1) as f64;
    if percent < OF_PEAK_MEMORY_PERCENT.good || free < LEAST_BYTES {
        return Verdict::Fine;
    }
    let message = format!(
        "{} allocates {} but never uses more than {} at once: {} are gaps between buffers that no other buffer fits into.",
        name(program),
        format::bytes(total),
        format::bytes(figures.peak_heap_bytes),
        format::bytes(free)
    );
    Draft::new(
        FindingSeverity::Note,
        Confidence::High,
        &format!("{} of a program's memory is lost in gaps between buffers", format::percent(percent)),
        message,
    )
    .remedy(
        "Use identical blocks (jax.lax.scan over layers instead of a Python loop), so that XLA can place buffers of the same size in \
         one allocation. Keep fewer values alive at once.",
    )
    .passed("free_at_peak_percent", percent, OF_PEAK_MEMORY_PERCENT.good)
    .evidence("free_at_peak_bytes", free as f64)
    .evidence("fragmentation_percent", figures.fragmentation_percent.unwrap_or(0.0))
    .link(View::Memory, "")
    .fires()
}

fn pool_is_fragmented(device: &str, pool: f64, used: f64) -> Verdict {
    let message = format!(
        "Large allocations can fail although enough memory is free: at the peak, {} of the free memory of {} is outside its \
         largest block, and {} of the capacity is in use.",
        format::percent(pool),
        format::printable(device),
        format::percent(used)
    );
    Draft::new(FindingSeverity::Warning, Confidence::High, "The free memory of a device is fragmented", message)
        .remedy(
            "Allocate long-lived arrays before temporary ones, keep shapes the same from step to step, and leave preallocation \
             on (XLA_PYTHON_CLIENT_PREALLOCATE), so that the pool is one block. XLA_PYTHON_CLIENT_ALLOCATOR=cuda_async lets the \
             driver merge free blocks.",
        )
        .passed("fragmentation_percent", pool, POOL_PERCENT)
        .passed("peak_percent", used, USED_PERCENT)
        .link(View::Memory, "")
        .fires()
}
