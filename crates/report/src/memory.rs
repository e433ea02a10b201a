//! The memory of the devices in the unified profile.

use base::fields::Fields;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What fills the memory of the devices. Added in 1.1.0.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema, Fields)]
pub struct Memory {
    /// The devices.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub devices: Vec<DeviceMemory>,
    /// The compiled programs, those with the largest peak first, at most 20.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub programs: Vec<ProgramMemory>,
    /// Arrays and programs on the devices when a device memory profile was saved; absent for other files.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub live: Option<LiveMemory>,
}

/// Arrays and programs on the devices when a device memory profile was saved. Temporary buffers of running programs are not in such a
/// profile. Added in 1.1.0.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema, Fields)]
pub struct LiveMemory {
    /// Bytes of all arrays and programs, on all devices.
    pub total_bytes: u64,
    /// Arrays and programs apart, the larger first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub kinds: Vec<LiveMemoryKind>,
    /// Lines of the program that allocated them, the largest first, at most 1,000.
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

/// Live memory that one line of the program allocated. Added in 1.1.0.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema, Fields)]
pub struct LiveMemoryLine {
    /// `file:line` of the innermost frame outside installed packages; of the innermost frame if all are in packages. Empty if the
    /// profile has no call stack.
    pub line: String,
    /// Function that contains the line; empty if unknown.
    pub function: String,
    /// Number of arrays and programs.
    pub count: u64,
    /// Bytes of the arrays and programs.
    pub bytes: u64,
    /// Share of `total_bytes`.
    pub percent: f64,
    /// Largest call stack through this line, outermost frame first: `main (train.py:10) > init (model.py:5)`. Only the first 50 lines have one.
    pub stack: String,
}

impl super::UnifiedProfile {
    /// Does the profile come from a file about memory, without events?
    pub fn is_of_memory_alone(&self) -> bool {
        let has_events = self.metadata.num_events.is_some_and(|events| events > 0);
        self.memory.is_some() && !has_events && self.metadata.num_devices == 0
    }
}

/// What fills the memory of one device. Added in 1.1.0.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema, Fields)]
pub struct DeviceMemory {
    /// The device: as `multi_device` names it, else its allocator; of a device memory profile its label (`cuda:0`).
    pub device_name: String,
    /// Where the device's figures come from: `allocator` (the events of its allocator), `programs` (the largest program
    /// that runs on it: a lower bound, for what other programs and the caller keep is not in it), `memory_profile`
    /// (what lived when the profile was saved) or `error` (the text of an out-of-memory error).
    pub source: String,
    /// The most bytes that are used at once: of `allocator` given out or reserved, of `programs` the largest `memory.programs[].peak_heap_bytes`,
    /// of `error` what was needed: by the program, or by the allocation beside what was in use. Absent for `memory_profile`, which is of one
    /// moment, and for errors that state only one allocation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub peak_bytes: Option<u64>,
    /// Bytes that live arrays take when a device memory profile is saved. Temporary values of a running program are not in it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub live_bytes: Option<u64>,
    /// Bytes that there are: what the allocator may give out, or what the profile or the facts of the device say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub capacity_bytes: Option<u64>,
    /// Where the capacity comes from: `allocator`, `profile` (`memory_size` of the device), `facts` (the maker's data sheet), or `error`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub capacity_source: Option<String>,
    /// The peak, of the capacity. JAX's allocator of a GPU has three quarters of the device unless told otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub peak_percent: Option<f64>,
    /// The most bytes that were ever in use since the process began.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lifetime_peak_bytes: Option<u64>,
    /// Free memory of the pool that does not lie in its largest free piece, at the peak.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fragmentation_percent: Option<f64>,
    /// Bytes of the allocation that failed, as the text of an out-of-memory error states them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requested_bytes: Option<u64>,
    /// Bytes that were free when an allocation failed, as the text of an out-of-memory error states them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub free_bytes: Option<u64>,
    /// Bytes of the largest free piece when an allocation failed, as the text of an out-of-memory error states them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub largest_free_bytes: Option<u64>,
    /// The program that `by_class` is of: the one with the largest peak that the device's peak has room for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub program: Option<String>,
    /// What fills the memory at the peak, the largest first. What is used beyond the program is `outside the program`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub by_class: Vec<MemoryClass>,
}

/// Memory that is used for one thing.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema, Fields)]
pub struct MemoryClass {
    /// What for: `parameter`, `optimizer state`, `gradient`, `activation`, `input`, `output`, `constant`, `collective scratch`, `temporary`,
    /// `unknown`, or `outside the program`; of a device memory profile `array`; of the text of an error `not listed` for what it does not list.
    pub class: String,
    /// Bytes at the peak.
    pub bytes: u64,
    /// These, of the peak that the classes add up to.
    pub percent: f64,
}

/// The memory of a compiled program, where it runs: the device's main memory. Added in 1.1.0.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema, Fields)]
pub struct ProgramMemory {
    /// The program with its number: `jit_f(17)`.
    pub module: String,
    /// `HBM`; `main memory` of a CPU.
    pub memory_space: String,
    /// The most bytes that are alive at once: allocations that are there as long as the program runs, and the peak of the heap.
    pub peak_heap_bytes: u64,
    /// As `peak_heap_bytes`, with temporary values without the padding of their layouts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub peak_unpadded_heap_bytes: Option<u64>,
    /// The peak that XLA itself reports, as `compiled.memory_analysis().peak_memory_in_bytes`: of all memory spaces together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub xla_peak_bytes: Option<u64>,
    /// Bytes of all allocations but memory of calls.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub total_allocation_bytes: Option<u64>,
    /// Bytes of allocations that are there as long as the program runs: arguments, results, constants.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub indefinite_bytes: Option<u64>,
    /// Bytes of allocations that hold arguments.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parameter_bytes: Option<u64>,
    /// Bytes of allocations that hold results. Results that have the memory of an argument are in both.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_bytes: Option<u64>,
    /// Bytes of allocations that hold an argument and a result: donated arguments.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub aliased_bytes: Option<u64>,
    /// Bytes of allocations that hold constants of the program.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub constant_bytes: Option<u64>,
    /// Bytes of allocations in which temporary values come and go.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub temporary_bytes: Option<u64>,
    /// Memory for temporary values that is free at the peak: `100 * (total - peak) / (total - indefinite)`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fragmentation_percent: Option<f64>,
    /// Buffers that are alive at the peak, those of one class, scope and shape together, the largest first, at most 50.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub buffers: Vec<MemoryBuffers>,
    /// Bytes that the layouts of what is alive at the peak add, arguments and results included.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub padding_bytes: Option<u64>,
    /// What fills the memory at the peak, the largest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub by_class: Vec<MemoryClass>,
}

/// Buffers of one class, scope and shape. Added in 1.1.0.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema, Fields)]
pub struct MemoryBuffers {
    /// Class of the buffers.
    pub class: String,
    /// Scopes of the framework's path; of an argument the path to it in its tree. Empty where unknown.
    pub scope: String,
    /// Type and shape without layout. Empty where unknown.
    pub shape: String,
    /// Number of the buffers.
    pub count: u64,
    /// Bytes of the buffers.
    pub bytes: u64,
}
