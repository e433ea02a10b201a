//! The roofline of the unified profile: what the devices can reach, and how near the program comes to it.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Peaks of one device and the program's place under them. Added in 1.1.0.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Roofline {
    /// The device whose peaks these are.
    pub device: String,
    /// Its key in the table of devices (`--device`). Absent where the table does not have it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device_key: Option<String>,
    /// Where the arithmetic peaks come from: `profile`, `facts` or `chosen`.
    pub peak_source: String,
    /// Dense arithmetic of one device by type, TFLOP/s (`int8`: 1e12 operations a second).
    pub peak_tflops: BTreeMap<String, f64>,
    /// The levels of its memory.
    pub memory_levels: Vec<MemoryLevel>,
    /// Its links to other devices, GB/s, both directions together. Absent where unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interconnect_gb_per_s: Option<f64>,
    /// The single peak that XProf has for all types, GFLOP/s. Absent where the profile does not tell it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub xprof_peak_gflops: Option<f64>,
    /// All ops together. Absent where neither FLOPs nor bytes of any op are known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub program: Option<ProgramPoint>,
    /// Share of the ops' self time whose FLOPs are known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub known_flops_time_percent: Option<f64>,
    /// Share of the ops' self time in custom calls whose cost is unknown, of which MFU and HFU therefore know nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unknown_custom_call_time_percent: Option<f64>,
    /// What MFU and HFU are of: the counted `steps`, or the `active_span` where steps are unknown. Absent without both.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub window: Option<String>,
    /// Model FLOPs utilisation. Absent where no op's FLOPs are known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mfu_percent: Option<f64>,
    /// Hardware FLOPs utilisation. Absent where recomputation cannot be told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hfu_percent: Option<f64>,
    /// Use of the matrix units by the TPU runtime's counters. Absent where it did not record them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub matrix_unit_utilization_percent: Option<f64>,
    /// Use of the main memory's bandwidth by the TPU runtime's counters. Absent where it did not record them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hbm_utilization_percent: Option<f64>,
}

/// A level of a device's memory.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MemoryLevel {
    /// `HBM`, `CMEM Read`, `CMEM Write`, `VMEM Read`, `VMEM Write` or `Shm/L1`.
    pub level: String,
    /// Bandwidth, 1e9 bytes a second.
    pub gb_per_s: f64,
    /// Where it comes from: `profile`, `facts` or `chosen`.
    pub source: String,
    /// FLOPs a byte at which the device's fastest floating-point arithmetic of 16 bits or more stops to be bound by it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ridge_point: Option<f64>,
}

/// A program under the roofs: over the active spans of all devices.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ProgramPoint {
    /// GFLOP/s of one device.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gflops: Option<f64>,
    /// Bytes of main memory, of what the memory could move in this time. A lower bound where costs are unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hbm_bandwidth_percent: Option<f64>,
    /// The peak that its mix of data types can reach, GFLOP/s of one device.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub peak_gflops: Option<f64>,
    /// Bandwidth of the main memory that it uses, 2^30 bytes a second of one device.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hbm_gibps: Option<f64>,
    /// FLOPs a byte of the main memory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hbm_operational_intensity: Option<f64>,
    /// The roof that it is nearest to: `Compute`, a level of memory, or `Unknown`.
    pub bound_by: String,
    /// How near.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub roofline_efficiency_percent: Option<f64>,
}
