//! Text of an out-of-memory error: the messages of runtimes and XLA's lists, as they appear in a log.
//!
//! ```text
//! GPU, CPU   Out of memory while trying to allocate N bytes.   BufferAssignment stats: ...   Peak buffers:   Buffer 1: Size: ... Shape: ...
//! TPU        Ran out of memory in memory space hbm. Used 21.95G of 15.48G hbm.   Largest program allocations in hbm:   1. Size: ... Shape: ...
//! TPU        Attempting to allocate 180.59M. That was not possible. There are 142.58M free.; (0x3x0_HBM1)
//! TPU        TPU TensorCore Hbm usage: 34.82G, SparseCore Hbm usage 174.10G, exceeding available bytes: 95.74G
//! BFC        Allocator (GPU_1_bfc) ran out of memory trying to allocate 27.93GiB   Limit: ... InUse: ... LargestFreeBlock: ...
//! PyTorch    CUDA out of memory. Tried to allocate 1.95 GiB. GPU 0 has a total capacity of 79.15 GiB of which 1.21 GiB is free.
//! ```
//!
//! In the text, sizes are rounded to three or four digits. The exact size of a buffer follows from its shape, and is
//! used if it rounds to the size in the text. The text lists only the largest buffers.

mod lines;
mod merge;
mod numbers;
mod shape;
mod statements;
mod text;

use base::format;

use crate::class::{Class, Classification, Confidence};
use crate::paths::scope_of;
use crate::peak::PeakBuffer;

/// One report of an error, for one program or one allocation, and one memory space.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct OutOfMemory {
    /// Line that states the error, shortened to a readable sentence.
    pub statement: String,
    /// Memory space that the text names (`hbm`, `vmem`). Empty if not stated, as on GPUs.
    pub memory_space: String,
    /// Device or allocator that the text names (`0x3x0_HBM1`, `GPU_1_bfc`). Empty if not stated.
    pub device: String,
    /// Total bytes that the program needs.
    pub needed_bytes: Option<u64>,
    /// Capacity in bytes.
    pub capacity_bytes: Option<u64>,
    /// Bytes of the allocation that failed.
    pub requested_bytes: Option<u64>,
    /// Bytes in use when the allocation failed, if the allocator states them.
    pub in_use_bytes: Option<u64>,
    /// Bytes free when the allocation failed.
    pub free_bytes: Option<u64>,
    /// Bytes of the largest free block, if an allocation must be contiguous.
    pub largest_free_bytes: Option<u64>,
    /// Bytes that the allocator has reserved but does not use.
    pub reserved_unused_bytes: Option<u64>,
    /// Bytes of temporary values with and without the padding of their layouts.
    pub padded: Option<Padded>,
    /// True if the allocator continued without this memory, so nothing failed.
    pub is_survived: bool,
    /// Other sums with their names in the text: `parameter allocation`, `HLO temp`.
    pub sums: Vec<(String, u64)>,
    /// Largest buffers at the peak, in the order of the text.
    pub buffers: Vec<ListedBuffer>,
}

/// Totals with and without padding that the text states.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Padded {
    /// Bytes of the values.
    pub unpadded_bytes: u64,
    /// Bytes of the values with padding.
    pub padded_bytes: u64,
}

/// Totals in the text, under the names that other tables use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Figures {
    /// Bytes of arguments.
    pub parameter_bytes: Option<u64>,
    /// Bytes of results.
    pub output_bytes: Option<u64>,
    /// Bytes of constants.
    pub constant_bytes: Option<u64>,
    /// Bytes of temporary values.
    pub temporary_bytes: Option<u64>,
    /// Bytes of all allocations.
    pub total_bytes: Option<u64>,
}

/// A buffer listed in the text.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ListedBuffer {
    /// Instruction that makes the buffer. Empty if the text does not name the instruction.
    pub name: String,
    /// Bytes stated in the text, rounded.
    pub stated_bytes: u64,
    /// Exact bytes from the shape if they agree with the text, otherwise the bytes in the text.
    pub bytes: u64,
    /// Bytes without padding.
    pub unpadded_bytes: u64,
    /// Type and shape, if the text contains them.
    pub shape: Option<hlo::ArrayShape>,
    /// Framework path of the op.
    pub op_name: String,
    /// Source line as `file:line`.
    pub source: Option<String>,
    /// True if the buffer is an argument of the program.
    pub is_argument: bool,
    /// Purpose in XLA's words (`HLO temp`). Empty if the text does not state the purpose.
    pub allocation_type: String,
}

impl OutOfMemory {
    /// Returns the reports in a text, in order. Empty if the text contains no error. A report that occurs twice, as
    /// when an error is raised again, is included once.
    pub fn read(text: &str) -> Vec<OutOfMemory> {
        merge::distinct(lines::reports(text))
    }

    /// Returns the total bytes of the listed buffers.
    pub fn listed_bytes(&self) -> u64 {
        self.buffers.iter().fold(0, |sum, buffer| sum.saturating_add(buffer.bytes))
    }

    /// Returns the peak memory that the program needs: the peak in the text, or the total in the text, or the sum of
    /// the listed buffers. Returns `None` if the text is about an allocation and not a program.
    pub fn program_bytes(&self) -> Option<u64> {
        let listed = || Some(self.listed_bytes()).filter(|_| !self.buffers.is_empty());
        self.needed_bytes.or_else(|| self.sum("total allocation")).or_else(listed)
    }

    /// Returns the peak memory that was needed. Includes the memory already in use if an allocator reports it. Returns
    /// `None` if the text contains no such size.
    pub fn peak_bytes(&self) -> Option<u64> {
        let in_use = self.occupied_bytes().zip(self.requested_bytes);
        in_use.map(|(in_use, requested)| in_use.saturating_add(requested)).or_else(|| self.program_bytes())
    }

    /// Returns the bytes in use when the allocation failed: the number in the text, or the capacity minus the free
    /// bytes.
    pub fn occupied_bytes(&self) -> Option<u64> {
        let not_free = || self.capacity_bytes?.checked_sub(self.free_bytes?);
        self.in_use_bytes.or_else(not_free)
    }

    /// Returns the bytes not in use when the allocation failed: the number in the text, or the capacity minus the bytes
    /// in use.
    pub fn left_bytes(&self) -> Option<u64> {
        let left = || self.capacity_bytes?.checked_sub(self.in_use_bytes?);
        self.free_bytes.or_else(left)
    }

    /// Returns the bytes that layouts add: the total in the text, or the sum over the listed buffers.
    pub fn padding_bytes(&self) -> u64 {
        let listed =
            |sum: u64, buffer: &ListedBuffer| sum.saturating_add(buffer.bytes.saturating_sub(buffer.unpadded_bytes));
        let stated = self.padded.map(|padded| padded.padded_bytes.saturating_sub(padded.unpadded_bytes));
        stated.unwrap_or_else(|| self.buffers.iter().fold(0, listed))
    }

    /// Returns true if the text contains any size.
    pub fn has_sizes(&self) -> bool {
        self.program_bytes().or(self.requested_bytes).or(self.free_bytes).is_some()
    }

    /// Returns a title that replaces the program's name, because the text lacks this name.
    pub fn title(&self) -> String {
        let space = if self.memory_space.is_empty() { String::new() } else { format!(" in {}", self.memory_space) };
        let device = if self.device.is_empty() { String::new() } else { format!(" ({})", self.device) };
        format!("out of memory{space}{device}")
    }

    /// Returns the name that other tables use for the memory space.
    pub fn space_name(&self) -> String {
        match self.memory_space.as_str() {
            "" => "device memory".to_owned(),
            HOST => HOST.to_owned(),
            space => space.to_uppercase(),
        }
    }

    /// Returns the bytes of arguments, results, constants and temporary values, if the text contains their totals.
    pub fn figures(&self) -> Figures {
        let sum = |names: [&str; 2]| names.iter().find_map(|name| self.sum(name));
        Figures {
            parameter_bytes: sum(["parameter allocation", "arguments"]),
            output_bytes: self.sum("maybe_live_out allocation"),
            constant_bytes: self.sum("constant allocation"),
            temporary_bytes: sum(["preallocated temp allocation", "HLO temp"]),
            total_bytes: sum(["total allocation", "program"]),
        }
    }

    /// Returns a total by its name in the text.
    pub fn sum(&self, name: &str) -> Option<u64> {
        self.sums.iter().find(|(of, _)| of == name).map(|(_, bytes)| *bytes)
    }
}

impl ListedBuffer {
    /// Converts the buffer to a value that is alive at the peak of a program. The text has no lifetimes, so the class
    /// is based on paths and names alone.
    pub fn as_peak_buffer(&self) -> PeakBuffer {
        PeakBuffer {
            name: self.name.clone(),
            class: self.class(),
            bytes: self.bytes,
            unpadded_bytes: self.unpadded_bytes,
            shape: self.shape.clone(),
            scope: scope_of(&self.op_name, self.is_argument),
            source: self.source.clone(),
        }
    }

    fn class(&self) -> Classification {
        use Confidence::{High, Low, Medium};
        let of = |class, confidence, rule| Classification { class, rule, confidence };
        if self.is_argument {
            return crate::class::named_argument(&self.op_name).unwrap_or(of(
                Class::Unknown,
                Low,
                "an argument without a name in the text",
            ));
        }
        if self.allocation_type.eq_ignore_ascii_case("output") {
            return of(Class::Output, High, "stated in the text");
        }
        if self.name.starts_with("constant") {
            return of(Class::Constant, High, "stated in the text");
        }
        match base::framework_path::training_pass(&self.op_name) {
            Some("recomputed") => of(Class::Temporary, High, "recomputed for the backward pass"),
            Some("backward") => of(Class::Temporary, Medium, "made in the backward pass"),
            Some("forward") => of(Class::Activation, Medium, "made in the forward pass and alive at the peak"),
            _ => of(Class::Unknown, Low, "its path does not show a pass of the training step"),
        }
    }
}

/// Name of the memory space in errors about a host's memory.
pub(crate) const HOST: &str = "host memory";

/// Returns true if `bytes` rounds to `stated` in a text, such as `12.0 MiB`.
fn rounds_to(bytes: u64, stated: u64) -> bool {
    // Texts have two decimals. For numbers of at least 1.00, one percent covers the rounding.
    bytes.abs_diff(stated) <= stated / 100 || format::bytes(bytes) == format::bytes(stated)
}

#[cfg(test)]
mod tests;
