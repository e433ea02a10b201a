//! The step breakdown of the unified profile: where the time of a step goes.

use base::fields::Fields;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Where the time of a step goes: means over devices and counted steps. Added in 1.1.0.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema, Fields)]
pub struct StepBreakdown {
    /// What the parts are of: `steps`, or, where no step counts, `window.kind`.
    pub window: String,
    /// Steps in the means; absent where steps are unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub num_steps: Option<u64>,
    /// Length of the step (of the window): the sum of the parts. With steps it is `step_timing.avg_step_time_us`.
    pub duration_us: f64,
    /// What happens in the step (in the window).
    pub parts: StepParts,
    /// Share of the communication in flight that computation hides. `100 * hidden / in flight`, both summed like the parts.
    /// Communication is *in flight* while a collective, send or receive runs on the device's lines; on a TPU also from the
    /// `-start` op to the end of the `-done` op, by `Async XLA Ops` where the chip has that line (xplane, often one chip only),
    /// else by the `-start` that the `-done` names. It is *hidden* while an op computes too: what is left of it is
    /// `parts.communication_us`. Absent without communication. Holistic Trace Analysis divides in the same way (its
    /// `comp_comm_overlap`), with two differences: its window is the whole capture (`communication.hidden_percent` with
    /// `--window all`), and each kernel that is neither a collective nor a `Memcpy` or `Memset` counts as computation there,
    /// also one that copies or changes a layout, which here is data movement. So its figure is a little higher: 14.95 and 19.93
    /// % for two PyTorch ranks whose `communication.hidden_percent` is 14.57 and 19.34 %.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub communication_overlap_percent: Option<f64>,
    /// Share of the copies, fills and changes of layout in flight that computation hides. `100 * hidden / in flight`. Absent
    /// without copies.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transfer_overlap_percent: Option<f64>,
    /// How many streams of a device run an op at once, while one does: `sum over streams of their busy time / busy time of the
    /// device`, all devices.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stream_concurrency: Option<f64>,
    /// Time in which a device runs at least one op: the parts that are not idle.
    pub device_busy_us: f64,
    /// Time inside the step in which a thread of the device's host does anything but wait (union over its threads). A host that
    /// is busy all of a step whose device is idle is what the step waits for. Absent where the trace has no host thread.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host_busy_us: Option<f64>,
    /// Share of the window in which a TPU chip works, by XProf's definition: waiting for the host is off duty. XProf calls it
    /// `device_duty_cycle_percent`. It is the union over all chips of `XLA Ops` but infeed, outfeed, host
    /// sends and receives, `async-done` and megacore fusions. XProf's own window is the span of `XLA Ops` and `XLA
    /// Modules`, which the active span is here too: XProf measures it by event times ([Clocks](#clocks)): with
    /// `--window active` it is equal to the digits that it prints as a percentage. `compute_utilization` has our own
    /// busy share. SparseCores are left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duty_cycle_percent: Option<f64>,
    /// `100 * (1 - union of the ops / window)`, as XProf defines `device_idle_time_percent`; TPU only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chip_idle_percent: Option<f64>,
    /// The parts of the mean step of each used device. Added in 1.1.0.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub devices: Vec<StepBreakdownDevice>,
    /// What the threads of the hosts do in the whole capture.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub host_roles: Vec<HostRoleTime>,
    /// Share of the window in which no thread of a host does or awaits anything. Absent where the trace has no host thread.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host_idle_percent: Option<f64>,
    /// What the hosts do while devices are idle. Absent where the trace has no host thread, and where devices are idle
    /// for less than 0.5 % of the window and no step stalls.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host_meanwhile: Option<HostMeanwhile>,
    /// Every step, as in `steps`; empty where there are more than 1000 or steps are unknown.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub steps: Vec<StepBreakdownStep>,
}

/// Exclusive parts of a step, in microseconds: every instant is in exactly one.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema, Fields)]
pub struct StepParts {
    /// Time in which at least one op computes.
    pub compute_us: f64,
    /// Exposed communication: no computation runs.
    pub communication_us: f64,
    /// Exposed copies from the host.
    pub h2d_us: f64,
    /// Exposed copies to the host.
    pub d2h_us: f64,
    /// Exposed copies from one device to another.
    pub p2p_us: f64,
    /// Exposed copies within the device.
    pub d2d_us: f64,
    /// Exposed infeed and outfeed. Absent but on TPUs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub infeed_outfeed_us: Option<f64>,
    /// Exposed fills, changes of layout and copies of unknown direction.
    pub data_movement_us: f64,
    /// Idle: the program waits for other chips or its inputs. Absent but on TPUs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub barrier_us: Option<f64>,
    /// Idle before a late launch: the host compiled. Absent where the trace has no host thread.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compile_us: Option<f64>,
    /// Idle before a late launch: the host was held in the input pipeline. Absent where the trace has no host thread.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input_bound_us: Option<f64>,
    /// Idle because of a late launch, neither for compilation nor for input. If the op starts more than 1 ms after its call
    /// has ended, only the time until then. Absent where the trace has no launch (CPU backend, no host events, no ids): that
    /// time is `other_idle_us` then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host_bound_us: Option<f64>,
    /// Idle for at most 10 us although the next op was launched. Absent where the trace has no launch: that time is
    /// `other_idle_us` then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kernel_wait_us: Option<f64>,
    /// Idle for any other reason.
    pub other_idle_us: f64,
}

/// Time of the host's threads in one role.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema, Fields)]
pub struct HostRoleTime {
    /// What host threads do: `python`, `launch`, `input`, `compile`, `transfer`, `wait` or `other`. Told by the event's name
    /// (`facts/host_spans.csv`), else by the thread's (`facts/host_threads.csv`); a Python frame is `python`. On one thread the
    /// first of `compile`, `input`, `wait`, `transfer`, `launch`, `python` counts where events nest. `wait` is for a device, a
    /// lock or another thread. Ops of a CPU backend are not host work.
    pub role: String,
    /// Union over the threads of a host, summed over hosts. Threads run beside each other, so roles do not add up. Host spans
    /// exist only as far as the profiler's host tracer was on; XProf, which knows TensorFlow ops only, says of JAX hosts that
    /// they are 100 % idle.
    pub time_us: f64,
    /// Share of the window (of each host, added up).
    pub percent: f64,
}

/// Where the threads of the hosts are while devices are idle.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema, Fields)]
pub struct HostMeanwhile {
    /// The 20 named ranges and functions of the user with the most time.
    pub ranges: Vec<HostRangeTime>,
    /// Idle time in which no Python thread is in any: a mean over devices and counted steps, as are the ranges'.
    pub outside_us: f64,
    /// What threads do while no Python thread is in a range, or is in one that waits: the 20 spans and frames with the most time.
    /// On the Python threads that feed devices all of them count; inside a range that waits, and on other threads, all but waits.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub behind: Vec<HostRangeTime>,
    /// The part of `outside_us` in which no thread of the host is in any event.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub silent_us: Option<f64>,
}

/// One named range or function of the user, or a span of the runtime.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema, Fields)]
pub struct HostRangeTime {
    /// Name of an annotation without the number of its step, or of a function of the user's own files, or of a call
    /// that waits for devices (`block_until_ready`).
    pub name: String,
    /// Idle time of a device in which a Python thread of its host is in this range and in none inside it. Threads run
    /// beside each other, so ranges may add up to more than the idle time.
    pub time_us: f64,
    /// Thread that is in it; of several the first, of a pool without its number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thread: Option<String>,
    /// True if the thread waits in it, for a device, a lock or another thread.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub waits: bool,
}

/// One device: means over its counted steps.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema, Fields)]
pub struct StepBreakdownDevice {
    /// Name of a used device, as in `multi_device.device_stats`. Its parts of a step are listed so that a device that falls
    /// behind the others can be recognised.
    pub device_name: String,
    /// Steps in the device's means; 1 where they are of no step.
    pub num_steps: u64,
    /// Length of a step on it: the sum of its parts.
    pub duration_us: f64,
    /// What happens in a step.
    pub parts: StepParts,
}

/// One step: means over its devices.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema, Fields)]
pub struct StepBreakdownStep {
    /// Position in `steps`. Steps are listed for captures of at most 1000 steps.
    pub index: u64,
    /// What happens in the step.
    pub parts: StepParts,
    /// The range or function of the user that its hosts are in for most of its idle time; where they are in none, what their threads are
    /// in (`host_meanwhile.behind`). Only of steps that are idle
    /// for longer than the mean by 5 % of a step, at most the 20 longest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host_range: Option<String>,
    /// Thread that is in `host_range`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host_thread: Option<String>,
}

/// Every part of a step in the order of [`StepParts`]: its name in the report, and what people read.
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
    /// The parts in the order of [`STEP_PARTS`], in microseconds; `None` for one that the profile cannot have.
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

    /// Time in which the device runs nothing.
    pub fn idle_us(&self) -> f64 {
        let named = STEP_PARTS.iter().zip(self.values_us());
        named.filter(|((_, title), _)| title.starts_with("Idle")).map(|(_, us)| us.unwrap_or(0.0)).sum()
    }

    /// Parts of these times, which [`values_us`](StepParts::values_us) gives back.
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
