//! The memory section of the unified profile.

use base::fields::Fields;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Use of device memory. Added in 1.1.0.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema, Fields)]
pub struct Memory {
    /// Memory of each device.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub devices: Vec<DeviceMemory>,
    /// Compiled programs, largest peak first, at most 20.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub programs: Vec<ProgramMemory>,
    /// Arrays and programs that were on the devices when a device memory profile was saved. Present only if the file is
    /// a device memory profile.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub live: Option<LiveMemory>,
}

/// Arrays and programs that were on the devices when a device memory profile was saved. Such a profile does not contain
/// temporary buffers of running programs. Added in 1.1.0.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema, Fields)]
pub struct LiveMemory {
    /// Bytes of all arrays and programs, on all devices.
    pub total_bytes: u64,
    /// Memory of arrays and of programs. The larger of the two is first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub kinds: Vec<LiveMemoryKind>,
    /// Source lines that allocated the arrays and programs, the largest first, at most 1,000.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lines: Vec<LiveMemoryLine>,
}

/// Live memory of one kind. Added in 1.1.0.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema, Fields)]
pub struct LiveMemoryKind {
    /// `buffer` (arrays) or `executable` (the code of compiled programs).
    pub kind: String,
    /// Number of arrays or programs.
    pub count: u64,
    /// Bytes of the arrays or programs.
    pub bytes: u64,
    /// Share of `total_bytes`.
    pub percent: f64,
}

/// Live memory that one source line allocated. Added in 1.1.0.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema, Fields)]
pub struct LiveMemoryLine {
    /// `file:line` of the innermost frame outside installed packages. If all frames are in packages, this is the
    /// innermost frame. Empty if the profile has no call stack.
    pub line: String,
    /// Function that contains the line. Empty if unknown.
    pub function: String,
    /// Number of arrays and programs.
    pub count: u64,
    /// Bytes of the arrays and programs.
    pub bytes: u64,
    /// Share of `total_bytes`.
    pub percent: f64,
    /// Largest call stack through this line, outermost frame first: `main (train.py:10) > init (model.py:5)`. Only the first 50
    /// lines have a stack.
    pub stack: String,
}

impl super::UnifiedProfile {
    /// Returns true if the profile comes from a memory file without events.
    pub fn is_of_memory_alone(&self) -> bool {
        let has_events = self.metadata.num_events.is_some_and(|events| events > 0);
        self.memory.is_some() && !has_events && self.metadata.num_devices == 0
    }
}

/// Memory use of one device. Added in 1.1.0.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema, Fields)]
pub struct DeviceMemory {
    /// Name of the device as in `multi_device`. If `multi_device` does not list the device, this is the name of its
    /// allocator. In a device memory profile, it is the label of the device (`cuda:0`).
    pub device_name: String,
    /// Source of the device's figures: `allocator` (events of its allocator), `programs` (the largest program that runs on it, a
    /// lower bound that excludes the memory of other programs and of the caller), `memory_profile` (live memory when the profile
    /// was saved) or `error` (the text of an out-of-memory error).
    pub source: String,
    /// Largest number of bytes in use at once. The meaning depends on `source`. For `allocator`, these are the bytes
    /// allocated or reserved. For `programs`, this is the largest `memory.programs[].peak_heap_bytes`. For `error`,
    /// these are the bytes that the program needed, or the failed allocation plus the bytes in use. Absent for
    /// `memory_profile`, which covers a single moment, and for errors that contain only one allocation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub peak_bytes: Option<u64>,
    /// Bytes of live arrays when a device memory profile was saved, without temporary values of a running program.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub live_bytes: Option<u64>,
    /// Capacity in bytes: the allocator's limit, the memory size in the profile, or the size in the vendor's data sheet. The
    /// allocator may hold less memory than its limit; see `is_preallocated`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub capacity_bytes: Option<u64>,
    /// Source of the capacity: `allocator`, `profile` (`memory_size` of the device), `facts` (the vendor's data sheet) or
    /// `error`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub capacity_source: Option<String>,
    /// Peak as a share of the capacity. By default, JAX's allocator uses up to three quarters of a GPU's memory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub peak_percent: Option<f64>,
    /// Largest number of bytes in use at once since the process started.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lifetime_peak_bytes: Option<u64>,
    /// Share of the memory pool's free memory that is outside the largest free block, at the peak.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fragmentation_percent: Option<f64>,
    /// True if the allocator holds all memory up to `capacity_bytes`. False if the allocator takes memory from the
    /// device only when it needs more. Absent if the allocator's events do not show which is true. Added in 1.1.0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub is_preallocated: Option<bool>,
    /// Bytes of the allocation that failed, from the text of an out-of-memory error.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requested_bytes: Option<u64>,
    /// Free bytes when an allocation failed, from the text of an out-of-memory error.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub free_bytes: Option<u64>,
    /// Bytes of the largest free block when an allocation failed, from the text of an out-of-memory error.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub largest_free_bytes: Option<u64>,
    /// Program that `by_class` describes. Among the programs whose peak does not exceed the device's peak, this is the
    /// program with the largest peak.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub program: Option<String>,
    /// Memory in use at the peak, by class, largest first. Memory that the program does not cover has the class `outside the
    /// program`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub by_class: Vec<MemoryClass>,
}

/// Memory of one class.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema, Fields)]
pub struct MemoryClass {
    /// Class: `parameter`, `optimizer state`, `gradient`, `activation`, `input`, `output`, `constant`, `collective scratch`,
    /// `temporary`, `unknown`, or `outside the program`. A device memory profile also has the `array` class. The text of an
    /// error also has the `not listed` class, for memory that the text does not list.
    pub class: String,
    /// Bytes at the peak.
    pub bytes: u64,
    /// Share of the peak. The classes add up to the peak.
    pub percent: f64,
}

/// Use of the device's main memory by a compiled program. Added in 1.1.0.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema, Fields)]
pub struct ProgramMemory {
    /// Name of the program with its number: `jit_f(17)`.
    pub module: String,
    /// `HBM`, or `main memory` for a CPU.
    pub memory_space: String,
    /// Largest number of bytes alive at once: the allocations that last as long as the program, plus the heap's peak.
    pub peak_heap_bytes: u64,
    /// `peak_heap_bytes` without the padding of temporary values.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub peak_unpadded_heap_bytes: Option<u64>,
    /// Peak that XLA reports (`compiled.memory_analysis().peak_memory_in_bytes`), over all memory spaces.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub xla_peak_bytes: Option<u64>,
    /// Bytes of all allocations except thread-local memory of calls.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub total_allocation_bytes: Option<u64>,
    /// Bytes of allocations that last as long as the program: arguments, results and constants.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub indefinite_bytes: Option<u64>,
    /// Bytes of allocations that contain arguments.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parameter_bytes: Option<u64>,
    /// Bytes of allocations that contain results. Results that reuse the memory of an argument are also included in
    /// `parameter_bytes`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_bytes: Option<u64>,
    /// Bytes of allocations that contain both an argument and a result (donated arguments).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub aliased_bytes: Option<u64>,
    /// Bytes of allocations that contain constants of the program.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub constant_bytes: Option<u64>,
    /// Bytes of allocations for temporary values.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub temporary_bytes: Option<u64>,
    /// Share of the memory for temporary values that is free at the peak. `100 * (total - peak) / (total - indefinite)`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fragmentation_percent: Option<f64>,
    /// Buffers alive at the peak, grouped by class, scope and shape, the largest first, at most 50.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub buffers: Vec<MemoryBuffers>,
    /// Padding bytes in the layouts of all arrays alive at the peak, including arguments and results.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub padding_bytes: Option<u64>,
    /// Memory in use at the peak, by class, largest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub by_class: Vec<MemoryClass>,
}

/// Buffers of one class, scope and shape. Added in 1.1.0.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema, Fields)]
pub struct MemoryBuffers {
    /// Class of the buffers.
    pub class: String,
    /// Scopes of the framework path. For an argument, this is its path in the argument tree. Empty if unknown.
    pub scope: String,
    /// Type and shape without layout. Empty if unknown.
    pub shape: String,
    /// Number of these buffers.
    pub count: u64,
    /// Bytes of the buffers.
    pub bytes: u64,
}
