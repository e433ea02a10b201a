//! The measured sections of the unified profile: steps, utilisation, kernels, devices, gaps, transfers, host work.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How long a step takes. Statistics are over *counted* steps: complete ones that are not warm-up.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StepTiming {
    /// Steps in the capture (partial and warm-up ones included), or the user's count; 0 where unknown.
    pub num_steps: u64,
    /// First step's start to last step's end, mean over devices; the devices' active span where steps are unknown.
    pub total_time_us: f64,
    /// Mean step time. Absent where steps are unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub avg_step_time_us: Option<f64>,
    /// Device ops of the whole capture, all devices.
    pub total_kernels: u64,
    /// Device ops per step and device, mean over counted steps. Absent where steps are unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kernels_per_step: Option<f64>,
    /// How steps were found: `user`, `step_num`, `steps_line`, `module_runs`, `host_spans`, `unknown`; imported
    /// profiles keep theirs.
    pub step_count_source: String,
    /// Steps that the statistics are over. Added in 1.1.0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub num_steps_counted: Option<u64>,
    /// Median step time. Added in 1.1.0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub median_step_time_us: Option<f64>,
    /// 95th percentile (nearest rank). Added in 1.1.0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p95_step_time_us: Option<f64>,
    /// Shortest step. Added in 1.1.0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min_step_time_us: Option<f64>,
    /// Longest step. Added in 1.1.0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_step_time_us: Option<f64>,
    /// Sample standard deviation; absent for fewer than two counted steps. Added in 1.1.0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stddev_step_time_us: Option<f64>,
    /// What the steps are (`jit_train_step runs`, `train annotations`), for people. Added in 1.1.0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step_marker: Option<String>,
    /// How several devices run the steps: `together`, `independent` (each for itself, at the same time), `one_after_another` (each
    /// step is of one device). Absent for one device and where steps are unknown. Added in 1.1.0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub devices_in_step: Option<String>,
    /// Latest minus earliest start of the same step over the devices, median over steps; of devices that run one after another
    /// the i-th steps of each. Absent like `devices_in_step`. Added in 1.1.0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step_start_skew_us: Option<f64>,
}

/// Work done per second. Each is absent where what it needs is unknown.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Throughput {
    /// `batch_size * seq_length` per mean step time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens_per_sec: Option<f64>,
    /// `batch_size` per mean step time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub samples_per_sec: Option<f64>,
    /// Inverse of the mean step time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub steps_per_sec: Option<f64>,
    /// Mean step time in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ms_per_step: Option<f64>,
    /// `tokens_per_sec / metadata.num_devices`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens_per_sec_per_device: Option<f64>,
    /// `samples_per_sec / metadata.num_devices`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub samples_per_sec_per_device: Option<f64>,
    /// Steps of all devices that a next step ended, per second of the time in which at least one runs; only where the devices do
    /// not run their steps together. Added in 1.1.0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub all_devices_steps_per_sec: Option<f64>,
}

/// How busy the devices are, per step and per device (means over devices and counted steps):
/// `kernel_time_us + overhead_time_us` is the mean step time.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ComputeUtilization {
    /// `100 * kernel_time_us / (kernel_time_us + overhead_time_us)`.
    pub compute_util_percent: f64,
    /// Time in which a device runs at least one op (union of intervals), per step and device.
    pub kernel_time_us: f64,
    /// The rest of the step: the device runs nothing.
    pub overhead_time_us: f64,
    /// `steps`, or `active_span` (first op's start to last op's end) where steps are unknown. Added in 1.1.0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub window: Option<String>,
    /// Sum of op durations over their union: 1 where ops never overlap. Added in 1.1.0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub avg_concurrent_kernels: Option<f64>,
}

/// Where device time goes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Kernels {
    /// The 20 names with the most self time, all devices and the whole capture.
    pub top_kernels: Vec<Kernel>,
    /// Self time by category, all devices and the whole capture.
    pub kernels_by_category: BTreeMap<String, KernelCategory>,
}

/// All device ops of one name.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Kernel {
    /// Name as in the trace.
    pub name: String,
    /// See docs/metrics.md#kernel-categories.
    pub category: String,
    /// Sum of self times, all devices.
    pub total_us: f64,
    /// Occurrences, all devices.
    pub count: u64,
    /// `total_us / count`.
    pub avg_us: f64,
    /// Shortest occurrence (self time). Added in 1.1.0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min_us: Option<f64>,
    /// Longest occurrence (self time). Added in 1.1.0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_us: Option<f64>,
    /// Share of the self time of all device ops. Added in 1.1.0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub percent: Option<f64>,
    /// Framework path, where the trace gives one (the first seen, where they differ). Added in 1.1.0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub framework_op: Option<String>,
}

/// All device ops of one category.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct KernelCategory {
    /// Sum of self times, all devices.
    pub time_us: f64,
    /// The same under the name that the 1.0.0 comparison reads.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub total_time_us: Option<f64>,
    /// Occurrences, all devices.
    pub count: u64,
    /// Share of the self time of all device ops. Added in 1.1.0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub percent: Option<f64>,
}

/// Copies by direction, all devices and the whole capture. A direction without a copy is absent.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MemoryOperations {
    /// Host to device: copies.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub h2d_count: Option<u64>,
    /// Host to device: summed durations.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub h2d_total_time_us: Option<f64>,
    /// Device to host: copies.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub d2h_count: Option<u64>,
    /// Device to host: summed durations.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub d2h_total_time_us: Option<f64>,
    /// Within one device: copies.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub d2d_count: Option<u64>,
    /// Within one device: summed durations.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub d2d_total_time_us: Option<f64>,
    /// All copies and fills.
    pub total_memory_ops: u64,
    /// Every direction with bytes and bandwidth. Added in 1.1.0.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub transfers: Vec<Transfer>,
}

/// Copies of one direction. Added in 1.1.0.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Transfer {
    /// `h2d`, `d2h`, `d2d`, `p2p` (between devices), `memset`, or `other`.
    pub direction: String,
    /// Copies.
    pub count: u64,
    /// Summed durations.
    pub total_time_us: f64,
    /// Bytes moved by those copies whose size is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub total_bytes: Option<u64>,
    /// Copies whose size is known.
    pub sized_count: u64,
    /// Bytes over the summed durations of the copies whose size is known, in 1e9 bytes a second.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bandwidth_gb_per_sec: Option<f64>,
}

/// The used devices beside each other.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MultiDevice {
    /// Used devices.
    pub num_devices: u64,
    /// One entry a device, in the order of hosts and ordinals.
    pub device_stats: Vec<DeviceStats>,
    /// Mean of `utilization_percent`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub avg_utilization_percent: Option<f64>,
    /// Sample standard deviation of `utilization_percent`; absent for one device.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub utilization_stddev: Option<f64>,
    /// Largest minus smallest `utilization_percent`; absent for one device.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub utilization_range: Option<f64>,
    /// Sample standard deviation of `kernel_count`; absent for one device.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kernel_count_stddev: Option<f64>,
    /// `100 * (1 - mean busy time / largest busy time)`: the share of the busiest device's work that perfect balance
    /// would take off it; absent for one device. Added in 1.1.0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub busy_imbalance_percent: Option<f64>,
    /// Latest minus earliest first op of the devices; absent for one device. Added in 1.1.0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start_skew_us: Option<f64>,
}

/// One used device over its active span (first op's start to last op's end).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DeviceStats {
    /// `/device:TPU:0`; with the host in front where a run has several.
    pub device_name: String,
    /// Number in the device's name.
    pub device_id: u64,
    /// Ops.
    pub kernel_count: u64,
    /// Sum of op durations; nested and concurrent ops count each.
    pub total_kernel_time_us: f64,
    /// Union of op intervals.
    pub actual_busy_time_us: f64,
    /// The active span.
    pub total_time_us: f64,
    /// `100 * actual_busy_time_us / total_time_us`.
    pub utilization_percent: f64,
    /// `total_kernel_time_us / actual_busy_time_us`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parallelism: Option<f64>,
    /// Device model, where the profile names it. Added in 1.1.0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device_type: Option<String>,
    /// Host, where a run has several. Added in 1.1.0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
    /// Idle gaps of this device. Added in 1.1.0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gaps: Option<Gaps>,
}

/// Idle gaps between the merged op intervals of a device, inside its active span.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Gaps {
    /// Gaps.
    pub total_gaps: u64,
    /// Their summed length.
    pub total_gap_time_us: f64,
    /// Mean length; absent without a gap.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub avg_gap_us: Option<f64>,
    /// Longest; absent without a gap.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_gap_us: Option<f64>,
    /// `100 * total_gap_time_us / active span`.
    pub gap_time_percent: f64,
    /// Gaps shorter than 10 us.
    pub gaps_under_10us: u64,
    /// Gaps from 10 us to below 100 us.
    pub gaps_10_100us: u64,
    /// Gaps from 100 us to below 1000 us.
    pub gaps_100_1000us: u64,
    /// Gaps of 1000 us and more.
    pub gaps_over_1000us: u64,
}

/// Idle gaps of all used devices together: counts and times are sums over devices, the share is of their summed active
/// spans.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TimelineAnalysis {
    /// The sums.
    #[serde(flatten)]
    pub gaps: Gaps,
    /// The longest gaps, longest first, at most 20. Added in 1.1.0.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub longest_gaps: Vec<Gap>,
}

/// One idle gap. Added in 1.1.0.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Gap {
    /// The device.
    pub device_name: String,
    /// Start, from the start of the capture.
    pub start_us: f64,
    /// Length.
    pub duration_us: f64,
    /// Name of the op that ended before it.
    pub after: String,
    /// Name of the op that started after it.
    pub before: String,
}

/// Compilation on the host: the union of compile spans, so nested passes count once.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Compilation {
    /// Union over all host threads.
    pub compilation_time_us: f64,
    /// Distinct modules that ran on the devices.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub num_xla_modules: Option<u64>,
    /// Outermost compile spans.
    pub num_compilation_events: u64,
    /// Share of the capture's duration.
    pub compilation_percent: f64,
}

/// Input pipeline on the host: the union of its spans.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct IoOperations {
    /// Outermost spans.
    pub io_event_count: u64,
    /// Union over all host threads.
    pub io_total_time_us: f64,
    /// Share of the capture's duration.
    pub io_percent: f64,
}

/// One step. Times are means over the devices that ran it. Added in 1.1.0.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Step {
    /// From 0, in time.
    pub index: u64,
    /// The number or name that the trace gives it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Start, from the start of the capture (earliest device).
    pub start_us: f64,
    /// Start to the next step's start; for the last step, to its last op's end.
    pub duration_us: f64,
    /// Union of all device ops inside.
    pub busy_us: f64,
    /// Self time of compute: neither communication nor copies. Concurrent parts count once, compute first.
    pub compute_us: f64,
    /// Communication that no compute hides.
    pub communication_us: f64,
    /// Copies and fills that neither compute nor communication hides.
    pub transfer_us: f64,
    /// The rest: the device runs nothing.
    pub idle_us: f64,
    /// Device ops per device.
    pub num_kernels: f64,
    /// Cut by the start or end of the capture, or without a following step to end it.
    pub partial: bool,
    /// The host compiled in more than 10 % of it.
    #[serde(default)]
    pub compiles: bool,
    /// It compiles, or it is an early outlier.
    pub warm_up: bool,
    /// In the statistics: neither partial nor warm-up.
    pub counted: bool,
}
