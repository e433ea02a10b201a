//! The measured sections of the unified profile: steps, utilisation, kernels, devices, gaps, transfers, host work.

use std::collections::BTreeMap;

use base::fields::Fields;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How long a step takes. Statistics are over *counted* steps: complete ones that are not warm-up.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema, Fields)]
pub struct StepTiming {
    /// Steps found, partial and warm-up ones included, or the user's count; 0 where unknown.
    pub num_steps: u64,
    /// Length of the window, mean over the devices that it covers: of counted steps their lengths added up.
    pub total_time_us: f64,
    /// Mean duration of the counted steps. It is the mean of `steps[].duration_us`; with an overriding user's count
    /// `total_time_us / num_steps`. Absent where steps are unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub avg_step_time_us: Option<f64>,
    /// Ops that start in the window, all devices.
    pub total_kernels: u64,
    /// Ops that start in a step, mean over devices and counted steps. Absent where steps are unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kernels_per_step: Option<f64>,
    /// How steps were found: `user`, `step_num`, `steps_line`, `module_runs`, `host_spans`, `device_ops` or `unknown`. See [Steps](#steps).
    /// Imported profiles keep their own word; a benchmark's results have `benchmark`.
    pub step_count_source: String,
    /// Steps that the statistics are over. Added in 1.1.0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub num_steps_counted: Option<u64>,
    /// Median step time; the mean of the two middle ones for an even count. Added in 1.1.0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub median_step_time_us: Option<f64>,
    /// 95th percentile of the step time by nearest rank: always a step that occurred. Added in 1.1.0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p95_step_time_us: Option<f64>,
    /// Shortest counted step. Added in 1.1.0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min_step_time_us: Option<f64>,
    /// Longest counted step. Added in 1.1.0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_step_time_us: Option<f64>,
    /// Sample standard deviation of the step time (n - 1); absent for fewer than two counted steps. Added in 1.1.0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stddev_step_time_us: Option<f64>,
    /// What the steps are, for people (`train annotations`, `runs of jit_f`, `calls of train_step`). Added in 1.1.0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step_marker: Option<String>,
    /// How several devices run the steps: `together`, `independent` (each for itself, at the same time) or `one_after_another`
    /// (each step is of one device). See [Steps](#steps). Absent for one device, where steps are unknown and where the user's
    /// count overrides them. Added in 1.1.0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub devices_in_step: Option<String>,
    /// Latest minus earliest start of the same step over the devices, median over steps; of devices that run one after another,
    /// of the i-th steps of each. Absent like `devices_in_step`, and where no step is of several devices. Added in 1.1.0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step_start_skew_us: Option<f64>,
    /// Time in which a device runs at least one op of a step, whenever that is: mean of `steps[].device_work_us` over the counted steps.
    /// It does not depend on when the host began the step. Absent where steps are unknown. Added in 1.1.0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device_work_us: Option<f64>,
    /// Sample standard deviation of `steps[].device_work_us` over the counted steps (n - 1). Added in 1.1.0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stddev_device_work_us: Option<f64>,
    /// Sample standard deviation of `steps[].num_kernels` over the counted steps (n - 1). Added in 1.1.0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stddev_kernels_per_step: Option<f64>,
    /// What ties device work to the host's annotations: `correlation` (ids of launches and ops), `group` (XProf's
    /// `group_id`), `dispatch` (calls that dispatch programs, by run id or order), `steps_line`, `module_runs` (as many runs of one program in each step) or `time` (ops belong to the
    /// step in which they run). Absent where the steps are not the host's. See [Steps](#steps). Added in 1.1.0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device_work_tied_by: Option<String>,
    /// Time from one annotation's start to the next one's on the host, mean over the counted steps that have a next one. The device's step
    /// is `avg_step_time_us`. Added in 1.1.0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host_step_time_us: Option<f64>,
    /// How far devices run behind the host: `steps[].lag_us`, median over the counted steps. Added in 1.1.0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device_lag_us: Option<f64>,
}

impl StepTiming {
    /// Name of the annotations that mark the steps; `None` if something else marks them.
    pub fn annotation(&self) -> Option<&str> {
        let marker = self.step_marker.as_deref().filter(|_| self.step_count_source == "step_num")?;
        marker.strip_suffix(" annotations")
    }
}

/// Work done per second. Each is absent where what it needs is unknown.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema, Fields)]
pub struct Throughput {
    /// Samples per second times the sequence length, so padding counts as tokens. `samples_per_sec *
    /// model_config.seq_length`. Absent where a step would have more than 2^53 samples or tokens, which is a slip of
    /// the hand.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens_per_sec: Option<f64>,
    /// Batch size times steps per second. `model_config.batch_size * steps_per_sec`. The batch is that of all devices
    /// together; absent where devices run their steps one after another, for no step has such a batch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub samples_per_sec: Option<f64>,
    /// Steps per second: the inverse of the mean step time. `1e6 / step_timing.avg_step_time_us`; of one device where
    /// the devices do not run their steps together. Absent where the step time is unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub steps_per_sec: Option<f64>,
    /// Mean step time in milliseconds: `step_timing.avg_step_time_us / 1000`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ms_per_step: Option<f64>,
    /// Tokens per second and device. `tokens_per_sec / metadata.num_devices`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens_per_sec_per_device: Option<f64>,
    /// Samples per second and device. `samples_per_sec / metadata.num_devices`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub samples_per_sec_per_device: Option<f64>,
    /// Steps of all devices that a next step ended, per second of the time in which at least one of them runs one of these
    /// (union over the devices). Only where `step_timing.devices_in_step` is `independent` or `one_after_another`. Added in
    /// 1.1.0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub all_devices_steps_per_sec: Option<f64>,
}

/// How busy the devices are, per step and per device (means over devices and counted steps):
/// `kernel_time_us + overhead_time_us` is the mean step time.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema, Fields)]
pub struct ComputeUtilization {
    /// Share of a step in which a device is busy. `100 * kernel_time_us / (kernel_time_us + overhead_time_us)`. Busy
    /// with anything: copies and collectives count; it does not say how well the arithmetic units are used.
    pub compute_util_percent: f64,
    /// Busy time of the window, all devices, over the windows of steps on devices that make it up. Over the used devices where
    /// the window is none of steps.
    pub kernel_time_us: f64,
    /// Idle time of the window, all devices, over the windows of steps on devices that make it up. Over the used devices where
    /// the window is none of steps.
    pub overhead_time_us: f64,
    /// What the numbers are of: `window.kind`. Added in 1.1.0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub window: Option<String>,
    /// Sum of op durations over busy time, all devices: 1 where ops never overlap. Nested ops of a TPU (`while`) raise it too.
    /// Added in 1.1.0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub avg_concurrent_kernels: Option<f64>,
}

/// Where device time goes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema, Fields)]
pub struct Kernels {
    /// The 20 names with the most self time, all devices and the whole capture.
    pub top_kernels: Vec<Kernel>,
    /// Self time by category, all devices and the whole capture.
    pub kernels_by_category: BTreeMap<String, KernelCategory>,
}

/// All device ops of one name.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema, Fields)]
pub struct Kernel {
    /// Name as in the trace. The 20 names with the most self time are listed, ties by name. All ops of one name are one
    /// entry, whatever module they are from.
    pub name: String,
    /// Category: see [kernel categories](#kernel-categories). Where ops of one name differ, the category with the most self
    /// time.
    pub category: String,
    /// Sum of self times. XProf's GPU tables sum durations: they differ where kernels of one stream overlap.
    pub total_us: f64,
    /// Occurrences, all devices.
    pub count: u64,
    /// Mean self time of an occurrence. `total_us / count`.
    pub avg_us: f64,
    /// Shortest self time of an occurrence. Added in 1.1.0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min_us: Option<f64>,
    /// Longest self time of an occurrence. Added in 1.1.0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_us: Option<f64>,
    /// Share of the self time of all ops. Absent where no op takes time. Added in 1.1.0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub percent: Option<f64>,
    /// Framework path of the first occurrence that has one. From the stat `tf_op`, or `name` on GPUs. Added in 1.1.0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub framework_op: Option<String>,
}

/// All device ops of one category.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema, Fields)]
pub struct KernelCategory {
    /// Sum of self times of the category's ops.
    pub time_us: f64,
    /// `time_us` again, under the name that the 1.0.0 comparison reads.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub total_time_us: Option<f64>,
    /// Occurrences, all devices.
    pub count: u64,
    /// Share of the self time of all ops; the shares add up to 100. Added in 1.1.0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub percent: Option<f64>,
}

/// Copies by direction, all devices and the whole capture. A direction without a copy is absent.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema, Fields)]
pub struct MemoryOperations {
    /// Copies from host to device.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub h2d_count: Option<u64>,
    /// Summed durations of copies from host to device; concurrent copies count each.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub h2d_total_time_us: Option<f64>,
    /// Copies from device to host.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub d2h_count: Option<u64>,
    /// Summed durations of copies from device to host; concurrent copies count each.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub d2h_total_time_us: Option<f64>,
    /// Copies within one device.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub d2d_count: Option<u64>,
    /// Summed durations of copies within one device; concurrent copies count each.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub d2d_total_time_us: Option<f64>,
    /// All copies and fills.
    pub total_memory_ops: u64,
    /// Every direction with bytes and bandwidth. Added in 1.1.0.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub transfers: Vec<Transfer>,
}

/// Copies of one direction. Added in 1.1.0.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema, Fields)]
pub struct Transfer {
    /// `h2d`, `d2h`, `d2d`, `p2p` (between devices), `memset`, or `other` (neither the copy nor its call says).
    pub direction: String,
    /// Copies.
    pub count: u64,
    /// Summed durations.
    pub total_time_us: f64,
    /// Bytes moved by the copies whose size is known. From `size:` of `memcpy_details`, of the copy or its call, or Kineto's `bytes`.
    /// A size of 0 is how ROCm writes "unknown". Absent where no size is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub total_bytes: Option<u64>,
    /// Copies whose size is known.
    pub sized_count: u64,
    /// Bytes over the summed durations of the copies whose size is known. In 1e9 bytes per second. Small copies are
    /// dominated by latency.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bandwidth_gb_per_sec: Option<f64>,
}

/// The used devices beside each other.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema, Fields)]
pub struct MultiDevice {
    /// Used devices.
    pub num_devices: u64,
    /// One entry per device, in the order of hosts and ordinals.
    pub device_stats: Vec<DeviceStats>,
    /// Devices of the same kind that the profile lists and on which no op ran, in the order of the file. Added in 1.1.0.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unused_devices: Vec<String>,
    /// Mean of the devices' `utilization_percent`, each weighing as much as its window is long: equal to
    /// `compute_utilization.compute_util_percent`.
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
    /// Share of the busiest device's work that perfect balance would take off it. `100 * (1 - mean busy time / largest busy time)`.
    /// Absent for one device. In a capture that was cut, over the time that the windows of all devices share: from the
    /// latest start to the earliest end. Devices on which no counted step ran are in none of this, `utilization_stddev`,
    /// `utilization_range` and `kernel_count_stddev`. Added in 1.1.0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub busy_imbalance_percent: Option<f64>,
    /// Latest minus earliest first op of the devices in the capture; absent for one device. Clocks of several hosts are only as
    /// equal as they were set, or measured to differ ([Clocks](#clocks)). Added in 1.1.0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start_skew_us: Option<f64>,
}

/// One used device over its active span (first op's start to last op's end).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema, Fields)]
pub struct DeviceStats {
    /// Name of the plane (`/device:TPU:0`), with the host in front where a run has several.
    pub device_name: String,
    /// Number in the device's name.
    pub device_id: u64,
    /// Ops that start in the window.
    pub kernel_count: u64,
    /// Sum of op durations; nested and concurrent ops count each.
    pub total_kernel_time_us: f64,
    /// Busy time: the length of the union of op intervals.
    pub actual_busy_time_us: f64,
    /// Length of the device's window.
    pub total_time_us: f64,
    /// Share of the window in which the device runs an op. `100 * actual_busy_time_us / total_time_us`. Absent where no part of the window
    /// is the device's: it ran none of the counted steps.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub utilization_percent: Option<f64>,
    /// How many ops run at once on average while the device is busy. `total_kernel_time_us / actual_busy_time_us`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parallelism: Option<f64>,
    /// Model, where the profile names it. Added in 1.1.0.
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
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema, Fields)]
pub struct Gaps {
    /// Number of gaps between ops.
    pub total_gaps: u64,
    /// Summed length of the gaps; with the busy time it makes the window (of several devices the summed windows).
    pub total_gap_time_us: f64,
    /// Mean length of a gap; absent without a gap.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub avg_gap_us: Option<f64>,
    /// Longest gap; absent without a gap.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_gap_us: Option<f64>,
    /// Share of the window in which no op runs. `100 * total_gap_time_us` over the window (of several devices the summed windows).
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
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema, Fields)]
pub struct TimelineAnalysis {
    /// The sums.
    #[serde(flatten)]
    pub gaps: Gaps,
    /// The longest gaps, longest first, at most 20. Added in 1.1.0.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub longest_gaps: Vec<Gap>,
}

/// One idle gap. Added in 1.1.0.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema, Fields)]
pub struct Gap {
    /// Device of the gap. The list has the 20 longest, longest first.
    pub device_name: String,
    /// Start, from the start of the capture.
    pub start_us: f64,
    /// Length of the gap.
    pub duration_us: f64,
    /// Name of the op that ended before it (of several the innermost).
    pub after: String,
    /// Name of the op that started after it (of several the outermost).
    pub before: String,
}

/// Compilation on the host: the union of compile spans, so nested passes count once.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema, Fields)]
pub struct Compilation {
    /// Length of the union of the host's compile spans over all threads.
    pub compilation_time_us: f64,
    /// Distinct modules that ran on the used devices: names on `XLA Modules` lines (they carry the program's fingerprint),
    /// elsewhere pairs of module and program that the ops name. Absent where ops name their module but not its program, as in a
    /// trace JSON of a CPU or GPU: several programs of one name cannot be distinguished there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub num_xla_modules: Option<u64>,
    /// Compile spans that are not inside another one.
    pub num_compilation_events: u64,
    /// `100 * compilation_time_us` over the duration of the capture.
    pub compilation_percent: f64,
}

/// Input pipeline on the host: the union of its spans.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema, Fields)]
pub struct IoOperations {
    /// Spans that start in the window and are not inside another one.
    pub io_event_count: u64,
    /// Length of the union of the input pipeline's spans, inside the window.
    pub io_total_time_us: f64,
    /// `100 * io_total_time_us` over the window, from its first instant on any device to its last.
    pub io_percent: f64,
}

/// One step. Times are means over the devices that ran it. Added in 1.1.0.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema, Fields)]
pub struct Step {
    /// Number of the step, from 0, in time.
    pub index: u64,
    /// Number or name that the trace gives the step; absent where devices count differently.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Start on the earliest device, from the start of the capture.
    pub start_us: f64,
    /// Start to the next step's start on the same device; see [Steps](#steps) for the last.
    pub duration_us: f64,
    /// Union of all ops inside the step.
    pub busy_us: f64,
    /// Time in which at least one compute op runs. Concurrent parts count once, compute first.
    pub compute_us: f64,
    /// Time in which communication runs and no compute hides it.
    pub communication_us: f64,
    /// Time in which copies or fills run and neither compute nor communication hides them. XProf counts JAX's `Memcpy*` as
    /// compute.
    pub transfer_us: f64,
    /// Time in which the device runs nothing. `duration_us - busy_us`.
    pub idle_us: f64,
    /// Ops of the step, per device: those that the host launched in it, else those that start in it.
    pub num_kernels: f64,
    /// Time in which at least one op of the step runs (union over streams), mean over devices: of the ops that the host launched in it,
    /// whenever they run. It is `busy_us` where launches are unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device_work_us: Option<f64>,
    /// Start of the step's annotation on the host, from the start of the capture. Absent where the host annotates no steps.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host_start_us: Option<f64>,
    /// Length of the step's annotation on the host.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host_duration_us: Option<f64>,
    /// How far the device runs behind the host: from the start of the annotation to the first op that was launched in it, mean over devices.
    /// Ops that run ahead on another stream while earlier steps still run (copies) are left out. Absent where launches are unknown, and
    /// where an op would start before its annotation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lag_us: Option<f64>,
    /// Cut by the start or end of the capture, or nothing shows where it ends: see [Steps](#steps).
    pub partial: bool,
    /// The host compiled in more than 10 % of the step: see [Steps](#steps).
    #[serde(default)]
    pub compiles: bool,
    /// The step compiles, or it is one of the leading steps that take longer than most: see [Steps](#steps).
    pub warm_up: bool,
    /// Part of the statistics: neither partial nor warm-up, as far as any such step is left.
    pub counted: bool,
}
