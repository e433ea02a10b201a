//! Finds the peaks of a device: arithmetic by data type, and the bandwidth of each level of its memory.
//!
//! The plane's own stats take precedence, and the facts about the device supply the missing peaks. If the user chose a
//! device, all peaks come from the facts about that device. One device represents all devices of a run, because the
//! devices of a run are identical.

use crate::device::devices::Devices;
use crate::op::categories::OpFamily;
use crate::profile::metadata::device_model;
use base::number::decimal;
use facts::devices::{self, Chosen, Device};
use facts::gpu_rates::{self, GpuCore};
use facts::{Arithmetic, Rates};
use hlo::DataType;
use trace::{Plane, StatValue, Trace};

/// Source of a peak.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// The profile: stats of the device's plane.
    Profile,
    /// The vendor's numbers for the device that the profile names.
    Facts,
    /// The vendor's numbers for the device that the user chose.
    Chosen,
}

impl Source {
    /// Returns the name that the report uses.
    pub fn label(self) -> &'static str {
        match self {
            Source::Profile => "profile",
            Source::Facts => "facts",
            Source::Chosen => "chosen",
        }
    }
}

/// A level of a device's memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// Main memory.
    Hbm,
    /// Reads from a TPU's common memory.
    CmemRead,
    /// Writes to a TPU's common memory.
    CmemWrite,
    /// Reads from a TPU's vector memory.
    VmemRead,
    /// Writes to a TPU's vector memory.
    VmemWrite,
    /// A GPU's shared memory or L1.
    Local,
}

impl Level {
    /// All levels.
    pub const ALL: [Level; 6] =
        [Level::Hbm, Level::CmemRead, Level::CmemWrite, Level::VmemRead, Level::VmemWrite, Level::Local];

    /// Returns XProf's name for the level.
    pub fn label(self) -> &'static str {
        match self {
            Level::Hbm => "HBM",
            Level::CmemRead => "CMEM Read",
            Level::CmemWrite => "CMEM Write",
            Level::VmemRead => "VMEM Read",
            Level::VmemWrite => "VMEM Write",
            Level::Local => "Shm/L1",
        }
    }
}

/// Bandwidth of a memory level.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bandwidth {
    /// Bytes per second.
    pub bytes_per_second: f64,
    /// Source of the bandwidth.
    pub source: Source,
}

/// The peaks of one device.
#[derive(Clone, Debug)]
pub struct Peaks {
    /// Name of the chosen device, or of the profile's device if the user chose no device.
    pub device: String,
    /// The device's entry in the facts, if the device is known.
    pub facts: Option<&'static Device>,
    /// Labels of other devices that are sold under the name in the profile. crossprof assumes that the device is the
    /// one in `facts`.
    pub others: Vec<&'static str>,
    /// Peak rates of dense arithmetic, in FLOP/s.
    pub rates: Rates,
    /// Source of `rates`. A TPU's profile records the bfloat16 rate only, and the other rates are scaled from the
    /// facts.
    pub rates_source: Source,
    /// Bandwidths by [`Level`]. `None` for levels that the device lacks or whose bandwidth is unknown.
    levels: [Option<Bandwidth>; Level::ALL.len()],
    /// Bandwidth of the links to other devices, in bytes per second, both directions together.
    pub interconnect_bytes_per_second: Option<f64>,
    /// The single peak that XProf compares every op with, in FLOP/s.
    pub xprof_flops_per_second: Option<f64>,
    /// Bandwidth of the main memory that XProf uses, in bytes per second.
    pub xprof_hbm_bytes_per_second: Option<f64>,
    /// True if products of single-precision operands run as TF32, which is XLA's default on NVIDIA GPUs.
    tf32: bool,
}

impl Peaks {
    /// Returns the bandwidth of a level.
    pub fn level(&self, level: Level) -> Option<Bandwidth> {
        self.levels.get(level as usize).copied().flatten()
    }

    /// Returns the arithmetic that an op of this family uses for operands of this type, and its rate. Ops of unknown
    /// type are compared with half precision, as XProf does for all ops.
    pub fn reached(&self, data_type: Option<DataType>, family: OpFamily) -> Option<(Arithmetic, f64)> {
        let products = matches!(family, OpFamily::Matmul | OpFamily::Convolution | OpFamily::Attention);
        self.rates.reached(match data_type {
            None => Arithmetic::Fp16,
            Some(data_type) => arithmetic(data_type, self.tf32 && products),
        })
    }

    /// Returns the fastest floating-point arithmetic of 16 bits or more.
    pub fn highest(&self) -> Option<(Arithmetic, f64)> {
        let kinds = [Arithmetic::Bf16, Arithmetic::Fp16, Arithmetic::Fp32];
        let mut highest: Option<(Arithmetic, f64)> = None;
        for (kind, rate) in kinds.into_iter().filter_map(|kind| Some((kind, self.rates.get(kind)?))) {
            if highest.is_none_or(|(_, most)| rate > most) {
                highest = Some((kind, rate));
            }
        }
        highest
    }

    /// Returns the FLOPs per byte above which the bandwidth of `level` no longer limits an op that computes at
    /// `flops_per_second`.
    pub fn ridge_point(&self, level: Level, flops_per_second: f64) -> Option<f64> {
        self.level(level).map(|bandwidth| flops_per_second / bandwidth.bytes_per_second)
    }

    /// Returns the FLOPs per byte above which the main memory no longer limits an op, if the op is compared with
    /// XProf's single peak.
    pub fn xprof_ridge_point(&self) -> Option<f64> {
        Some(self.xprof_flops_per_second? / self.xprof_hbm_bytes_per_second?)
    }
}

/// Returns the arithmetic for operands of a type. Integers of more than 8 bits use the same lanes as single precision.
fn arithmetic(data_type: DataType, tf32: bool) -> Arithmetic {
    match data_type.name() {
        "bf16" => Arithmetic::Bf16,
        "f16" => Arithmetic::Fp16,
        "f64" | "c128" => Arithmetic::Fp64,
        "s8" | "u8" | "s4" | "u4" | "s2" | "u2" => Arithmetic::Int8,
        name if name.starts_with("f8") => Arithmetic::Fp8,
        name if name.starts_with("f4") => Arithmetic::Fp4,
        "f32" | "c64" if tf32 => Arithmetic::Tf32,
        _ => Arithmetic::Fp32,
    }
}

/// Finds the peaks of the run's devices. Returns `None` if neither the profile nor the user names the device.
pub fn peaks(trace: &Trace, devices: &Devices, chosen: Option<&str>) -> Option<Peaks> {
    let plane = devices.used.iter().find_map(|device| trace.planes.get(device.plane));
    let stated = plane.and_then(|plane| stated(&Stats { trace, plane }));
    let Some(Chosen { device: chosen, name }) = chosen.and_then(devices::chosen) else { return stated };
    let mut levels = [None; Level::ALL.len()];
    if let (Some(slot), Some(bytes_per_second)) = (levels.first_mut(), chosen.hbm_bytes_per_second) {
        *slot = Some(Bandwidth { bytes_per_second, source: Source::Chosen });
    }
    Some(Peaks {
        device: name,
        facts: Some(chosen),
        others: Vec::new(),
        rates: chosen.rates,
        rates_source: Source::Chosen,
        levels,
        interconnect_bytes_per_second: chosen.interconnect_bytes_per_second,
        xprof_flops_per_second: stated.as_ref().and_then(|stated| stated.xprof_flops_per_second),
        xprof_hbm_bytes_per_second: stated.as_ref().and_then(|stated| stated.xprof_hbm_bytes_per_second),
        tf32: chosen.vendor == "nvidia",
    })
}

struct Stats<'a> {
    trace: &'a Trace,
    plane: &'a Plane,
}

impl Stats<'_> {
    /// Returns the number in a stat if it is positive. A zero in the profile means that the number is unknown.
    fn number(&self, name: &str) -> Option<f64> {
        let value = match self.trace.plane_stat(self.plane, name)? {
            StatValue::Int(value) => value as f64,
            StatValue::Double(value) => value,
            StatValue::Text(text) => decimal(self.trace.text(text))?,
        };
        (value > 0.0 && value.is_finite()).then_some(value)
    }

    fn text(&self, name: &str) -> &str {
        match self.trace.plane_stat(self.plane, name) {
            Some(StatValue::Text(text)) => self.trace.text(text),
            _ => "",
        }
    }

    /// Returns a TPU's bandwidth from a stat in gigabytes per second.
    fn giga(&self, name: &str) -> Option<Bandwidth> {
        let bytes_per_second = self.number(name)? * 1e9;
        Some(Bandwidth { bytes_per_second, source: Source::Profile })
    }
}

/// Returns the peaks that the profile records, either as numbers or through the device's name.
fn stated(stats: &Stats<'_>) -> Option<Peaks> {
    let name = device_model(stats.trace, stats.plane);
    let cores = stats.number("core_count").map(|cores| cores as u64);
    let found = name.as_deref().and_then(|name| devices::assumed(name, cores, stats.number("memory_size")));
    let named = found.as_ref().map(|(device, _)| *device);
    let peaks = tpu(stats, named).or_else(|| gpu(stats, named)).or_else(|| {
        let facts = named?;
        Some(Peaks { rates: facts.rates, tf32: facts.vendor == "nvidia", ..unknown(facts) })
    })?;
    let others: Vec<&'static str> =
        found.map_or_else(Vec::new, |(_, others)| others.iter().map(|device| device.label).collect());
    let assumed = match peaks.facts {
        Some(device) if !others.is_empty() => format!(" (assumed: {}, not {})", device.label, others.join(" or ")),
        _ => String::new(),
    };
    Some(Peaks { device: name.map_or(peaks.device, |name| format!("{name}{assumed}")), others, ..peaks })
}

/// Returns peaks that come only from the facts.
fn unknown(facts: &'static Device) -> Peaks {
    let source = Source::Facts;
    let hbm = facts.hbm_bytes_per_second.map(|bytes_per_second| Bandwidth { bytes_per_second, source });
    Peaks {
        device: facts.label.to_owned(),
        facts: Some(facts),
        others: Vec::new(),
        rates: Rates::default(),
        rates_source: source,
        levels: [hbm, None, None, None, None, None],
        interconnect_bytes_per_second: facts.interconnect_bytes_per_second,
        xprof_flops_per_second: None,
        xprof_hbm_bytes_per_second: None,
        tf32: false,
    }
}

/// Reads the peaks of a TPU from its stats. The stats record only the bfloat16 rate. The rates of the other types are
/// scaled by the same factor, because the plane may stand for one core of the chip.
fn tpu(stats: &Stats<'_>, facts: Option<&'static Device>) -> Option<Peaks> {
    let peak = stats.number("peak_teraflops_per_second")? * 1e12;
    let mut rates = facts.map(|facts| facts.rates).unwrap_or_default();
    if let Some(known) = rates.get(Arithmetic::Bf16) {
        rates = rates.scaled(peak / known);
    }
    rates.set(Arithmetic::Bf16, peak);
    let hbm = stats.giga("peak_hbm_bw_gigabytes_per_second");
    Some(Peaks {
        device: stats.text("device_type_string").to_owned(),
        facts,
        others: Vec::new(),
        rates,
        rates_source: Source::Profile,
        levels: [
            hbm,
            stats.giga("peak_cmem_rd_bw_gigabytes_per_second"),
            stats.giga("peak_cmem_wr_bw_gigabytes_per_second"),
            stats.giga("peak_vmem_rd_bw_gigabytes_per_second"),
            stats.giga("peak_vmem_wr_bw_gigabytes_per_second"),
            None,
        ],
        interconnect_bytes_per_second: facts.and_then(|facts| facts.interconnect_bytes_per_second),
        xprof_flops_per_second: Some(peak),
        xprof_hbm_bytes_per_second: hbm.map(|hbm| hbm.bytes_per_second),
        tf32: false,
    })
}

/// Computes the peaks of a GPU: the number of cores, times the clock rate, times the work of a core per cycle. Vendors
/// publish lower peaks, for a clock rate that the chip can sustain. If the device is known, the published peaks take
/// precedence.
///
/// An AMD profile records only half of the memory bandwidth (one of the two transfers in a clock cycle), so the
/// vendor's number takes precedence.
fn gpu(stats: &Stats<'_>, named: Option<&'static Device>) -> Option<Peaks> {
    let cores = stats.number("core_count")?;
    let cycles = cores * stats.number("clock_rate")? * 1e3;
    let amd = stats.text("device_vendor").eq_ignore_ascii_case("AMD");
    let core = if amd { gpu_rates::amd(isa(stats)) } else { nvidia_core(stats) };
    let facts = named.or_else(|| {
        let core = core.filter(|_| amd)?;
        let rate = core.rates.get(Arithmetic::Fp16).unwrap_or(0.0) * cycles;
        devices::by_shape(core.arch, cores as u64, stats.number("memory_size").unwrap_or(0.0), rate)
    });
    let profile = |bytes_per_second| Bandwidth { bytes_per_second, source: Source::Profile };
    let stated = stats.number("memory_bandwidth");
    let published = facts.and_then(|facts| facts.hbm_bytes_per_second);
    let hbm = match published.filter(|_| amd || stated.is_none()) {
        Some(bytes_per_second) => Some(Bandwidth { bytes_per_second, source: Source::Facts }),
        None => stated.map(profile),
    };
    let local = core.map(|core| profile(core.local_bytes * cycles));
    let (rates, rates_source) = match (facts, core) {
        (Some(facts), _) => (facts.rates, Source::Facts),
        (None, Some(core)) => (core.rates.scaled(cycles), Source::Profile),
        (None, None) => return None,
    };
    Some(Peaks {
        device: facts.map_or("GPU", |facts| facts.label).to_owned(),
        facts,
        others: Vec::new(),
        rates,
        rates_source,
        levels: [hbm, None, None, None, None, local],
        interconnect_bytes_per_second: facts.and_then(|facts| facts.interconnect_bytes_per_second),
        xprof_flops_per_second: core.map(|core| core.xprof * cycles),
        xprof_hbm_bytes_per_second: stated,
        tf32: !amd,
    })
}

fn nvidia_core(stats: &Stats<'_>) -> Option<&'static GpuCore> {
    let major = stats.number("compute_cap_major")? as i64;
    gpu_rates::nvidia(major, stats.number("compute_cap_minor").unwrap_or(0.0) as i64)
}

/// Returns AMD's ISA: the name in the profile without the features that may follow it (`gfx942:sramecc+`), or the ISA
/// for the compute capability. The compute capability lacks the last digit, so 9.0 means both `gfx908` and `gfx90a`.
fn isa<'a>(stats: &'a Stats<'_>) -> &'a str {
    let name = stats.text("gpu_device_name").split(':').next().unwrap_or("");
    if name.starts_with("gfx") {
        return name;
    }
    match (stats.number("compute_cap_major"), stats.number("compute_cap_minor")) {
        (Some(major), Some(minor)) if (major, minor) == (9.0, 4.0) => "gfx942",
        (Some(major), Some(minor)) if (major, minor) == (9.0, 5.0) => "gfx950",
        _ => "",
    }
}
