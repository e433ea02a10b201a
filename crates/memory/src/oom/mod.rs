//! The text of an out-of-memory error: what a runtime states and XLA lists, as it stands in a log.
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
//! The text rounds sizes to three or four digits. A buffer's shape says its size exactly: that counts where it rounds to what the text
//! says. Only the largest buffers are listed.

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

/// One report of an error: of one program, or of one allocation, and of one memory space.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct OutOfMemory {
    /// The line that states the error, as far as it is readable in a sentence.
    pub statement: String,
    /// The memory space as the text calls it (`hbm`, `vmem`); empty where it does not, as on GPUs.
    pub memory_space: String,
    /// The device or allocator that the text names (`0x3x0_HBM1`, `GPU_1_bfc`); empty if it names none.
    pub device: String,
    /// Bytes that the program needs in all.
    pub needed_bytes: Option<u64>,
    /// Bytes that there are.
    pub capacity_bytes: Option<u64>,
    /// Bytes of the allocation that failed.
    pub requested_bytes: Option<u64>,
    /// Bytes that were in use when it failed, where the allocator said so.
    pub in_use_bytes: Option<u64>,
    /// Bytes that were free when it failed.
    pub free_bytes: Option<u64>,
    /// Bytes of the largest free piece, where an allocation has to be in one.
    pub largest_free_bytes: Option<u64>,
    /// Bytes that the allocator keeps and uses for nothing.
    pub reserved_unused_bytes: Option<u64>,
    /// Bytes of temporary values without and with the padding of their layouts.
    pub padded: Option<Padded>,
    /// Did the allocator go on without this memory? Then nothing failed.
    pub is_survived: bool,
    /// Other sums with the words of the text: `parameter allocation`, `HLO temp`.
    pub sums: Vec<(String, u64)>,
    /// The largest buffers at the peak, in the order of the text.
    pub buffers: Vec<ListedBuffer>,
}

/// Bytes with and without padding, as a text adds them up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Padded {
    /// Bytes of the values.
    pub unpadded_bytes: u64,
    /// Bytes that they take.
    pub padded_bytes: u64,
}

/// Sums that the text states, in the words of other tables.
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

/// A buffer that the text lists.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ListedBuffer {
    /// The instruction that makes it; empty where the text does not name it.
    pub name: String,
    /// Bytes as the text states them, rounded.
    pub stated_bytes: u64,
    /// Bytes: as its shape says, where that agrees with the text.
    pub bytes: u64,
    /// Bytes without padding.
    pub unpadded_bytes: u64,
    /// Type and shape, where the text says them.
    pub shape: Option<hlo::ArrayShape>,
    /// Path of the framework's op.
    pub op_name: String,
    /// `file:line`.
    pub source: Option<String>,
    /// Is the buffer an argument of the program?
    pub is_argument: bool,
    /// What XLA allocated it for, in its words (`HLO temp`); empty where the text does not say it.
    pub allocation_type: String,
}

impl OutOfMemory {
    /// The reports in a text, in its order; none if it holds no error. A report that is there twice, as when an error is raised again,
    /// counts once.
    pub fn read(text: &str) -> Vec<OutOfMemory> {
        merge::distinct(lines::reports(text))
    }

    /// Bytes of the buffers that it lists.
    pub fn listed_bytes(&self) -> u64 {
        self.buffers.iter().fold(0, |sum, buffer| sum.saturating_add(buffer.bytes))
    }

    /// The most that the program needs at once: as stated, else as summed up, else what is listed. `None` if the text is of an
    /// allocation and not of a program.
    pub fn program_bytes(&self) -> Option<u64> {
        let listed = || Some(self.listed_bytes()).filter(|_| !self.buffers.is_empty());
        self.needed_bytes.or_else(|| self.sum("total allocation")).or_else(listed)
    }

    /// The most that was needed at once, with what was in use beside it if an allocator reports it; `None` if the text states neither.
    pub fn peak_bytes(&self) -> Option<u64> {
        let in_use = self.occupied_bytes().zip(self.requested_bytes);
        in_use.map(|(in_use, requested)| in_use.saturating_add(requested)).or_else(|| self.program_bytes())
    }

    /// Bytes in use when the allocation failed: as stated, else what was not free.
    pub fn occupied_bytes(&self) -> Option<u64> {
        let not_free = || self.capacity_bytes?.checked_sub(self.free_bytes?);
        self.in_use_bytes.or_else(not_free)
    }

    /// Bytes that were not in use when the allocation failed: as stated, else what the capacity leaves.
    pub fn left_bytes(&self) -> Option<u64> {
        let left = || self.capacity_bytes?.checked_sub(self.in_use_bytes?);
        self.free_bytes.or_else(left)
    }

    /// Bytes that layouts add: the text's own sum, else those of the listed buffers.
    pub fn padding_bytes(&self) -> u64 {
        let listed =
            |sum: u64, buffer: &ListedBuffer| sum.saturating_add(buffer.bytes.saturating_sub(buffer.unpadded_bytes));
        let stated = self.padded.map(|padded| padded.padded_bytes.saturating_sub(padded.unpadded_bytes));
        stated.unwrap_or_else(|| self.buffers.iter().fold(0, listed))
    }

    /// Does the text state anything in bytes?
    pub fn has_sizes(&self) -> bool {
        self.program_bytes().or(self.requested_bytes).or(self.free_bytes).is_some()
    }

    /// What stands for the program, whose name the text does not give.
    pub fn title(&self) -> String {
        let space = if self.memory_space.is_empty() { String::new() } else { format!(" in {}", self.memory_space) };
        let device = if self.device.is_empty() { String::new() } else { format!(" ({})", self.device) };
        format!("out of memory{space}{device}")
    }

    /// The name of the memory space as other tables have it.
    pub fn space_name(&self) -> String {
        match self.memory_space.as_str() {
            "" => "device memory".to_owned(),
            HOST => HOST.to_owned(),
            space => space.to_uppercase(),
        }
    }

    /// Bytes of arguments, results, constants and temporary values, as far as the text adds them up.
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

    /// A sum by the words of the text.
    pub fn sum(&self, name: &str) -> Option<u64> {
        self.sums.iter().find(|(of, _)| of == name).map(|(_, bytes)| *bytes)
    }
}

impl ListedBuffer {
    /// As what is alive at the peak of a program. What the text does not list is not in it, lifetimes least of all: classes are of paths and
    /// names alone.
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
                "an argument that the text does not name",
            ));
        }
        if self.allocation_type.eq_ignore_ascii_case("output") {
            return of(Class::Output, High, "the text says so");
        }
        if self.name.starts_with("constant") {
            return of(Class::Constant, High, "the text says so");
        }
        match base::framework_path::training_pass(&self.op_name) {
            Some("recomputed") => of(Class::Temporary, High, "computed again for the backward pass"),
            Some("backward") => of(Class::Temporary, Medium, "of the backward pass"),
            Some("forward") => of(Class::Activation, Medium, "of the forward pass, and alive at the peak"),
            _ => of(Class::Unknown, Low, "its path names no pass of the training step"),
        }
    }
}

/// The memory space of errors of the host.
pub(crate) const HOST: &str = "host memory";

/// `12.0 MiB`, as the text would round it.
fn rounds_to(bytes: u64, stated: u64) -> bool {
    // The texts keep two decimals of the unit; half of one percent covers 1.00 to 9.99 and more.
    bytes.abs_diff(stated) <= stated / 100 || format::bytes(bytes) == format::bytes(stated)
}

#[cfg(test)]
mod tests;
