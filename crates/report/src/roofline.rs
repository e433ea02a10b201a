//! The roofline of the unified profile: what the devices can reach, and how near the program comes to it.

use std::collections::BTreeMap;

use base::fields::Fields;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Peaks of one device and the program's place under them. Added in 1.1.0.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema, Fields)]
pub struct Roofline {
    /// Name of the device whose peaks these are.
    pub device: String,
    /// Key of the device in the table of devices (`--device`). Absent where the table does not have it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device_key: Option<String>,
    /// Where the arithmetic peaks come from: `profile`, `facts` or `chosen`; see [Device peaks](#device-peaks).
    pub peak_source: String,
    /// Peak of one device in dense arithmetic, by type. In 1e12 operations per second.
    pub peak_tflops: BTreeMap<String, f64>,
    /// The levels of its memory.
    pub memory_levels: Vec<MemoryLevel>,
    /// Bandwidth of the links to other devices by the maker, 1e9 bytes per second, both directions together. Absent where unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interconnect_gb_per_s: Option<f64>,
    /// The one peak that XProf has for all types. Absent where the profile does not state it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub xprof_peak_gflops: Option<f64>,
    /// All ops together. Absent where neither FLOPs nor bytes of any op are known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub program: Option<ProgramPoint>,
    /// Share of the ops' self time whose FLOPs are known. What is not known is missing from MFU.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub known_flops_time_percent: Option<f64>,
    /// Share of the ops' self time in custom calls whose cost is unknown (see [Ops](#ops)). From 5 % on the warning
    /// `custom_calls_without_cost` says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unknown_custom_call_time_percent: Option<f64>,
    /// What MFU and HFU are of: `window.kind`. Absent without both.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub window: Option<String>,
    /// Model FLOPs utilisation: how much of the devices' peak the arithmetic of the model makes use of. The sum over the ops of the
    /// window of model FLOPs / peak of the op's type, over the lengths of the window added up over devices. With one type this is the usual model FLOPs of a step / (step time x peak x devices). Ops
    /// computed again (`.remat`, `rematted_computation`) do not count. `not_measured` says why it is absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mfu_percent: Option<f64>,
    /// Hardware FLOPs utilisation: MFU with the ops that are recomputed. Equal to MFU where nothing is. Absent
    /// where recomputation cannot be recognised.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hfu_percent: Option<f64>,
    /// Use of the matrix units by the TPU runtime's own counters (stats of the host plane, mean over hosts). Absent where it did
    /// not record them. XProf's MXU utilisation, which it prints as 0.0 % where there is no counter.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub matrix_unit_utilization_percent: Option<f64>,
    /// Use of the main memory's bandwidth by the TPU runtime's own counters (stats of the host plane, mean over hosts). Absent
    /// where it did not record them. XProf's HBM utilisation, which it prints as 0.0 % where there is no counter.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hbm_utilization_percent: Option<f64>,
}

/// A level of a device's memory.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema, Fields)]
pub struct MemoryLevel {
    /// `HBM`, `CMEM Read`, `CMEM Write`, `VMEM Read`, `VMEM Write`, `Shm/L1`.
    pub level: String,
    /// Peak bandwidth of the level. In 1e9 bytes per second; XProf prints GiB/s.
    pub gb_per_s: f64,
    /// Where the bandwidth comes from: `profile`, `facts` or `chosen`.
    pub source: String,
    /// FLOPs per byte where this level meets the peak of the fastest type among bf16, fp16 and fp32.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ridge_point: Option<f64>,
}

/// A program on the roofline: over the active spans of all devices.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema, Fields)]
pub struct ProgramPoint {
    /// FLOPs of all ops per second of the window, of one device. In GFLOP/s, over the devices' windows added up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gflops: Option<f64>,
    /// Share of the peak bandwidth of main memory that the program uses; a lower bound where costs are unknown. `hbm_gibps` of the
    /// bandwidth of main memory in `memory_levels`. The page judges it
    /// by the JAX guide: good above 60 %, bad below 40 %; not where arithmetic limits the program, nor a low share where the
    /// cost of more than 5 % of the op time is unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hbm_bandwidth_percent: Option<f64>,
    /// FLOPs of all ops over the time they need at the peaks of their types.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub peak_gflops: Option<f64>,
    /// Bytes that ops move to and from main memory, per second of the window, of one device. In 2^30 bytes per second, over the
    /// devices' windows added up. Of ops that split bytes by memory where any
    /// does (a TPU's `copy-done` repeats the bytes of its `copy-start` without splitting them).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hbm_gibps: Option<f64>,
    /// FLOPs per byte of the main memory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hbm_operational_intensity: Option<f64>,
    /// The roof that the program is nearest to: `Compute`, a level of memory, or `Unknown`. The greatest of FLOP/s over peak and
    /// bytes per second over bandwidth of each level.
    pub bound_by: String,
    /// How near the program is to that roof: the greatest of FLOP/s over peak and bytes per second over bandwidth of each level.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub roofline_efficiency_percent: Option<f64>,
}
