//! The launches of the unified profile.

use base::fields::Fields;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Calls on the host that started device work. Added in 1.1.0.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema, Fields)]
pub struct LaunchSection {
    /// Launches whose call and work are both in the trace.
    pub count: u64,
    /// Ops of the used GPUs (copies and fills included), or module runs of the used TPUs.
    pub device_op_count: u64,
    /// Device ops whose call is in the trace.
    pub joined_op_count: u64,
    /// Mean duration of the call.
    pub avg_host_us: f64,
    /// Mean time from the end of the call to the start of the work, 0 where the work starts during the call. Launches whose work starts
    /// before the call are left out of this and the other delays; absent if all do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub avg_launch_delay_us: Option<f64>,
    /// Median launch delay by nearest rank.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub median_launch_delay_us: Option<f64>,
    /// 95th percentile of the launch delay by nearest rank.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p95_launch_delay_us: Option<f64>,
    /// Longest launch delay.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_launch_delay_us: Option<f64>,
    /// Launches whose work starts before the call by the clocks of host and device: their delay is unknown.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub early_count: u64,
    /// Least time by which the clocks of host and device differ: the longest time by which work starts before its call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clock_difference_us: Option<f64>,
    /// Launches whose device time is less than the call's, without calls longer than 50 us.
    pub short_kernel_count: u64,
    /// Calls longer than 50 us.
    pub runtime_outlier_count: u64,
    /// Delays longer than 100 us.
    pub launch_delay_outlier_count: u64,
    /// The queue of every stream with launches, at most 50, longest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub queues: Vec<StreamQueue>,
}

fn is_zero(count: &u64) -> bool {
    *count == 0
}

/// Ops that were launched on a stream and have not started.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema, Fields)]
pub struct StreamQueue {
    /// Device of the stream. Queues are of GPUs only.
    pub device_name: String,
    /// Name of the stream.
    pub stream: String,
    /// Most ops at once whose call has begun and which have not started.
    pub max_length: u64,
    /// Mean length of the queue over the time from the first call to the last start.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mean_length: Option<f64>,
    /// Time at a length of 1024 or more, at which CUDA lets the host wait.
    pub blocked_us: f64,
    /// Time at a length of 0 between the first call and the last start: the device waits for the host unless it is still busy.
    pub empty_us: f64,
}
