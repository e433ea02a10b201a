//! The launch section of the unified profile.

use base::fields::Fields;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Calls on the host that started device work. Added in 1.1.0.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema, Fields)]
pub struct LaunchSection {
    /// Launches whose host call and device work are both in the trace.
    pub count: u64,
    /// Number of ops on GPUs (including copies and fills), or of module runs on TPUs. Devices that ran no op are
    /// excluded.
    pub device_op_count: u64,
    /// Device ops whose launch call is in the trace.
    pub joined_op_count: u64,
    /// Mean duration of the launch call.
    pub avg_host_us: f64,
    /// Mean launch delay: time from the end of the launch call to the start of the device work. A delay is 0 if the
    /// work starts during the call. All delays exclude launches whose work starts before the call. Absent if the work
    /// of every launch starts before its call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub avg_launch_delay_us: Option<f64>,
    /// Median launch delay, by nearest rank.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub median_launch_delay_us: Option<f64>,
    /// 95th percentile of the launch delay, by nearest rank.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p95_launch_delay_us: Option<f64>,
    /// Longest launch delay.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_launch_delay_us: Option<f64>,
    /// Launches whose work starts before the call, according to the host and device clocks. The delay of these launches
    /// is unknown.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub early_count: u64,
    /// Lower bound of the difference between the host and device clocks: the longest time by which work starts before its call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clock_difference_us: Option<f64>,
    /// Launches whose work takes less time on the device than the call takes on the host, excluding calls longer than
    /// 50 us.
    pub short_kernel_count: u64,
    /// Launch calls longer than 50 us.
    pub runtime_outlier_count: u64,
    /// Launch delays longer than 100 us.
    pub launch_delay_outlier_count: u64,
    /// Queues of streams with launches, longest first, at most 50.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub queues: Vec<StreamQueue>,
}

fn is_zero(count: &u64) -> bool {
    *count == 0
}

/// Queue of a stream: ops that were launched and have not started.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema, Fields)]
pub struct StreamQueue {
    /// Device of the stream. Only GPUs have queues.
    pub device_name: String,
    /// Name of the stream.
    pub stream: String,
    /// Largest number of ops in the queue. An op is in the queue from the start of its call until the op starts.
    pub max_length: u64,
    /// Mean length of the queue from the first call to the start of the last op.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mean_length: Option<f64>,
    /// Time during which the queue has at least 1024 ops. At this length, CUDA blocks the host.
    pub blocked_us: f64,
    /// Time during which the queue is empty, between the first call and the start of the last op. During this time, the
    /// device waits for the host, unless the device is still busy.
    pub empty_us: f64,
}
