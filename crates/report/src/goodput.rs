//! Productive time of a capture, and the time that it loses.

use base::fields::Fields;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Productive time of the devices in a capture. The time before and after the capture (start-up, restarts, evaluation)
/// is unknown. Times are means over the devices, and `parts[].time_us` add up to `covered_us`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema, Fields)]
pub struct Goodput {
    /// Length of the capture.
    pub covered_us: f64,
    /// Number of devices that ran ops.
    pub num_devices: u64,
    /// Share of productive time in the capture: the `percent` of the part `productive`.
    pub goodput_percent: f64,
    /// Lost time, as a number of devices: `num_devices * (1 - goodput_percent / 100)`.
    pub lost_devices: f64,
    /// Device hours that the capture covers: `num_devices * covered_us / 3.6e9`.
    pub device_hours: f64,
    /// Device hours lost in the capture.
    pub lost_device_hours: f64,
    /// Cost of the lost time per hour, if the whole program loses as much as the capture: `lost_devices` times the
    /// price of a device. Absent if no price is given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lost_dollars_per_hour: Option<f64>,
    /// Parts of the capture's time: productive time, then all losses, longest first.
    pub parts: Vec<GoodputPart>,
}

/// Part of the time of a capture.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema, Fields)]
pub struct GoodputPart {
    /// `productive`: time of steps, without the losses below. If the steps are unknown, this is the time during which a
    /// device is busy. `compilation`: the device is idle while the host compiles. `checkpoint`: the device is idle
    /// while a thread saves or restores a checkpoint (Orbax, Flax, PyTorch, or an annotated range with `checkpoint` in
    /// its name). `input`: the device is idle while the thread that feeds it waits for input. `stall`: excess of slow
    /// steps over the median step, without the losses above. A step is slow if it is more than three interquartile
    /// ranges above the third quartile, and at least 5 % above the median. `outside_steps`: other time before, between
    /// and after steps. `idle`: other idle time, if the steps are unknown. Time with several causes belongs to the
    /// first loss that applies.
    pub part: String,
    /// Time of the part, as a mean over devices.
    pub time_us: f64,
    /// Share of the capture's time.
    pub percent: f64,
    /// Device hours of the part, summed over devices.
    pub device_hours: f64,
}
