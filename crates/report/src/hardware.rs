//! Hardware counters of the devices: use of their units, power, clocks and temperature.

use base::fields::Fields;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Hardware counters of the devices. Added in 1.1.0.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema, Fields)]
pub struct Hardware {
    /// Use of the units of each chip, from readings of its hardware counters (TPU v6e and v7x, with `tpu_perf_counters`).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub units: Vec<UnitStats>,
    /// Counters over time whose meaning is known, by device.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub meters: Vec<MeterStats>,
    /// Use of the units of a TPU by each custom call (Pallas kernel), from the counters `MXU`, `Vector ALU`, ... that the profiler
    /// records for it (LLO utilization).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub kernels: Vec<KernelUnitStats>,
}

/// A counter of a device during one custom call.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema, Fields)]
pub struct KernelUnitStats {
    /// Name of the device.
    pub device_name: String,
    /// Name of the op.
    pub kernel: String,
    /// Name of the counter: the unit of the chip.
    pub counter: String,
    /// Time of all runs of the op in the window.
    pub time_us: f64,
    /// Time-weighted mean of the counter during these runs. The profiler does not document its unit.
    pub mean: f64,
    /// Largest value during these runs.
    pub max: f64,
}

/// Use of one unit of a chip between two readings of its counters.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema, Fields)]
pub struct UnitStats {
    /// Name of the device.
    pub device_name: String,
    /// Name of the host. Absent if the run has only one host.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
    /// Number of the device on its host, as the capture records it, otherwise from its name.
    pub device: u64,
    /// Number of the reading. A capture usually contains one, for its whole duration.
    pub sample: u64,
    /// Time of the reading, from the start of the capture.
    pub time_us: f64,
    /// Number of the die or SparseCore on the chip. 0 for a unit of the whole chip.
    pub node: u64,
    /// Name of the unit, as in XProf.
    pub name: String,
    /// Work of the unit: a sum of its hardware counters, weighted by the cycles or bytes of each event.
    pub achieved: f64,
    /// Work of the unit if it were never idle, for the cycles between the readings.
    pub peak: f64,
    /// Unit of `achieved` and `peak`: `cycles`, `instructions`, `bytes`, or `percent` for a share of all HBM traffic in bytes.
    pub unit: String,
    /// Use of the unit. `100 * achieved / peak`.
    pub use_percent: f64,
}

/// A counter of a device over the time of the window.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema, Fields)]
pub struct MeterStats {
    /// Name of the device.
    pub device_name: String,
    /// Name of the counter in the capture.
    pub counter: String,
    /// Measured quantity, as in `crates/facts/src/meters.csv`. A `clock_limit` is the share of the time with this reason.
    pub quantity: String,
    /// Unit of the values. `number` if the profiler does not document it.
    pub unit: String,
    /// Number of samples that overlap the window.
    pub samples: u64,
    /// Time-weighted mean in the window.
    pub mean: f64,
    /// Smallest value in the window.
    pub min: f64,
    /// Largest value in the window.
    pub max: f64,
    /// Limit of the device: the power limit, the highest clock, or the bandwidth of its memory. Absent if unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<f64>,
    /// Mean relative to the limit. `100 * mean / limit`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mean_percent: Option<f64>,
}
