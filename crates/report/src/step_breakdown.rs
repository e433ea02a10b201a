//! The step breakdown of the unified profile: the time of a step by activity.

use base::fields::Fields;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Time of a step by activity, as means over devices and counted steps. Added in 1.1.0.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema, Fields)]
pub struct StepBreakdown {
    /// Window that the parts cover: `steps`, or `window.kind` if no step is counted.
    pub window: String,
    /// Number of steps over which the means are taken. Absent if steps are unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub num_steps: Option<u64>,
    /// Length of the step (or window): the sum of the parts. If the window consists of steps, the length equals
    /// `step_timing.avg_step_time_us`.
    pub duration_us: f64,
    /// Parts of the step (or window).
    pub parts: StepParts,
    /// Share of the communication in flight that overlaps with computation. `100 * overlapped / in flight`, both summed
    /// like the parts. Communication is *in flight* while a collective, send or receive runs on the device's lines. On
    /// a TPU, communication is also in flight from the `-start` op to the end of the `-done` op. These times come from
    /// the `Async XLA Ops` line if the chip has that line (only in an xplane, and often for only one chip). Otherwise,
    /// they come from the `-start` op that the `-done` op names. Communication is *overlapped* while an op also
    /// computes. Communication in flight that is not overlapped is `parts.communication_us`. Absent without
    /// communication. Holistic Trace Analysis defines `comp_comm_overlap` in the same way, with two differences. First,
    /// its window is the whole capture, as for `communication.hidden_percent` with `--window all`. Second, it treats
    /// every kernel except collectives, `Memcpy` and `Memset` as computation, even kernels that copy or change a
    /// layout. Its figure is therefore slightly higher: 14.95 and 19.93 % for two PyTorch ranks whose
    /// `communication.hidden_percent` is 14.57 and 19.34 %.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub communication_overlap_percent: Option<f64>,
    /// Share of the copies, fills and layout changes in flight that overlaps with computation. `100
    /// * overlapped / in flight`. Absent without copies.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transfer_overlap_percent: Option<f64>,
    /// Mean number of a device's streams that run an op at the same time, while the device is busy.
    /// `sum over streams of their busy time / busy time of the device`, over all devices.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stream_concurrency: Option<f64>,
    /// Time during which a device runs at least one op: the sum of the parts that are not idle.
    pub device_busy_us: f64,
    /// Time inside the step during which at least one thread of the device's host works rather than waits. If the host is
    /// always busy and the device is idle, the step waits for the host. Absent if the trace has no host thread.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host_busy_us: Option<f64>,
    /// Share of the window during which a TPU chip works, by XProf's definition (`device_duty_cycle_percent`): waiting
    /// for the host is not work. The chip works during the union of `XLA Ops` over all chips, except infeed, outfeed,
    /// host sends and receives, `async-done` and megacore fusions. XProf's window is the span of `XLA Ops` and `XLA
    /// Modules` by event times ([Clocks](#clocks)). crossprof calls this span the active span. With `--window active`,
    /// the number equals the percentage that XProf prints. `compute_utilization` contains crossprof's own busy share.
    /// SparseCores are excluded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duty_cycle_percent: Option<f64>,
    /// Idle share of the window, as XProf defines `device_idle_time_percent`. `100 * (1 - union of the ops / window)`. TPU only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chip_idle_percent: Option<f64>,
    /// Parts of the mean step of each device that ran ops. Added in 1.1.0.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub devices: Vec<StepBreakdownDevice>,
    /// Time of host threads by role, in the whole capture.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub host_roles: Vec<HostRoleTime>,
    /// Share of the window during which no host thread works or waits. Absent if the trace has no host thread.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host_idle_percent: Option<f64>,
    /// Activity of the hosts while devices are idle. Absent if the trace has no host thread, or if devices are idle for less than
    /// 0.5 % of the window and no step stalls.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host_meanwhile: Option<HostMeanwhile>,
    /// Breakdown of every step in `steps`. Empty if there are more than 1000 steps or steps are unknown.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub steps: Vec<StepBreakdownStep>,
}

/// Exclusive parts of a step, in microseconds. Every instant belongs to exactly one part.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema, Fields)]
pub struct StepParts {
    /// Time during which at least one op computes.
    pub compute_us: f64,
    /// Exposed communication: time during which communication runs without computation.
    pub communication_us: f64,
    /// Time of exposed copies from the host.
    pub h2d_us: f64,
    /// Time of exposed copies to the host.
    pub d2h_us: f64,
    /// Time of exposed copies from one device to another.
    pub p2p_us: f64,
    /// Time of exposed copies within the device.
    pub d2d_us: f64,
    /// Time of exposed infeed and outfeed. TPU only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub infeed_outfeed_us: Option<f64>,
    /// Time of exposed fills, layout changes and copies with unknown direction.
    pub data_movement_us: f64,
    /// Idle time in which the program waits for other chips or for its inputs. TPU only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub barrier_us: Option<f64>,
    /// Idle time before a late launch while the host compiled. Absent if the trace has no host thread.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compile_us: Option<f64>,
    /// Idle time before a late launch while the host was in the input pipeline. Absent if the trace has no host thread.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input_bound_us: Option<f64>,
    /// Idle time because of a late launch that neither compilation nor input caused. If the op starts more than 1 ms
    /// after its call has ended, only the time until the end of the call is included. Absent if the trace has no
    /// launches (CPU backend, no host events, no ids). The time is then in `other_idle_us`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host_bound_us: Option<f64>,
    /// Idle time in gaps of at most 10 us before an op that had already been launched. Absent if the trace has no
    /// launches. The time is then in `other_idle_us`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kernel_wait_us: Option<f64>,
    /// Idle time for any other reason.
    pub other_idle_us: f64,
}

/// Time of the host threads with one role.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema, Fields)]
pub struct HostRoleTime {
    /// Role of host threads: `python`, `launch`, `input`, `compile`, `transfer`, `wait` or `other`. The role is derived
    /// from the name of the event (`facts/host_spans.csv`) or, if that name is unknown, from the name of the thread
    /// (`facts/host_threads.csv`). Python frames have the role `python`. If events on a thread are nested, the first of
    /// these roles applies: `compile`, `input`, `wait`, `transfer`, `launch`, `python`. `wait` means waiting for a
    /// device, a lock or another thread. Ops of a CPU backend are not host work.
    pub role: String,
    /// Time during which at least one thread of a host has this role, summed over hosts. Threads run concurrently, so
    /// the times of all roles may add up to more than the window. The capture contains host spans only if the
    /// profiler's host tracer was on. XProf considers only TensorFlow ops, so it reports JAX hosts as 100 % idle.
    pub time_us: f64,
    /// Time in this role as a share of the window. The window is summed over hosts.
    pub percent: f64,
}

/// Activity of host threads while devices are idle.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema, Fields)]
pub struct HostMeanwhile {
    /// The 20 ranges and user functions with the most time.
    pub ranges: Vec<HostRangeTime>,
    /// Idle time during which no Python thread is in any range. Like the times of the ranges, this time is a mean over
    /// devices and counted steps.
    pub outside_us: f64,
    /// The 20 spans and frames with the most time while no Python thread is in a range, or while a Python thread is in
    /// a range that waits. Includes all spans on the Python threads that feed devices. Excludes spans that wait, if
    /// they are on other threads or inside a range that waits.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub behind: Vec<HostRangeTime>,
    /// Part of `outside_us` during which no thread of the host is in any event.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub silent_us: Option<f64>,
}

/// A user range, a user function, or a span of the runtime.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema, Fields)]
pub struct HostRangeTime {
    /// Name of an annotation (without its step number), of a function in the user's files, or of a call that waits for devices
    /// (`block_until_ready`).
    pub name: String,
    /// Idle time of a device during which a Python thread of its host is in this range, but in no range nested in it.
    /// Threads run concurrently, so the times of the ranges may add up to more than the idle time.
    pub time_us: f64,
    /// Thread that is in the range. If several threads are in the range, this is the first of them. The name of a pool
    /// thread is shown without its number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thread: Option<String>,
    /// True if the thread waits in the range for a device, a lock or another thread.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub waits: bool,
    /// File and line of the function, like `train.py:12`. Present for the three ranges with the most time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub place: Option<String>,
    /// Calls inside the range, outermost first, that each take at least half of the range's time. Present for the three ranges
    /// with the most time, if the Python tracer recorded calls inside them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub calls: Vec<HostCall>,
    /// User functions that another thread runs during the range. Present if the last of `calls` waits for a lock or
    /// another thread.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub other_thread: Option<HostOtherThread>,
}

/// A call on the host that takes at least half of the time of a range.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema, Fields)]
pub struct HostCall {
    /// Name of the function.
    pub name: String,
    /// File and line of the function, like `npyio.py:681`. Absent if the function is not written in Python.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub place: Option<String>,
    /// Share of the range's time during which the thread is in this call.
    pub percent: f64,
    /// Number of calls inside the range, over all counted steps.
    pub count: u64,
}

/// The thread whose user functions overlap most with a range in which another thread waits for a lock. This thread may
/// hold the lock. The capture does not record which thread holds the lock.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema, Fields)]
pub struct HostOtherThread {
    /// Name of the thread. Absent if the thread has no name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thread: Option<String>,
    /// User functions of the thread, outermost first, and the last call inside them. Each call takes at least half of
    /// the range's time.
    pub calls: Vec<HostCall>,
}

/// Step breakdown of one device, with means over its counted steps.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema, Fields)]
pub struct StepBreakdownDevice {
    /// Name of a device that ran ops, as in `multi_device.device_stats`. Comparing the parts of the devices shows a
    /// straggler.
    pub device_name: String,
    /// Number of steps over which the device's means are taken. 1 if the window does not consist of steps.
    pub num_steps: u64,
    /// Length of a step on the device: the sum of its parts.
    pub duration_us: f64,
    /// Parts of a step on the device.
    pub parts: StepParts,
}

/// Breakdown of one step, with means over its devices.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema, Fields)]
pub struct StepBreakdownStep {
    /// Index in `steps`. `steps` is empty for captures with more than 1000 steps.
    pub index: u64,
    /// Parts of the step.
    pub parts: StepParts,
    /// User range or function that the hosts are in during most of the step's idle time. If the hosts are in no range,
    /// this is the host thread's span that takes most of the idle time (`host_meanwhile.behind`). Present only for
    /// steps whose idle time exceeds the mean by 5 % of a step, and only for the 20 longest of these steps.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host_range: Option<String>,
    /// Thread that is in `host_range`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host_thread: Option<String>,
}

/// All parts of a step in the order of [`StepParts`], each with its name in the report and its display title.
pub const STEP_PARTS: [(&str, &str); 14] = [
    ("compute", "Compute"),
    ("communication", "Exposed communication"),
    ("h2d", "Exposed host to device"),
    ("d2h", "Exposed device to host"),
    ("p2p", "Exposed device to device"),
    ("d2d", "Exposed copies on the device"),
    ("infeed_outfeed", "Infeed and outfeed"),
    ("data_movement", "Other data movement"),
    ("barrier", "Idle: waiting for devices"),
    ("compile", "Idle: compiling"),
    ("input_bound", "Idle: input pipeline"),
    ("host_bound", "Idle: waiting for launch"),
    ("kernel_wait", "Idle: between ops"),
    ("other_idle", "Idle: other"),
];

impl StepParts {
    /// Returns the parts in the order of [`STEP_PARTS`], in microseconds. `None` for a part that this profile cannot
    /// contain.
    pub fn values_us(&self) -> [Option<f64>; STEP_PARTS.len()] {
        [
            Some(self.compute_us),
            Some(self.communication_us),
            Some(self.h2d_us),
            Some(self.d2h_us),
            Some(self.p2p_us),
            Some(self.d2d_us),
            self.infeed_outfeed_us,
            Some(self.data_movement_us),
            self.barrier_us,
            self.compile_us,
            self.input_bound_us,
            self.host_bound_us,
            self.kernel_wait_us,
            Some(self.other_idle_us),
        ]
    }

    /// Returns the time during which the device is idle, in microseconds.
    pub fn idle_us(&self) -> f64 {
        let named = STEP_PARTS.iter().zip(self.values_us());
        named.filter(|((_, title), _)| title.starts_with("Idle")).map(|(_, us)| us.unwrap_or(0.0)).sum()
    }

    /// Creates parts from times in microseconds. This is the inverse of [`values_us`](StepParts::values_us).
    pub fn of_values_us(values: [Option<f64>; STEP_PARTS.len()]) -> StepParts {
        let [
            compute,
            communication,
            h2d,
            d2h,
            p2p,
            d2d,
            infeed_outfeed_us,
            data_movement,
            barrier_us,
            compile_us,
            input_bound_us,
            host_bound_us,
            kernel_wait_us,
            other_idle,
        ] = values;
        let time = Option::unwrap_or_default;
        StepParts {
            compute_us: time(compute),
            communication_us: time(communication),
            h2d_us: time(h2d),
            d2h_us: time(d2h),
            p2p_us: time(p2p),
            d2d_us: time(d2d),
            infeed_outfeed_us,
            data_movement_us: time(data_movement),
            barrier_us,
            compile_us,
            input_bound_us,
            host_bound_us,
            kernel_wait_us,
            other_idle_us: time(other_idle),
        }
    }
}
