//! Hardware counters of the devices: utilisation of the chips' units, power, clocks and temperature.

use base::fields::Fields;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Hardware counters of the devices. Added in 1.1.0.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema, Fields)]
pub struct Hardware {
    /// Utilisation of each chip's units, from readings of the chip's hardware counters (TPU v6e and v7x, with
    /// `tpu_perf_counters`).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub units: Vec<UnitStats>,
    /// Counters with a known meaning that were sampled over time, by device.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub meters: Vec<MeterStats>,
    /// Utilisation of a TPU's units during each custom call (Pallas kernel), from the counters `MXU`, `Vector ALU`, ...
    /// that the profiler records for the call (LLO utilization).
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
    /// Name of the counter (one of the chip's units).
    pub counter: String,
    /// Time of all runs of the op in the window.
    pub time_us: f64,
    /// Time-weighted mean of the counter during these runs. The profiler does not document the counter's unit.
    pub mean: f64,
    /// Largest value during these runs.
    pub max: f64,
}

/// Utilisation of one unit of a chip between two readings of the chip's counters.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema, Fields)]
pub struct UnitStats {
    /// Name of the device.
    pub device_name: String,
    /// Name of the host. Absent if the run has only one host.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
    /// Number of the device on its host, from the capture or else from the device's name.
    pub device: u64,
    /// Number of the reading. A capture usually contains one reading, which covers its whole duration.
    pub sample: u64,
    /// Time of the reading, from the start of the capture.
    pub time_us: f64,
    /// Number of the die or SparseCore on the chip. 0 for a unit of the whole chip.
    pub node: u64,
    /// Name of the unit, as in XProf.
    pub name: String,
    /// Work of the unit: a sum of its hardware counters, weighted by the cycles or bytes of each event.
    pub achieved: f64,
    /// Work that the unit would do in the cycles between the readings if it were never idle.
    pub peak: f64,
    /// Unit of `achieved` and `peak`: `cycles`, `instructions`, `bytes`, or `percent` for a share of all HBM traffic in bytes.
    pub unit: String,
    /// Utilisation of the unit. `100 * achieved / peak`.
    pub use_percent: f64,
}

/// A counter of a device during the window.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema, Fields)]
pub struct MeterStats {
    /// Name of the device.
    pub device_name: String,
    /// Name of the counter in the capture.
    pub counter: String,
    /// Measured quantity, as in `crates/facts/src/meters.csv`. A `clock_limit` is the share of time during which one
    /// reason limits the clock.
    pub quantity: String,
    /// Unit of the values. `number` if the profiler does not document the unit.
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
    /// Mean as a share of the limit. `100 * mean / limit`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mean_percent: Option<f64>,
}
