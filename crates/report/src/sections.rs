//! The measured sections of the unified profile: steps, utilisation, kernels, devices, gaps, transfers, host work.

use std::collections::BTreeMap;

use base::fields::Fields;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{DeviceArrivals, DevicePlace, DeviceSteps, HostStats};

/// Duration of a step. Statistics cover the *counted* steps: complete steps that are not warm-up.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema, Fields)]
pub struct StepTiming {
    /// Number of steps found, including partial and warm-up steps, or the number that the user gave. 0 if unknown.
    pub num_steps: u64,
    /// Length of the window, as a mean over the devices in the window. If the window consists of steps, this is the sum
    /// of the steps' lengths.
    pub total_time_us: f64,
    /// Mean duration of the counted steps. The value is the mean of `steps[].duration_us`, or `total_time_us /
    /// num_steps` if the user gives the number of steps. Absent if steps are unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub avg_step_time_us: Option<f64>,
    /// Number of ops that start in the window, on all devices.
    pub total_kernels: u64,
    /// Number of ops that start in a step, as a mean over devices and counted steps. Absent if steps are unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kernels_per_step: Option<f64>,
    /// Source of the steps: `user`, `forward_passes`, `step_num`, `steps_line`, `pipeline`, `module_runs`, `host_spans`,
    /// `device_ops` or `unknown`. See [Steps](#steps). Imported profiles keep their own value; results of a benchmark have `benchmark`.
    pub step_count_source: String,
    /// Number of counted steps. The statistics cover these steps. Added in 1.1.0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub num_steps_counted: Option<u64>,
    /// Median step time. For an even number of steps, this is the mean of the middle two. Added in 1.1.0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub median_step_time_us: Option<f64>,
    /// 95th percentile of the step time by nearest rank, so it is always the time of an actual step. Added in 1.1.0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p95_step_time_us: Option<f64>,
    /// Shortest counted step. Added in 1.1.0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min_step_time_us: Option<f64>,
    /// Longest counted step. Added in 1.1.0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_step_time_us: Option<f64>,
    /// Sample standard deviation of the step time (n - 1). Absent if there are fewer than two counted steps. Added in
    /// 1.1.0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stddev_step_time_us: Option<f64>,
    /// Events that mark the steps, in words (`train annotations`, `runs of jit_f`, `calls of train_step`). Added in
    /// 1.1.0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step_marker: Option<String>,
    /// Relation between the devices' steps: `together`, `independent` (each device runs its own steps, at the same
    /// time) or `one_after_another` (each step runs on one device). See [Steps](#steps). Absent if there is only one
    /// device, if steps are unknown, or if the user gives the number of steps. Added in 1.1.0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub devices_in_step: Option<String>,
    /// Time from the earliest to the latest start of the same step on the devices, as a median over steps. If devices
    /// run one after another, the value compares the i-th steps of all devices. Absent if `devices_in_step` is absent,
    /// or if no step runs on several devices. Added in 1.1.0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step_start_skew_us: Option<f64>,
    /// Time during which a device runs at least one op of a step: the mean of `steps[].device_work_us` over the counted
    /// steps. The device work does not depend on the time at which the host started the step. Absent if steps are
    /// unknown. Added in 1.1.0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device_work_us: Option<f64>,
    /// Sample standard deviation of `steps[].device_work_us` over the counted steps (n - 1). Added in 1.1.0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stddev_device_work_us: Option<f64>,
    /// Sample standard deviation of `steps[].num_kernels` over the counted steps (n - 1). Added in 1.1.0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stddev_kernels_per_step: Option<f64>,
    /// Link between device work and the host's annotations: `correlation` (ids of launches and ops), `group` (XProf's
    /// `group_id`), `dispatch` (calls that dispatch programs, by run id or order), `steps_line`, `module_runs` (the same number
    /// of runs of one program in each step) or `time` (ops belong to the step in which they run). Absent if the steps do not come
    /// from the host. See [Steps](#steps). Added in 1.1.0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device_work_tied_by: Option<String>,
    /// Mean time on the host from the start of one annotation to the start of the next, over the counted steps that
    /// have a successor. `avg_step_time_us` is the step time on the device. Added in 1.1.0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host_step_time_us: Option<f64>,
    /// Time by which devices lag behind the host, as the median of `steps[].lag_us` over the counted steps. Added in
    /// 1.1.0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device_lag_us: Option<f64>,
}

impl StepTiming {
    /// Returns the name of the annotations that mark the steps. `None` if other events mark the steps.
    pub fn annotation(&self) -> Option<&str> {
        let is_annotated = matches!(self.step_count_source.as_str(), "step_num" | "forward_passes");
        let marker = self.step_marker.as_deref().filter(|_| is_annotated)?;
        marker.strip_suffix(" annotations")
    }
}

/// Work per second. A number is absent if one of its inputs is unknown.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema, Fields)]
pub struct Throughput {
    /// Samples per second times the sequence length, so padding tokens are included. `samples_per_sec *
    /// model_config.seq_length`. Absent if a step would have more than 2^53 samples or tokens, because such a number
    /// must come from a typing error.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens_per_sec: Option<f64>,
    /// Batch size times steps per second. `model_config.batch_size * steps_per_sec`. The batch covers all devices. Absent if
    /// devices run their steps one after another, because no step then processes the whole batch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub samples_per_sec: Option<f64>,
    /// Steps per second: the inverse of the mean step time. `1e6 / step_timing.avg_step_time_us`. If the devices do not
    /// run their steps together, this is the rate of one device. Absent if the step time is unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub steps_per_sec: Option<f64>,
    /// Mean step time in milliseconds: `step_timing.avg_step_time_us / 1000`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ms_per_step: Option<f64>,
    /// Tokens per second per device. `tokens_per_sec / metadata.num_devices`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens_per_sec_per_device: Option<f64>,
    /// Samples per second per device. `samples_per_sec / metadata.num_devices`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub samples_per_sec_per_device: Option<f64>,
    /// Steps per second of all devices together. The rate is the number of steps that have a successor, divided by the
    /// time during which at least one device runs one of these steps (union over the devices). Present only if
    /// `step_timing.devices_in_step` is `independent` or `one_after_another`. Added in 1.1.0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub all_devices_steps_per_sec: Option<f64>,
}

/// Busy and idle time per step per device (means over devices and counted steps). `kernel_time_us + overhead_time_us`
/// is the mean step time.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema, Fields)]
pub struct ComputeUtilization {
    /// Share of a step during which a device is busy. `100 * kernel_time_us / (kernel_time_us + overhead_time_us)`. Busy time
    /// includes copies and collectives, so the share does not show how well the arithmetic units are used.
    pub compute_util_percent: f64,
    /// Busy time per step per device: the sum over all devices divided by the number of (step, device) pairs in the
    /// window. If the window does not consist of steps, the sum is divided by the number of devices that ran ops.
    pub kernel_time_us: f64,
    /// Idle time per step per device: the sum over all devices divided by the number of (step, device) pairs in the
    /// window. If the window does not consist of steps, the sum is divided by the number of devices that ran ops.
    pub overhead_time_us: f64,
    /// Window that these numbers cover: `window.kind`. Added in 1.1.0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub window: Option<String>,
    /// Mean number of concurrent ops: the sum of op durations divided by the busy time, over all devices. The mean is 1
    /// if ops never overlap. Nested ops of a TPU (`while`) increase the mean, too. Added in 1.1.0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub avg_concurrent_kernels: Option<f64>,
}

/// Device time by op name and category.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema, Fields)]
pub struct Kernels {
    /// The 20 op names with the most self time, over all devices and the whole capture.
    pub top_kernels: Vec<Kernel>,
    /// Self time by category, over all devices and the whole capture.
    pub kernels_by_category: BTreeMap<String, KernelCategory>,
}

/// All device ops with one name.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema, Fields)]
pub struct Kernel {
    /// Name as in the trace. `top_kernels` contains the 20 names with the most self time. Names with the same self time
    /// are in alphabetical order. All ops with one name form one entry, regardless of their module.
    pub name: String,
    /// Category, see [kernel categories](#kernel-categories). If ops with one name have different categories, this is
    /// the category with the most self time.
    pub category: String,
    /// Sum of self times. XProf's GPU tables sum durations. The sums differ if kernels of one stream overlap.
    pub total_us: f64,
    /// Number of occurrences on all devices.
    pub count: u64,
    /// Mean self time of an occurrence. `total_us / count`.
    pub avg_us: f64,
    /// Shortest self time of an occurrence. Added in 1.1.0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min_us: Option<f64>,
    /// Longest self time of an occurrence. Added in 1.1.0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_us: Option<f64>,
    /// Share of the self time of all ops. Absent if no op has a duration. Added in 1.1.0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub percent: Option<f64>,
    /// Framework path of the first occurrence that has a path. Source: the `tf_op` stat, or `name` on GPUs. Added in
    /// 1.1.0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub framework_op: Option<String>,
}

/// All device ops in one category.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema, Fields)]
pub struct KernelCategory {
    /// Sum of self times of the category's ops.
    pub time_us: f64,
    /// Copy of `time_us` under the name that the comparison tool of version 1.0.0 reads.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub total_time_us: Option<f64>,
    /// Number of occurrences on all devices.
    pub count: u64,
    /// Share of the self time of all ops. The shares add up to 100. Added in 1.1.0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub percent: Option<f64>,
}

/// Copies by direction, over all devices and the whole capture. A direction without copies is absent.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema, Fields)]
pub struct MemoryOperations {
    /// Number of copies from host to device.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub h2d_count: Option<u64>,
    /// Summed durations of copies from host to device. Concurrent copies are counted separately.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub h2d_total_time_us: Option<f64>,
    /// Number of copies from device to host.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub d2h_count: Option<u64>,
    /// Summed durations of copies from device to host. Concurrent copies are counted separately.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub d2h_total_time_us: Option<f64>,
    /// Number of copies within one device.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub d2d_count: Option<u64>,
    /// Summed durations of copies within one device. Concurrent copies are counted separately.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub d2d_total_time_us: Option<f64>,
    /// Number of all copies and fills.
    pub total_memory_ops: u64,
    /// Bytes and bandwidth of every direction. Added in 1.1.0.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub transfers: Vec<Transfer>,
}

/// Copies in one direction. Added in 1.1.0.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema, Fields)]
pub struct Transfer {
    /// `h2d`, `d2h`, `d2d`, `p2p` (between devices), `memset`, or `other` (neither the copy nor its call contains the direction).
    pub direction: String,
    /// Number of copies.
    pub count: u64,
    /// Summed durations.
    pub total_time_us: f64,
    /// Bytes of the copies with a known size. Source: `size:` in the `memcpy_details` of the copy or its call, or Kineto's
    /// `bytes`. ROCm records an unknown size as 0. Absent if no size is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub total_bytes: Option<u64>,
    /// Number of copies with a known size.
    pub sized_count: u64,
    /// Bytes divided by the summed durations, over the copies with a known size. The unit is 1e9 bytes per second.
    /// Latency dominates small copies.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bandwidth_gb_per_sec: Option<f64>,
}

/// Comparison of the devices that ran ops.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema, Fields)]
pub struct MultiDevice {
    /// Number of devices that ran ops.
    pub num_devices: u64,
    /// Statistics of each device, sorted by host and by the device's number.
    pub device_stats: Vec<DeviceStats>,
    /// Statistics of each host with a device that ran ops, in the order of `device_stats`. Added in 1.1.0.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hosts: Vec<HostStats>,
    /// Devices of the same kind that are in the profile but ran no op, in file order. Added in 1.1.0.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unused_devices: Vec<String>,
    /// Mean `utilization_percent` of the devices, weighted by the length of each device's window. Equal to
    /// `compute_utilization.compute_util_percent`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub avg_utilization_percent: Option<f64>,
    /// Sample standard deviation of `utilization_percent`. Absent if there is only one device.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub utilization_stddev: Option<f64>,
    /// Difference between the largest and the smallest `utilization_percent`. Absent if there is only one device.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub utilization_range: Option<f64>,
    /// Sample standard deviation of `kernel_count`. Absent if there is only one device.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kernel_count_stddev: Option<f64>,
    /// Share of the busiest device's work that perfect balance would save. `100 * (1 - mean busy time / largest busy
    /// time)`. Absent if there is only one device. In a capture that was cut, the share covers only the time that the
    /// windows of all devices have in common, from the latest start to the earliest end. Devices without a counted step
    /// are excluded from this number and from `utilization_stddev`, `utilization_range` and `kernel_count_stddev`.
    /// Added in 1.1.0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub busy_imbalance_percent: Option<f64>,
    /// Time from the earliest to the latest start of the devices' first ops in the capture. Absent if there is only one
    /// device. With several hosts, the time is only as accurate as the hosts' clocks, or as the measured difference
    /// between these clocks ([Clocks](#clocks)). Added in 1.1.0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start_skew_us: Option<f64>,
}

/// One device that ran ops, over its active span (first op's start to last op's end).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema, Fields)]
pub struct DeviceStats {
    /// Name of the plane (`/device:TPU:0`), preceded by the host's name if the run has several hosts.
    pub device_name: String,
    /// Number in the device's name.
    pub device_id: u64,
    /// Number of ops that start in the window.
    pub kernel_count: u64,
    /// Sum of op durations. Nested and concurrent ops are counted separately.
    pub total_kernel_time_us: f64,
    /// Busy time: the length of the union of op intervals.
    pub actual_busy_time_us: f64,
    /// Length of the device's window.
    pub total_time_us: f64,
    /// Share of the window during which the device runs an op. `100 * actual_busy_time_us / total_time_us`. Absent if the
    /// device ran none of the counted steps.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub utilization_percent: Option<f64>,
    /// Mean number of concurrent ops while the device is busy. `total_kernel_time_us / actual_busy_time_us`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parallelism: Option<f64>,
    /// Model of the device. Absent if the profile does not name the model. Added in 1.1.0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device_type: Option<String>,
    /// Host of the device. Absent if the run has only one host. Added in 1.1.0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
    /// Idle gaps of this device. Added in 1.1.0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gaps: Option<Gaps>,
    /// Place of the device in the machine. Absent if the profile does not record the place. Added in 1.1.0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub place: Option<DevicePlace>,
    /// Counted steps of the device, and its work in them. Absent if no part of the device's time is counted. Added in 1.1.0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub steps: Option<DeviceSteps>,
    /// Arrivals of the device at collectives. Absent if no collective was compared. Added in 1.1.0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arrivals: Option<DeviceArrivals>,
}

/// Idle gaps between the merged op intervals of a device, inside its active span.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema, Fields)]
pub struct Gaps {
    /// Number of gaps between ops.
    pub total_gaps: u64,
    /// Summed length of the gaps. The gaps and the busy time add up to the window (for several devices, to the sum of their
    /// windows).
    pub total_gap_time_us: f64,
    /// Mean length of a gap. Absent if there are no gaps.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub avg_gap_us: Option<f64>,
    /// Length of the longest gap. Absent if there are no gaps.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_gap_us: Option<f64>,
    /// Share of the window during which no op runs. `100 * total_gap_time_us` divided by the window (for several devices, by
    /// the sum of their windows).
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

/// Idle gaps of all devices that ran ops. Counts and times are sums over devices. The share is a share of the devices'
/// summed windows.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema, Fields)]
pub struct TimelineAnalysis {
    /// Sums over the devices.
    #[serde(flatten)]
    pub gaps: Gaps,
    /// The longest gaps, longest first, at most 20. Added in 1.1.0.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub longest_gaps: Vec<Gap>,
}

/// One idle gap. Added in 1.1.0.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema, Fields)]
pub struct Gap {
    /// Device of the gap. `longest_gaps` contains the 20 longest gaps, longest first.
    pub device_name: String,
    /// Start of the gap, from the start of the capture.
    pub start_us: f64,
    /// Length of the gap.
    pub duration_us: f64,
    /// Name of the op that ended before the gap. If several ops ended at the same time, this is the innermost op.
    pub after: String,
    /// Name of the op that started after the gap. If several ops started at the same time, this is the outermost op.
    pub before: String,
}

/// Compilation on the host. Times are unions of compile spans, so nested passes are counted once.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema, Fields)]
pub struct Compilation {
    /// Length of the union of the host's compile spans over all threads.
    pub compilation_time_us: f64,
    /// Number of distinct modules that ran on devices. The value is the number of distinct names on `XLA Modules`
    /// lines, because these names contain the program's fingerprint. If there are no such lines, the value is the
    /// number of distinct pairs of module and program in the ops. Absent if ops name their module but not its program,
    /// as in the trace JSON of a CPU or GPU. Such a trace does not distinguish programs with the same name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub num_xla_modules: Option<u64>,
    /// Number of compile spans that are not inside another compile span.
    pub num_compilation_events: u64,
    /// Share of the capture during which the host compiles. `100 * compilation_time_us` divided by the duration of the capture.
    pub compilation_percent: f64,
}

/// Input pipeline on the host. Times are unions of the pipeline's spans.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema, Fields)]
pub struct IoOperations {
    /// Number of spans that start in the window and are not inside another span of the input pipeline.
    pub io_event_count: u64,
    /// Length of the union of the input pipeline's spans, inside the window.
    pub io_total_time_us: f64,
    /// Share of the window during which the input pipeline runs. `100 * io_total_time_us` divided by the time from the first to
    /// the last instant of the window on any device.
    pub io_percent: f64,
}

/// One step. Times are means over the devices that ran the step. Added in 1.1.0.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema, Fields)]
pub struct Step {
    /// Index of the step in chronological order, from 0.
    pub index: u64,
    /// Number or name of the step in the trace. Absent if devices number the step differently.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Start of the step on the earliest device, from the start of the capture.
    pub start_us: f64,
    /// Time from the start of the step to the start of the next step on the same device. For the last step, see
    /// [Steps](#steps).
    pub duration_us: f64,
    /// Time during which at least one op runs inside the step (union over all ops).
    pub busy_us: f64,
    /// Time during which at least one compute op runs. Each instant belongs to only one part, and compute has priority.
    pub compute_us: f64,
    /// Exposed communication: time during which communication runs but no compute op runs.
    pub communication_us: f64,
    /// Exposed copies and fills: time during which copies or fills run but neither compute nor communication runs.
    /// XProf treats JAX's `Memcpy*` as compute.
    pub transfer_us: f64,
    /// Time during which the device runs nothing. `duration_us - busy_us`.
    pub idle_us: f64,
    /// Number of ops of the step, per device: ops that the host launched in the step, or ops that start in it if launches are
    /// unknown.
    pub num_kernels: f64,
    /// Number of graphs (CUDA, HIP) that the host launched in the step, per device. Absent if the capture has no graph launch,
    /// or if launches are unknown. Added in 1.1.0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub graph_launches: Option<f64>,
    /// Number of ops in `num_kernels` that graphs started. The host launched the other ops one by one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub graph_kernels: Option<f64>,
    /// Time during which at least one op of the step runs (union over streams), as a mean over devices. The time covers
    /// the ops that the host launched in the step, even if they run later. The time equals `busy_us` if launches are
    /// unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device_work_us: Option<f64>,
    /// Start of the step's annotation on the host, from the start of the capture. Absent if the host annotates no steps.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host_start_us: Option<f64>,
    /// Length of the step's annotation on the host.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host_duration_us: Option<f64>,
    /// Time by which the device lags behind the host: from the start of the annotation to the start of the first op
    /// launched in it, as a mean over devices. Excludes ops that run early on another stream while previous steps are
    /// still running (copies). Absent if launches are unknown, or if an op would start before its annotation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lag_us: Option<f64>,
    /// Mean clock frequency of the devices in the step, as a share of their highest frequency. Samples are weighted by
    /// time. For a TPU that records throttling instead, this is 100 % minus the share of throttling. Absent if the
    /// capture has no such samples. Added in 1.1.0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clock_percent: Option<f64>,
    /// True if the start or end of the capture cuts the step, or if the end of the step is unknown; see
    /// [Steps](#steps).
    pub partial: bool,
    /// True if the host compiles during more than 10 % of the step; see [Steps](#steps).
    #[serde(default)]
    pub compiles: bool,
    /// True if the host compiles during the step (`compiles`), or if the step is one of the first steps that take
    /// longer than most; see [Steps](#steps).
    pub warm_up: bool,
    /// True if the statistics include the step. Such a step is neither partial nor warm-up, unless there are no other steps.
    pub counted: bool,
    /// Phase of a forward pass of an inference engine: `prefill`, `decode` or `mixed`. See [Serving](#serving). Added in
    /// 1.1.0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub phase: Option<String>,
    /// Number of requests in the pass.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requests: Option<u64>,
    /// Number of tokens that the pass computes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens: Option<u64>,
    /// Number of prompt tokens in `tokens`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prefill_tokens: Option<u64>,
    /// Number of tokens in `tokens` that belong to decoding requests. If the name of the pass does not contain the
    /// number, one token is assumed for each decoding request, so speculative tokens are excluded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decode_tokens: Option<u64>,
}

impl Step {
    /// Returns true if the step does the same work as the other steps. Returns false for forward passes of an inference engine
    /// that compute prompts, because prompts have different lengths, and for passes that serve no request.
    pub fn is_comparable(&self) -> bool {
        self.requests != Some(0) && self.phase.as_deref().is_none_or(|phase| phase == "decode")
    }
}
