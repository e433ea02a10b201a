//! The roofline section of the unified profile: peaks of the devices, and the rates that the program reaches.

use std::collections::BTreeMap;

use base::fields::Fields;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Peaks of one device, and the program's point on the roofline. Added in 1.1.0.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema, Fields)]
pub struct Roofline {
    /// Name of the device that the peaks belong to.
    pub device: String,
    /// Key of the device in the device table (`--device`). Absent if the table does not contain the device.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device_key: Option<String>,
    /// Source of the arithmetic peaks: `profile`, `facts` or `chosen`; see [Device peaks](#device-peaks).
    pub peak_source: String,
    /// Peak rate of one device in dense arithmetic, by data type. The unit is 1e12 operations per second.
    pub peak_tflops: BTreeMap<String, f64>,
    /// Levels of the device's memory.
    pub memory_levels: Vec<MemoryLevel>,
    /// Bandwidth of the links to other devices according to the vendor, for both directions together. The unit is 1e9
    /// bytes per second. Absent if unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interconnect_gb_per_s: Option<f64>,
    /// Peak rate that XProf uses for all data types. Absent if the profile does not contain it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub xprof_peak_gflops: Option<f64>,
    /// Roofline point of all ops together. Absent if no op has known FLOPs or bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub program: Option<ProgramPoint>,
    /// Self time of ops with known FLOPs, as a share of the self time of all ops. MFU excludes the other ops.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub known_flops_time_percent: Option<f64>,
    /// Self time of custom calls with unknown cost, as a share of the self time of all ops (see [Ops](#ops)). If this
    /// share is at least 5 %, the profile has the warning `custom_calls_without_cost`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unknown_custom_call_time_percent: Option<f64>,
    /// Window that MFU and HFU cover: `window.kind`. Absent if MFU and HFU are absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub window: Option<String>,
    /// Model FLOPs utilisation (MFU): share of the devices' peak FLOP rate that the model's arithmetic uses. The model
    /// FLOPs of each op are divided by the peak of the op's data type. The sum over all ops in the window is divided by
    /// the sum of the devices' windows. With one data type, this is the usual formula: model FLOPs of a step / (step
    /// time x peak x devices). Recomputed ops (`.remat`, `rematted_computation`) are excluded. If MFU is absent,
    /// `not_measured` contains the reason.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mfu_percent: Option<f64>,
    /// Hardware FLOPs utilisation (HFU): MFU including recomputed ops. HFU equals MFU if there are no recomputed ops.
    /// Absent if recomputation cannot be recognised.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hfu_percent: Option<f64>,
    /// Utilisation of the matrix units, as a mean over hosts. Source: the TPU runtime's counters (stats of the host
    /// plane). Absent if the runtime did not record them. XProf calls this number MXU utilization and prints 0.0 %
    /// without counters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub matrix_unit_utilization_percent: Option<f64>,
    /// Utilisation of the main memory bandwidth, as a mean over hosts. Source: the TPU runtime's counters (stats of the
    /// host plane). Absent if the runtime did not record them. XProf calls this number HBM utilization and prints 0.0 %
    /// without counters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hbm_utilization_percent: Option<f64>,
}

/// A level of a device's memory.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema, Fields)]
pub struct MemoryLevel {
    /// `HBM`, `CMEM Read`, `CMEM Write`, `VMEM Read`, `VMEM Write`, `Shm/L1`.
    pub level: String,
    /// Peak bandwidth of the level. The unit is 1e9 bytes per second, but XProf shows GiB/s.
    pub gb_per_s: f64,
    /// Source of the bandwidth: `profile`, `facts` or `chosen`.
    pub source: String,
    /// FLOPs per byte at which this level meets the peak of the fastest data type among bf16, fp16 and fp32.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ridge_point: Option<f64>,
}

/// A program on the roofline, over the windows of all devices.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema, Fields)]
pub struct ProgramPoint {
    /// FLOP rate of one device: FLOPs of all ops divided by the sum of the devices' windows. In GFLOP/s.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gflops: Option<f64>,
    /// Share of the main memory's peak bandwidth that the program uses. The share is a lower bound if the costs of some
    /// ops are unknown. The share is `hbm_gibps` divided by the bandwidth of main memory in `memory_levels`. The page
    /// judges this share by the JAX guide: good above 60 %, bad below 40 %. The page does not judge the share if
    /// arithmetic limits the program, or if the share is low and the cost of more than 5 % of the op time is unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hbm_bandwidth_percent: Option<f64>,
    /// FLOPs of all ops divided by the time that these ops would take at the peaks of their data types.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub peak_gflops: Option<f64>,
    /// Memory traffic of one device: bytes that ops move to and from main memory divided by the sum of the devices'
    /// windows. The unit is 2^30 bytes per second. If any op splits its bytes by memory, only such ops are included (a
    /// TPU's `copy-done` repeats the bytes of its `copy-start` without splitting them).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hbm_gibps: Option<f64>,
    /// FLOPs per byte of main memory traffic.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hbm_operational_intensity: Option<f64>,
    /// Limit that the program is closest to: `Compute`, a level of memory, or `Unknown`. For this limit, the ratio of
    /// FLOP/s to peak, or of bytes per second to the level's bandwidth, is the largest.
    pub bound_by: String,
    /// Share of the limit `bound_by` that the program reaches: the largest ratio of FLOP/s to peak, or of bytes per second to a
    /// level's bandwidth.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub roofline_efficiency_percent: Option<f64>,
}
