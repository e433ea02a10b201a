//! The kernel statistics of the unified profile.

use base::fields::Fields;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// GPU kernels by name, launch shape and op. On other platforms, the section contains ops instead of kernels. Added in
/// 1.1.0.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema, Fields)]
pub struct KernelStatistics {
    /// Number of kernels that start in the window and have a duration, on all devices. TPUs have ops with a duration of
    /// 0. `step_timing.total_kernels` includes these ops, but `count` does not.
    pub count: u64,
    /// Sum of the kernels' durations. Kernels on several streams may overlap.
    pub total_time_us: f64,
    /// Mean duration of a kernel. `total_time_us / count`.
    pub avg_time_us: f64,
    /// Kernels shorter than 10 us.
    pub short_count: u64,
    /// Number of rows in the kernel table.
    pub distinct_count: u64,
    /// Time of kernels in the families `matmul`, `convolution` and `attention`. GPUs only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub matrix_time_us: Option<f64>,
    /// Share of `matrix_time_us` in kernels that use tensor cores, judging by their names. A kernel with an unknown name is
    /// assumed not to use tensor cores.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tensor_core_percent: Option<f64>,
    /// Theoretical occupancy: mean over the kernels with a known occupancy, weighted by time. Absent if the profiler does not
    /// record it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub occupancy_percent: Option<f64>,
    /// Number of kernels with neither an HLO instruction nor a framework op.
    pub without_op_count: u64,
    /// Sum of the durations of kernels with neither an HLO instruction nor a framework op.
    pub without_op_time_us: f64,
    /// CUDA graph kernels that crossprof assigned to an op.
    pub graph_with_op_count: u64,
    /// CUDA graph kernels without a known op.
    pub graph_without_op_count: u64,
    /// Sum of the durations of CUDA graph kernels without a known op.
    pub graph_without_op_time_us: f64,
    /// Time by kernel family, most time first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub families: Vec<KernelFamilyTime>,
    /// Time by the data type that kernels compute with, most time first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub data_types: Vec<DataTypeTime>,
    /// The 50 rows of the kernel table with the most time.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub top: Vec<KernelStatistic>,
}

/// Kernels of one family.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema, Fields)]
pub struct KernelFamilyTime {
    /// Family of the kernels: `matmul`, `convolution`, `attention`, `elementwise`, `reduction`, `communication`,
    /// `data_movement` or `other_compute`. The ordered table of [kernel categories](#kernel-categories) determines the
    /// family.
    pub family: String,
    /// Kernels of the family.
    pub count: u64,
    /// Sum of the kernels' durations.
    pub time_us: f64,
}

/// One kernel with one launch shape, run for one op.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema, Fields)]
pub struct KernelStatistic {
    /// Name of the kernel in C++. `top` contains the 50 rows of the [kernel table](#table-kernels) with the most time,
    /// and that table defines the fields.
    pub kernel_name: String,
    /// Framework op.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub op_name: Option<String>,
    /// HLO instruction.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hlo_op_name: Option<String>,
    /// Family of the kernel, see [kernel categories](#kernel-categories).
    pub family: String,
    /// Number of thread blocks, `x,y,z`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub grid_dim: Option<String>,
    /// Number of threads per thread block, `x,y,z`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub block_dim: Option<String>,
    /// Registers per thread.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub registers_per_thread: Option<u64>,
    /// Shared memory per thread block.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shmem_bytes: Option<u64>,
    /// Theoretical occupancy.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub occupancy_pct: Option<f64>,
    /// True if the kernel's op could use tensor cores: its framework op is a matrix product or convolution, or one of its kernels
    /// uses them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub is_op_tensor_core_eligible: Option<bool>,
    /// True if the kernel uses tensor cores, judging by its name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub is_kernel_using_tensor_core: Option<bool>,
    /// Data type that the kernel computes with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data_type: Option<String>,
    /// Number of runs of the kernel.
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

/// Time of the kernels that compute with one data type.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema, Fields)]
pub struct DataTypeTime {
    /// Data type that kernels compute with, as HLO names it (`bf16`, `f32`; `tf32` if a kernel's name contains it). The
    /// type comes from the HLO. Without the HLO, the type of a matrix kernel comes from its name, and the type of any
    /// other kernel is `unknown`. Types are sorted by time, but `unknown` is last. XProf has only two classes: it
    /// treats kernels with `half` or `fp16` in their names as 16-bit, and all others (including bf16 and copies) as
    /// 32-bit.
    pub data_type: String,
    /// Sum of the kernels' durations.
    pub time_us: f64,
    /// Share of the time of all kernels.
    pub percent: f64,
}
