//! The kernel statistics of the unified profile.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// GPU kernels by name, launch shape and op; ops on other platforms. Added in 1.1.0.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct KernelStatistics {
    /// Kernels that ran, all devices.
    pub count: u64,
    /// Sum of their durations.
    pub total_time_us: f64,
    /// Mean duration.
    pub avg_time_us: f64,
    /// Kernels shorter than 10 us.
    pub short_count: u64,
    /// Rows of the whole table.
    pub distinct_count: u64,
    /// Time of kernels of products, convolutions and attention (GPU).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub matrix_time_us: Option<f64>,
    /// Share of that time in kernels that use tensor cores.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tensor_core_percent: Option<f64>,
    /// Theoretical occupancy, mean weighted by time. Absent where the collector does not state it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub occupancy_percent: Option<f64>,
    /// Kernels without an op.
    pub without_op_count: u64,
    /// Sum of their durations.
    pub without_op_time_us: f64,
    /// Kernels that CUDA graphs launched and whose op was told by their graph node or name.
    pub graph_with_op_count: u64,
    /// Kernels that CUDA graphs launched and whose op nothing says.
    pub graph_without_op_count: u64,
    /// Sum of the durations of the latter.
    pub graph_without_op_time_us: f64,
    /// By family, most time first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub families: Vec<KernelFamilyTime>,
    /// By the type of the values that are computed with, most time first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub data_types: Vec<DataTypeTime>,
    /// The 50 rows with most time.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub top: Vec<KernelStatistic>,
}

/// Kernels of one family.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct KernelFamilyTime {
    /// `matmul`, `convolution`, `attention`, `elementwise`, `reduction`, `communication`, `data_movement`, `other_compute`.
    pub family: String,
    /// How many.
    pub count: u64,
    /// Sum of their durations.
    pub time_us: f64,
}

/// One kernel with one launch shape, run for one op.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct KernelStatistic {
    /// Its name as C++ writes it.
    pub kernel_name: String,
    /// Framework op.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub op_name: Option<String>,
    /// HLO instruction.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hlo_op_name: Option<String>,
    /// What it does.
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
    /// Could its op use tensor cores?
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub is_op_tensor_core_eligible: Option<bool>,
    /// Does it use them?
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub is_kernel_using_tensor_core: Option<bool>,
    /// Type that it computes with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data_type: Option<String>,
    /// How often it ran.
    pub occurrences: u64,
    /// Sum of its durations.
    pub total_duration_us: f64,
    /// Shortest.
    pub min_duration_us: f64,
    /// Longest.
    pub max_duration_us: f64,
    /// Mean time from the end of its launch call to its start.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub launch_delay_us: Option<f64>,
}

/// Time of the kernels that compute with one type.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DataTypeTime {
    /// In HLO's words (`bf16`, `f32`, `tf32` where a kernel's name tells it), or `unknown`.
    pub data_type: String,
    /// Sum of their durations.
    pub time_us: f64,
    /// Share of the time of all kernels.
    pub percent: f64,
}
