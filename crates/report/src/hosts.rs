//! Parts of `multi_device` that compare devices and hosts: place, steps, arrivals at collectives.

use base::fields::Fields;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::StepParts;

/// Place of a device in the machine. Added in 1.1.0.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema, Fields)]
pub struct DevicePlace {
    /// Number of the chip on its host.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub local_chip: Option<u64>,
    /// Number of the core on its chip.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub core: Option<u64>,
    /// Number of the chip among all chips of the program, on all hosts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub global_chip: Option<u64>,
    /// Number of the slice. Chips of one slice are connected by ICI, and slices by the data-centre network. Traces do
    /// not contain the number, but the capture kit of the Python package records it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slice: Option<u64>,
    /// Position of the chip in the torus of its slice: `x,y,z`. Traces do not contain the position, but the capture kit
    /// of the Python package records it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub coordinates: Option<String>,
}

/// Counted steps of one device. Added in 1.1.0.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema, Fields)]
pub struct DeviceSteps {
    /// Mean length of a counted step on the device, or length of the device's window if the steps are unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step_time_us: Option<f64>,
    /// Median length of a counted step on the device. Absent if the steps are unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub median_step_us: Option<f64>,
    /// Length of the device's longest counted step. Absent if the steps are unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slowest_step_us: Option<f64>,
    /// Index in `steps` of the device's longest counted step. Absent if the steps are unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slowest_step: Option<u64>,
    /// Work of the device: time of a step during which the device is neither idle nor in exposed communication, because
    /// both include waiting for other devices. The value is the median over the device's counted steps. If the steps
    /// are unknown, the value is the work in the device's window.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub work_us: Option<f64>,
    /// Score of the device relative to the best device:
    /// `100 * (least work_us of the devices that exchange data with each other) / work_us`. The score is 100 for the
    /// device with the least work. Absent for devices that do not communicate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub relative_score_percent: Option<f64>,
    /// Score of the device relative to its own best step: `100 * (least work of its counted steps) / work_us`. The
    /// score is low if the device's steps differ. Absent if there are fewer than two steps.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub individual_score_percent: Option<f64>,
}

/// Arrivals of one device at the collectives of its groups. Only durations are compared, because clocks of devices may differ:
/// the device with the shortest run of a collective arrived last. Added in 1.1.0.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema, Fields)]
pub struct DeviceArrivals {
    /// Runs of collectives on this device that were compared with the same run on other devices.
    pub compared: u64,
    /// Compared runs in which the device arrived last and another device waited.
    pub last: u64,
    /// Share of the compared runs in which the device arrived last.
    pub last_percent: f64,
    /// Fair share: the share of the compared runs in which the device would arrive last if all devices of its groups
    /// arrived last equally often. For example, the fair share in a group of four is 25 %.
    pub fair_percent: f64,
    /// Time that this device waited for the last device, over all compared runs.
    pub wait_time_us: f64,
    /// Time that all other devices together waited for this device, over the runs in which it arrived last.
    pub caused_wait_us: f64,
    /// Time that would have been saved if, whenever the device arrived last, it had arrived together with the
    /// second-last device.
    pub delay_us: f64,
    /// Probable reason why the device arrives late: `compute`, `throttling`, `input`, `transfer`, `host` or `unknown`.
    /// Each part of the device's step is compared with the median of the other devices. `compute` is computation and
    /// data movement on the device, `transfer` is copies to or from the host or other devices, and `host` is waiting
    /// for launches and compilation. The cause is the part with the largest excess over this median, if this excess is
    /// at least half of the total excess and at least half of the delay per step. The cause is `throttling` instead of
    /// `compute` if the device runs the same ops as often as the device with the least work, and all these ops take
    /// longer by nearly the same factor. In that case, the chip is slower or its clock is lower. Present if the device
    /// arrives last more than once and in at least twice its fair share of the compared runs (the required share is
    /// never below 10 % or above 75 %).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub late_cause: Option<String>,
}

/// One host, with means over the counted steps of its devices. Every step of every device has the same weight, and all
/// numbers cover the same steps. Added in 1.1.0.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema, Fields)]
pub struct HostStats {
    /// Name of the host. Absent if the run has only one host.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
    /// Number of the host's devices that ran ops.
    pub num_devices: u64,
    /// Largest number of counted steps on one device of the host. Absent if the steps are unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub num_steps: Option<u64>,
    /// Mean length of a step on the devices of the host, or length of the window if the steps are unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step_time_us: Option<f64>,
    /// Median length of a step on the devices of the host. Absent if the steps are unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub median_step_us: Option<f64>,
    /// Length of the longest step on any device of the host. Absent if the steps are unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slowest_step_us: Option<f64>,
    /// Index in `steps` of the host's longest step.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slowest_step: Option<u64>,
    /// Device that ran the host's longest step.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slowest_device: Option<String>,
    /// Parts of a step on the devices of the host.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parts: Option<StepParts>,
    /// Time that the devices of the host waited for the last device of a collective, over all compared runs. Absent if no run was
    /// compared.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wait_time_us: Option<f64>,
    /// Time that all devices waited for devices of this host, over the runs in which a device of this host arrived last. Absent
    /// if no run was compared.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub caused_wait_us: Option<f64>,
    /// Largest `memory.devices[].peak_bytes` of the host's devices. Absent if unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub peak_memory_bytes: Option<u64>,
}
