//! Free memory that lies in pieces too small to use.

use super::draft::Draft;
use super::memory::{LEAST_BYTES, VIEW, fullest_device, largest_program, name};
use super::numbers::Numbers;
use super::{Rule, Verdict};
use base::format;
use report::{Confidence, FindingSeverity};

/// The rule.
pub(super) const RULE: Rule = Rule { id: "memory_fragmentation", title: "Free memory lies in small pieces", check };

/// Share of an allocator's free memory outside of its largest piece (ours: a request of half of what is free fails).
const POOL_PERCENT: f64 = 50.0;
/// Share of the capacity in use from which that matters (ours: below, a large piece is left in any case).
const USED_PERCENT: f64 = 75.0;
/// Share of a program's allocations that is free even at its peak (ours: what a tenth more batch would need).
const PROGRAM_PERCENT: f64 = 10.0;

fn check(numbers: &Numbers<'_>) -> Verdict {
    let device = fullest_device(numbers);
    if let Ok((device, used)) = &device
        && let Some(pool) = device.fragmentation_percent.filter(|&pool| pool >= POOL_PERCENT && *used >= USED_PERCENT)
    {
        return pool_is_in_pieces(&device.device_name, pool, *used);
    }
    let program = match largest_program(numbers) {
        Ok(program) => program,
        // An allocator without a program was looked at.
        Err(verdict) => return if device.is_ok() { Verdict::Fine } else { verdict },
    };
    let figures = &program.figures;
    let (Some(total), true) = (figures.total_allocation_bytes, figures.fragmentation_percent.is_some()) else {
        return Verdict::Fine;
    };
    let free = total.saturating_sub(figures.peak_heap_bytes);
    let percent = 100.0 * free as f64 / total.max(1) as f64;
    if percent < PROGRAM_PERCENT || free < LEAST_BYTES {
        return Verdict::Fine;
    }
    let message = format!(
        "{} is given {} and never uses more than {} of it at once: {} lie between buffers where no other fits.",
        name(program),
        format::bytes(total),
        format::bytes(figures.peak_heap_bytes),
        format::bytes(free)
    );
    Draft::new(
        FindingSeverity::Note,
        Confidence::High,
        &format!("{} of a program's memory is lost between buffers", format::percent(percent)),
        message,
    )
    .remedy(
        "XLA places buffers of many sizes in one allocation. Equal blocks (jax.lax.scan over layers instead of a Python loop) give it \
         buffers of equal size; fewer live values at once leave it more choice.",
    )
    .passed("free_at_peak_percent", percent, PROGRAM_PERCENT)
    .evidence("free_at_peak_bytes", free as f64)
    .evidence("fragmentation_percent", figures.fragmentation_percent.unwrap_or(0.0))
    .link(VIEW, "")
    .fires()
}

fn pool_is_in_pieces(device: &str, pool: f64, used: f64) -> Verdict {
    let message = format!(
        "At the peak, {} of the free memory of {} does not lie in its largest piece, and {} of all is in use: a large allocation can fail \
         though enough is free.",
        format::percent(pool),
        format::printable(device),
        format::percent(used)
    );
    Draft::new(FindingSeverity::Warning, Confidence::High, "The free memory of a device lies in pieces", message)
        .remedy(
            "Allocate what lives long before what comes and goes, keep shapes the same from step to step, and leave preallocation on \
             (XLA_PYTHON_CLIENT_PREALLOCATE), so that the pool is one piece. XLA_PYTHON_CLIENT_ALLOCATOR=cuda_async lets the driver \
             put pieces together.",
        )
        .passed("fragmentation_percent", pool, POOL_PERCENT)
        .passed("peak_percent", used, USED_PERCENT)
        .link(VIEW, "")
        .fires()
}
