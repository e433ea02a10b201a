//! The kernel statistics of the unified profile.

use base::fields::Fields;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// GPU kernels by name, launch shape and op; ops on other platforms. Added in 1.1.0.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema, Fields)]
pub struct KernelStatistics {
    /// Kernels that start in the window and take time, all devices. An op of length 0, as some of a TPU are, counts in
    /// `step_timing.total_kernels` and is no kernel here.
    pub count: u64,
    /// Sum of the kernels' durations; kernels on several streams may overlap.
    pub total_time_us: f64,
    /// Mean duration of a kernel. `total_time_us / count`.
    pub avg_time_us: f64,
    /// Kernels shorter than 10 us.
    pub short_count: u64,
    /// Rows of the table of kernels.
    pub distinct_count: u64,
    /// Time of kernels of the families `matmul`, `convolution` and `attention`. GPUs only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub matrix_time_us: Option<f64>,
    /// Share of `matrix_time_us` in kernels that use tensor cores by their names. A kernel with an unknown name counts as not
    /// using them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tensor_core_percent: Option<f64>,
    /// Theoretical occupancy: its mean over the kernels that state it, weighted by time. Absent where the collector
    /// does not state it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub occupancy_percent: Option<f64>,
    /// Kernels with neither an HLO instruction nor a framework op.
    pub without_op_count: u64,
    /// Sum of the durations of kernels with neither an HLO instruction nor a framework op.
    pub without_op_time_us: f64,
    /// Kernels of CUDA graphs that were given an op.
    pub graph_with_op_count: u64,
    /// Kernels of CUDA graphs that nothing ties to an op.
    pub graph_without_op_count: u64,
    /// Sum of the durations of kernels of CUDA graphs that nothing ties to an op.
    pub graph_without_op_time_us: f64,
    /// Time by kernel family, most time first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub families: Vec<KernelFamilyTime>,
    /// Time by the type of the values that are computed with, most time first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub data_types: Vec<DataTypeTime>,
    /// The 50 rows with most time.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub top: Vec<KernelStatistic>,
}

/// Kernels of one family.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema, Fields)]
pub struct KernelFamilyTime {
    /// Class of kernel: `matmul`, `convolution`, `attention`, `elementwise`, `reduction`, `communication`, `data_movement` or
    /// `other_compute`. By the ordered table of [kernel categories](#kernel-categories).
    pub family: String,
    /// Kernels of the family.
    pub count: u64,
    /// Sum of the kernels' durations.
    pub time_us: f64,
}

/// One kernel with one launch shape, run for one op.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema, Fields)]
pub struct KernelStatistic {
    /// Name of the kernel as C++ writes it. The 50 rows with most time of the [table of kernels](#table-kernels) are listed,
    /// which defines these columns.
    pub kernel_name: String,
    /// Framework op.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub op_name: Option<String>,
    /// HLO instruction.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hlo_op_name: Option<String>,
    /// Class of the kernel, see [kernel categories](#kernel-categories).
    pub family: String,
    /// Blocks, `x,y,z`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub grid_dim: Option<String>,
    /// Threads of a block, `x,y,z`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub block_dim: Option<String>,
    /// Registers of a thread.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub registers_per_thread: Option<u64>,
    /// Shared memory of a block.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shmem_bytes: Option<u64>,
    /// Theoretical occupancy.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub occupancy_pct: Option<f64>,
    /// Whether the kernel's op could use tensor cores: its framework op is a product or convolution, or a kernel of it
    /// uses them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub is_op_tensor_core_eligible: Option<bool>,
    /// Whether the kernel uses tensor cores, judged by its name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub is_kernel_using_tensor_core: Option<bool>,
    /// Type that the kernel computes with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data_type: Option<String>,
    /// How often the kernel ran.
    pub occurrences: u64,
    /// Sum of the kernel's durations.
    pub total_duration_us: f64,
    /// Shortest duration of the kernel.
    pub min_duration_us: f64,
    /// Longest duration of the kernel.
    pub max_duration_us: f64,
    /// Mean time from the end of the launch call to the kernel's start.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub launch_delay_us: Option<f64>,
}

/// Time of the kernels that compute with one type.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema, Fields)]
pub struct DataTypeTime {
    /// Type of the values that kernels compute with, in HLO's words (`bf16`, `f32`, `tf32` where a kernel's name says so). By
    /// the HLO, else for matrix kernels by name; `unknown` where neither says so. Most time first, `unknown` last. XProf has two
    /// classes: names with `half` or `fp16` are 16 bits, all else (bf16 and copies too) 32.
    pub data_type: String,
    /// Sum of the kernels' durations.
    pub time_us: f64,
    /// Share of the time of all kernels.
    pub percent: f64,
}
