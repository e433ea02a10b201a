//! The memory of a device is nearly full.
//!
//! The rule considers the device whose memory is fullest. The measure is the device's `memory.devices[].peak_percent`
//! ([metrics.md](metrics.md), memory). Severity: warning from 90 % (JAX guide: peak memory below 90 %), critical above
//! 100 %. Only a peak that comes from a program can exceed 100 %. Confidence: high if the device's allocator reported
//! the peak, medium if the peak comes from the largest program, because such a peak is a lower bound. The remedy
//! depends on the largest class of memory. The rule needs either allocator events, or a program and the size of the
//! device's memory. Otherwise it is skipped.

use super::draft::Draft;
use super::limits::NEARLY_FULL_PERCENT;
use super::memory::fullest_device;
use super::numbers::Numbers;
use super::{Rule, Verdict};
use base::format;
use report::{Confidence, FindingSeverity, MemoryClass, View};
use trace::Framework;

pub(super) static RULE: Rule =
    Rule { id: "near_memory_limit", title: "The device's memory is nearly full", ..Rule::checked_by(check) };

/// Used share of the capacity above which the finding is critical: the program does not fit.
const CRITICAL_PERCENT: f64 = 100.0;

fn check(numbers: &Numbers<'_>) -> Verdict {
    let (device, percent) = match fullest_device(numbers) {
        Ok(found) => found,
        Err(verdict) => return verdict,
    };
    let (Some(peak), Some(capacity)) = (device.peak_bytes, device.capacity_bytes) else { return Verdict::Fine };
    if percent < NEARLY_FULL_PERCENT {
        return Verdict::Fine;
    }
    let is_measured = device.source != "programs";
    let severity = if percent > CRITICAL_PERCENT { FindingSeverity::Critical } else { FindingSeverity::Warning };
    let largest: Vec<String> = device.by_class.iter().take(2).map(class).collect();
    let largest =
        if largest.is_empty() { String::new() } else { format!(" The largest parts: {}.", largest.join(", ")) };
    let at_least = if is_measured { "" } else { "at least " };
    let message = format!(
        "{} uses {at_least}{} of {}.{largest}",
        format::printable(&device.device_name),
        format::bytes(peak),
        format::bytes(capacity)
    );
    Draft::new(
        severity,
        if is_measured { Confidence::High } else { Confidence::Medium },
        &format!("{} of the device's memory is used", format::percent(percent)),
        message,
    )
    .remedy(&remedy(numbers, device.by_class.first().map_or("", |class| &class.class)))
    .passed("peak_percent", percent, if percent > CRITICAL_PERCENT { CRITICAL_PERCENT } else { NEARLY_FULL_PERCENT })
    .evidence("peak_bytes", peak as f64)
    .evidence("capacity_bytes", capacity as f64)
    .link(View::Memory, "")
    .fires()
}

fn class(class: &MemoryClass) -> String {
    format!("{} {} ({})", class.class, format::bytes(class.bytes), format::percent(class.percent))
}

/// Returns the advice for the largest class of memory.
fn remedy(numbers: &Numbers<'_>, largest: &str) -> String {
    let words = numbers.words();
    let is_jax = matches!(numbers.trace.framework, Framework::Jax | Framework::Unknown);
    match largest {
        "activation" => format!(
            "Recompute activations instead of keeping them ({} around the blocks of the model), accumulate gradients over \
             smaller batches, or shard the batch over more devices.",
            words.checkpoint
        ),
        "parameter" | "optimizer state" | "gradient" if is_jax => {
            "Shard parameters and optimizer state over several devices (jax.NamedSharding on a dimension of each), keep the \
             optimizer's moments in bfloat16, and donate the old state to the step (jax.jit(..., donate_argnums=...))."
                .to_owned()
        }
        "parameter" | "optimizer state" | "gradient" => {
            "Shard parameters and optimizer state over several devices, and keep the optimizer's moments in bfloat16.".to_owned()
        }
        "constant" => "Pass large arrays as arguments of the compiled function instead of closing over them.".to_owned(),
        "outside the program" if is_jax => {
            "Delete arrays that no later step needs (del, or array.delete()). jax.profiler.save_device_memory_profile records \
             the line that created each array, and the Memory page lists them."
                .to_owned()
        }
        _ => format!(
            "Use a smaller batch{}, and look at the buffers that are alive at the peak (Memory page, Buffers).",
            if numbers.trains() == Some(false) { "" } else { " or accumulate gradients over several" }
        ),
    }
}
