//! The devices or the host ran out of memory.
//!
//! The input is the text of an out-of-memory error. If the text contains several errors, the finding explains the one
//! that needs the most memory. Severity: critical, or a warning if the allocator continued without the memory. The
//! cause is the first of these that applies:
//!
//! * a TPU's on-chip memory (VMEM, SMEM) is too small for a kernel;
//! * the host's memory ran out;
//! * padding: `padding_bytes` is at least half of the program's memory, or the program fits without padding;
//! * the free memory is fragmented: the request is larger than the largest free block, but smaller than the free memory or the
//!   memory that is reserved but unused;
//! * the program is small, so other programs or arrays used the memory: the program needs at most half of the capacity (if the
//!   text contains no capacity, at most half of the smallest memory in the table of devices);
//! * the program needs more than the capacity;
//! * an allocation is larger than the free memory.
//!
//! Confidence: high for facts in the text, medium if other programs or arrays used the memory. If the text contains no sizes,
//! the finding quotes the text. For other inputs, the rule does not apply.

use super::draft::Draft;
use super::memory::{PADDING_REMEDY, padded_shapes};
use super::numbers::Numbers;
use super::{Rule, Verdict};
use base::format;
use memory::OutOfMemory;
use report::{Confidence, FindingSeverity, View};

pub(super) static RULE: Rule = Rule { id: "out_of_memory", title: "Memory ran out", ..Rule::checked_by(check) };

/// Minimum share of the needed memory for padding to be the cause: padding takes more than the values.
const PADDING_PERCENT: f64 = 50.0;
/// Maximum share of the capacity that a small program needs: it fits twice. Other programs or arrays must then have
/// used the memory.
const SMALL_PERCENT: f64 = 50.0;
/// Maximum number of characters of an error that the message quotes.
const STATEMENT: usize = 160;
/// Bytes of a gigabyte, as vendors state memory sizes.
const GIGABYTE: f64 = (1u64 << 30) as f64;

/// Cause of an out-of-memory error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Cause {
    /// On-chip memory is too small for a kernel.
    OnChip,
    /// The memory of the host ran out.
    Host,
    /// Layouts pad the arrays.
    Padding,
    /// Enough memory is free, but the free memory is fragmented.
    Pieces,
    /// The program is small, so other programs, arrays or processes used the memory.
    HeldElsewhere,
    /// The program needs more than the capacity of the device.
    Program,
    /// One allocation is larger than the free memory.
    Allocation,
    /// The error contains no sizes.
    Unknown,
}

/// Returns true if padding caused this error.
pub(super) fn is_for_padding(error: &OutOfMemory) -> bool {
    cause(error) == Cause::Padding
}

fn cause(error: &OutOfMemory) -> Cause {
    if !error.has_sizes() {
        return if error.space_name() == "host memory" { Cause::Host } else { Cause::Unknown };
    }
    match error.space_name().as_str() {
        "VMEM" | "SMEM" => return Cause::OnChip,
        "host memory" => return Cause::Host,
        _ => {}
    }
    let (program, requested) = (error.program_bytes(), error.requested_bytes);
    if let Some(program) = program {
        let padding = error.padding_bytes();
        let fits_without = error
            .capacity_bytes
            .is_some_and(|capacity| program > capacity && program.saturating_sub(padding) <= capacity);
        if fits_without || percent(padding, program) >= PADDING_PERCENT {
            return Cause::Padding;
        }
    }
    let is_free = |bytes: Option<u64>| requested.zip(bytes).is_some_and(|(requested, bytes)| requested <= bytes);
    let fits_nowhere = requested.zip(error.largest_free_bytes).is_none_or(|(requested, largest)| requested > largest);
    if fits_nowhere && (is_free(error.left_bytes()) || is_free(error.reserved_unused_bytes)) {
        return Cause::Pieces;
    }
    match program {
        Some(program) if is_small(program, error.capacity_bytes) => Cause::HeldElsewhere,
        Some(_) => Cause::Program,
        None => Cause::Allocation,
    }
}

/// Returns true if a program fits twice into the memory. If the capacity is unknown, uses the smallest memory of all devices.
fn is_small(program: u64, capacity: Option<u64>) -> bool {
    let sizes = || facts::devices::all().iter().filter_map(|device| device.hbm_gb);
    let capacity = capacity.map_or_else(|| sizes().fold(f64::MAX, f64::min) * GIGABYTE, |capacity| capacity as f64);
    100.0 * program as f64 <= SMALL_PERCENT * capacity
}

fn percent(part: u64, whole: u64) -> f64 {
    if whole > 0 { 100.0 * part as f64 / whole as f64 } else { 0.0 }
}

fn check(numbers: &Numbers<'_>) -> Verdict {
    let memory = &numbers.context.analysis.memory;
    let Some(error) = memory.errors.first() else { return Verdict::Irrelevant };
    let cause = cause(error);
    let confidence = if cause == Cause::HeldElsewhere { Confidence::Medium } else { Confidence::High };
    let severity = if error.is_survived { FindingSeverity::Warning } else { FindingSeverity::Critical };
    let mut message = sizes(error, cause);
    if cause == Cause::Padding {
        message.push_str(&memory.largest().map_or_else(String::new, padded_shapes));
    }
    if error.is_survived {
        message.push_str(" The allocator continued without this memory.");
    }
    if let more @ 1.. = memory.errors.len().saturating_sub(1) {
        let errors = if more == 1 { "error".to_owned() } else { "errors".to_owned() };
        message.push_str(&format!(" The text contains {} more {errors}.", format::count(more as u64)));
    }
    Draft::new(severity, confidence, &title(error, cause), message)
        .remedy(&remedy(error, cause))
        .evidence_where("needed_bytes", error.program_bytes().map(|bytes| bytes as f64))
        .evidence_where("requested_bytes", error.requested_bytes.map(|bytes| bytes as f64))
        .evidence_where("free_bytes", error.free_bytes.map(|bytes| bytes as f64))
        .evidence_where("largest_free_bytes", error.largest_free_bytes.map(|bytes| bytes as f64))
        .evidence_where("in_use_bytes", error.in_use_bytes.map(|bytes| bytes as f64))
        .evidence_where("capacity_bytes", error.capacity_bytes.map(|bytes| bytes as f64))
        .evidence_where("padding_bytes", (cause == Cause::Padding).then(|| error.padding_bytes() as f64))
        .link(View::Memory, "")
        .fires()
}

fn title(error: &OutOfMemory, cause: Cause) -> String {
    let space = error.space_name();
    match cause {
        Cause::OnChip => format!("A kernel needs more {space} than is available"),
        Cause::Host => "The host's memory ran out".to_owned(),
        Cause::Padding => {
            let share = percent(error.padding_bytes(), error.program_bytes().unwrap_or(0));
            format!("Memory ran out: {} of the program's memory is padding", format::percent(share))
        }
        Cause::Pieces => "Memory ran out because the free memory is fragmented".to_owned(),
        Cause::HeldElsewhere => "Memory ran out although the program is small".to_owned(),
        Cause::Program => format!("The program needs {} of {space}", format::bytes(error.program_bytes().unwrap_or(0))),
        Cause::Allocation => {
            let asked = error.requested_bytes.map(format::bytes);
            asked.map_or_else(|| "Memory ran out".to_owned(), |asked| format!("An allocation of {asked} failed"))
        }
        Cause::Unknown => "Memory ran out".to_owned(),
    }
}

/// Describes the sizes that the error contains, in sentences.
fn sizes(error: &OutOfMemory, cause: Cause) -> String {
    let space = format::printable(&error.space_name());
    let mut sentences = Vec::new();
    if let Some(program) = error.program_bytes() {
        let of = error.capacity_bytes.map_or_else(
            || if error.memory_space.is_empty() { " of".to_owned() } else { String::new() },
            |capacity| format!(" of {}", format::bytes(capacity)),
        );
        let needs = if cause == Cause::OnChip { "A kernel or program needs" } else { "The program needs" };
        sentences.push(format!("{needs} {}{of} {space}.", format::bytes(program)));
    }
    for core in ["TensorCore", "SparseCore"] {
        if let Some(bytes) = error.sum(core) {
            sentences.push(format!("The {core} needs {} of it.", format::bytes(bytes)));
        }
    }
    if cause == Cause::Padding {
        let (padding, program) = (error.padding_bytes(), error.program_bytes().unwrap_or(0));
        sentences.push(format!(
            "Layouts add {} of padding. The values take only {}.",
            format::bytes(padding),
            format::bytes(program.saturating_sub(padding))
        ));
    }
    if let Some(requested) = error.requested_bytes {
        let device =
            if error.device.is_empty() { String::new() } else { format!(" on {}", format::printable(&error.device)) };
        sentences.push(format!("An allocation of {} failed{device}.", format::bytes(requested)));
    }
    let rest = [
        ("free", error.free_bytes),
        ("largest free block", error.largest_free_bytes),
        ("reserved by the allocator but unused", error.reserved_unused_bytes),
        ("in use", error.in_use_bytes),
        ("capacity", error.capacity_bytes.filter(|_| error.program_bytes().is_none())),
    ];
    let rest: Vec<String> =
        rest.iter().filter_map(|(what, bytes)| Some(format!("{what} {}", format::bytes((*bytes)?)))).collect();
    if !rest.is_empty() {
        sentences.push(format!("At that time: {}.", rest.join(", ")));
    }
    if cause == Cause::HeldElsewhere {
        sentences.push("Other programs, arrays or processes used the memory.".to_owned());
    }
    let statement = format::shorten(&format::printable(&error.statement), STATEMENT);
    if sentences.is_empty() {
        sentences.push(format!("The error contains no sizes: {statement}"));
    } else if cause == Cause::Allocation {
        sentences.push(format!("The error: {statement}"));
    }
    sentences.join(" ")
}

fn remedy(error: &OutOfMemory, cause: Cause) -> String {
    let is_pytorch = error.reserved_unused_bytes.is_some() || error.statement.contains("Tried to allocate");
    match cause {
        Cause::OnChip => {
            "Use smaller blocks or fewer buffers in the Pallas kernel, or raise its limit (vmem_limit_bytes, \
             --xla_tpu_scoped_vmem_limit_kib). VMEM and SMEM are on the chip, so a smaller batch or more devices may not help."
        }
        Cause::Host => "Load less data at once in the host process, use fewer loader processes, or give the container more \
            memory.",
        Cause::Padding => PADDING_REMEDY,
        Cause::Pieces if is_pytorch => {
            "Set PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True, and keep shapes the same from step to step."
        }
        Cause::Pieces => {
            "Allocate long-lived arrays before temporary ones, and keep shapes the same from step to step. On a GPU, \
             XLA_PYTHON_CLIENT_ALLOCATOR=cuda_async lets the driver merge free blocks."
        }
        Cause::HeldElsewhere => {
            "Look for other processes on the device (nvidia-smi, tpu-info) and for arrays that the program keeps. Call \
             jax.profiler.save_device_memory_profile(\"memory.prof\") before the failing call to record the line that created \
             each array."
        }
        Cause::Program => {
            "Recompute activations instead of keeping them, accumulate gradients over smaller batches, or shard \
             parameters and batch over more devices. The Memory page lists the largest buffers that the error \
             names."
        }
        Cause::Allocation | Cause::Unknown if is_pytorch => {
            "Use a smaller batch, or record the live allocations with torch.cuda.memory._record_memory_history()."
        }
        Cause::Allocation | Cause::Unknown => {
            "Free arrays that no later step needs, or use a smaller batch. To see the live arrays, save a device memory profile \
             before the failing call (jax.profiler.save_device_memory_profile(\"memory.prof\"))."
        }
    }
    .to_owned()
}
