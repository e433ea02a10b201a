//! The launches of the unified profile.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Calls on the host that started device work. Added in 1.1.0.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LaunchSection {
    /// Launches whose call and work are both in the trace.
    pub count: u64,
    /// Device ops (module runs on a TPU) of the trace.
    pub device_op_count: u64,
    /// Those of them whose call is in the trace.
    pub joined_op_count: u64,
    /// Mean duration of the call.
    pub avg_host_us: f64,
    /// Mean time from the end of the call to the start of the work.
    pub avg_launch_delay_us: f64,
    /// Median of it.
    pub median_launch_delay_us: f64,
    /// 95th percentile of it.
    pub p95_launch_delay_us: f64,
    /// Longest of it.
    pub max_launch_delay_us: f64,
    /// Launches whose work took less time than the call.
    pub short_kernel_count: u64,
    /// Calls longer than 50 us.
    pub runtime_outlier_count: u64,
    /// Delays longer than 100 us.
    pub launch_delay_outlier_count: u64,
    /// The queue of every stream with launches, at most 50, longest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub queues: Vec<StreamQueue>,
}

/// Ops that were launched on a stream and have not started.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StreamQueue {
    /// Device.
    pub device_name: String,
    /// Stream, as the trace names it.
    pub stream: String,
    /// Longest queue.
    pub max_length: u64,
    /// Mean length over time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mean_length: Option<f64>,
    /// Time at 1024 or more, at which the host waits.
    pub blocked_us: f64,
    /// Time in which nothing waits, between the first call and the last start.
    pub empty_us: f64,
}
