//! The step breakdown of the unified profile: where the time of a step goes.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Where the time of a step goes: means over devices and counted steps. Added in 1.1.0.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StepBreakdown {
    /// `steps`, or `active_span` (first op's start to last op's end) where steps are unknown.
    pub window: String,
    /// Steps in the means; absent where steps are unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub num_steps: Option<u64>,
    /// Length of a step, or of the active span: the sum of `parts`.
    pub duration_us: f64,
    /// What happens in it.
    pub parts: StepParts,
    /// Share of the communication in flight that computation hides. Absent without communication.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub communication_overlap_percent: Option<f64>,
    /// Share of the copies in flight that computation hides. Absent without copies.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transfer_overlap_percent: Option<f64>,
    /// Mean number of streams of a device that run an op at once, while one does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stream_concurrency: Option<f64>,
    /// Time in which a device runs at least one op.
    pub device_busy_us: f64,
    /// Time in which a thread of the host does anything but wait. Absent where the trace has no host thread.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host_busy_us: Option<f64>,
    /// Duty cycle of the chips by XProf's definition (TPU).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duty_cycle_percent: Option<f64>,
    /// Idle time of the chips by XProf's definition (TPU).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chip_idle_percent: Option<f64>,
    /// The same for each used device. Added in 1.1.0.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub devices: Vec<StepBreakdownDevice>,
    /// What the threads of the hosts do in the whole capture.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub host_roles: Vec<HostRoleTime>,
    /// Share of the capture in which no thread of a host does or awaits anything. Absent where the trace has no host thread.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host_idle_percent: Option<f64>,
    /// Every step, as in `steps`; empty where there are more than 1000 or steps are unknown.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub steps: Vec<StepBreakdownStep>,
}

/// Exclusive parts of a step, in microseconds: every instant is in exactly one.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StepParts {
    /// At least one op computes.
    pub compute_us: f64,
    /// Communication that no computation hides.
    pub communication_us: f64,
    /// Copies from the host that nothing above hides.
    pub h2d_us: f64,
    /// Copies to the host that nothing above hides.
    pub d2h_us: f64,
    /// Copies between devices that nothing above hides.
    pub p2p_us: f64,
    /// Copies within the device that nothing above hides.
    pub d2d_us: f64,
    /// Infeed and outfeed that nothing above hides. Absent but on TPUs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub infeed_outfeed_us: Option<f64>,
    /// Fills, changes of layout and copies of unknown direction that nothing above hides.
    pub data_movement_us: f64,
    /// Idle: the program waits on the device for others or for its inputs. Absent but on TPUs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub barrier_us: Option<f64>,
    /// Idle before a launch while the host compiled. Absent without host threads; so is the next.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compile_us: Option<f64>,
    /// Idle before a launch while the host was in the input pipeline.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input_bound_us: Option<f64>,
    /// Idle because the next op was launched late, for neither of these reasons. Absent where the trace tells no launch; so is the
    /// next.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host_bound_us: Option<f64>,
    /// Idle for at most 10 microseconds although the next op was launched.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kernel_wait_us: Option<f64>,
    /// Idle for any other reason.
    pub other_idle_us: f64,
}

/// Time of the host's threads in one role.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HostRoleTime {
    /// `python`, `launch`, `input`, `compile`, `transfer`, `wait` or `other`.
    pub role: String,
    /// Union over the threads of a host, summed over hosts.
    pub time_us: f64,
    /// Share of the capture.
    pub percent: f64,
}

/// One device: means over its counted steps.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StepBreakdownDevice {
    /// Its name, as in `multi_device.device_stats`.
    pub device_name: String,
    /// Steps in the means; 1 for an active span.
    pub num_steps: u64,
    /// Length of a step: the sum of `parts`.
    pub duration_us: f64,
    /// What happens in it.
    pub parts: StepParts,
}

/// One step: means over its devices.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StepBreakdownStep {
    /// Position in `steps`.
    pub index: u64,
    /// What happens in it.
    pub parts: StepParts,
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
    ("host_bound", "Idle: launched late"),
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
}
