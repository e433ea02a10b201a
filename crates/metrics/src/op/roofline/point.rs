//! Places an op on the roofline of its device.
//!
//! ```text
//! FLOP/s            compute roof of its data type
//!   |           ____________________
//!   |         /          .           compute efficiency = FLOP/s / roof
//!   |       /  HBM x     |           memory utilisation = bytes/s / bandwidth, of each level
//!   |     /              |           roofline efficiency = the largest of them, which gives the limiting resource
//!   |   /                v
//!   +---------------------------- FLOPs/byte
//! ```

use super::peaks::{Level, Peaks};
use crate::op::ops::{Op, rate};
use base::Ps;
use facts::Arithmetic;

/// Work of an op or a program, for comparison with the peaks.
#[derive(Clone, Copy, Debug, Default)]
pub struct Work {
    /// FLOPs done.
    pub flops: Option<f64>,
    /// FLOPs of the model's arithmetic.
    pub model_flops: Option<f64>,
    /// Bytes read and written, over all memories.
    pub bytes: Option<f64>,
    /// Bytes read and written at each [`Level`].
    pub level_bytes: [Option<f64>; Level::ALL.len()],
    /// Time that the work takes, summed over devices.
    pub time: Ps,
    /// Time during which the work was done: see [`Op::work_time`].
    pub work_time: Ps,
}

impl Work {
    /// Returns the work of all occurrences of an op.
    pub fn of(op: &Op) -> Work {
        let split = |bytes: fn(&trace::MemoryBytes) -> i64| op.memory.as_ref().map(|it| op.of_all(bytes(it)));
        Work {
            flops: op.flops,
            model_flops: op.model_flops.or(op.flops),
            bytes: op.bytes,
            level_bytes: [
                op.hbm_bytes(),
                split(|it| it.cmem_read),
                split(|it| it.cmem_write),
                split(|it| it.vmem_read),
                split(|it| it.vmem_write),
                None,
            ],
            time: op.total,
            work_time: op.work_time(),
        }
    }

    /// Returns the bytes of a level.
    pub fn level(&self, level: Level) -> Option<f64> {
        self.level_bytes.get(level as usize).copied().flatten()
    }

    /// Returns the FLOPs per byte of a level, or `None` if no byte is moved.
    pub fn level_intensity(&self, level: Level) -> Option<f64> {
        per_byte(self.flops, self.level(level))
    }

    /// Returns the FLOPs per byte, over all memories.
    pub fn intensity(&self) -> Option<f64> {
        per_byte(self.flops, self.bytes)
    }

    /// Returns the FLOP/s.
    pub fn flop_rate(&self) -> Option<f64> {
        rate(self.flops?, self.work_time)
    }
}

fn per_byte(flops: Option<f64>, bytes: Option<f64>) -> Option<f64> {
    let (flops, bytes) = (flops?, bytes?);
    (bytes > 0.0).then(|| flops / bytes)
}

/// Limiting resource of an op.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bound {
    /// Arithmetic.
    Compute,
    /// A level of memory.
    Memory(Level),
    /// The link to the host, whose peak is unknown.
    HostLink,
    /// Unknown, because the op has no known FLOPs or bytes.
    Unknown,
}

impl Bound {
    /// Returns XProf's name for the resource.
    pub fn label(self) -> &'static str {
        match self {
            Bound::Compute => "Compute",
            Bound::Memory(level) => level.label(),
            Bound::HostLink => "Host link",
            Bound::Unknown => "Unknown",
        }
    }
}

/// An op on the roofline. Shares are from 0 to 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    /// FLOP/s.
    pub flop_rate: Option<f64>,
    /// FLOPs per byte, over all memories.
    pub intensity: Option<f64>,
    /// FLOPs per byte of each [`Level`].
    pub level_intensity: [Option<f64>; Level::ALL.len()],
    /// The arithmetic type (for example bf16) whose peak rate the op is compared with. `None` in a comparison by
    /// XProf's rules.
    pub arithmetic: Option<Arithmetic>,
    /// Peak rate of this arithmetic type, in FLOP/s.
    pub peak_flop_rate: Option<f64>,
    /// `flop_rate / peak_flop_rate`.
    pub compute_efficiency: Option<f64>,
    /// The largest used share of a level's bandwidth.
    pub max_mem_bw_utilization: Option<f64>,
    /// The roof that the op is closest to.
    pub bound_by: Bound,
    /// Share of the closest roof that the op reaches.
    pub roofline_efficiency: Option<f64>,
    /// FLOP/s that the op would reach at the closest roof, with the same bytes per FLOP.
    pub optimal_flop_rate: Option<f64>,
    /// FLOPs per byte of the limiting resource.
    pub bottleneck_intensity: Option<f64>,
}

impl Point {
    /// Returns the point of a copy to or from the host, with the host link as the limit. A copy to or from the host is
    /// far below the device's own roofs, and the link's peak is unknown.
    pub(super) fn under_host_link(self) -> Point {
        Point {
            bound_by: Bound::HostLink,
            roofline_efficiency: None,
            optimal_flop_rate: None,
            bottleneck_intensity: None,
            ..self
        }
    }
}

/// Compares an op with the peak of its own data type.
pub fn point(peaks: &Peaks, op: &Op) -> Point {
    let (arithmetic, peak) = peaks.reached(op.data_type, op.family).unzip();
    place(peaks, &Work::of(op), arithmetic, peak, None)
}

/// If an op's arithmetic is unknown, a memory is treated as the op's limit only if the op uses at least this share of
/// the memory's bandwidth. We chose this limit because at a smaller share, arithmetic or latency is just as likely to
/// be the limit.
const LEAST_MEMORY_SHARE: f64 = 0.35;

/// Compares an op only with the memory roofs. If the op uses little of the memories' bandwidth, its limit is unknown,
/// because arithmetic may limit the op.
pub fn point_of_memory(peaks: &Peaks, op: &Op) -> Point {
    let point = place(peaks, &Work::of(op), None, None, None);
    if point.roofline_efficiency.is_none_or(|share| share >= LEAST_MEMORY_SHARE) {
        return point;
    }
    Point {
        bound_by: Bound::Unknown,
        roofline_efficiency: None,
        optimal_flop_rate: None,
        bottleneck_intensity: None,
        ..point
    }
}

/// Compares an op with XProf's single peak and XProf's bandwidth of main memory.
pub fn point_as_xprof(peaks: &Peaks, op: &Op) -> Point {
    place(peaks, &Work::of(op), None, peaks.xprof_flops_per_second, peaks.xprof_hbm_bytes_per_second)
}

/// Compares work with a compute roof and the memory roofs. `hbm_bytes_per_second` replaces the roof of the main memory.
pub(super) fn place(
    peaks: &Peaks,
    work: &Work,
    arithmetic: Option<Arithmetic>,
    peak_flop_rate: Option<f64>,
    hbm_bytes_per_second: Option<f64>,
) -> Point {
    let flop_rate = work.flop_rate();
    let compute_efficiency = flop_rate.zip(peak_flop_rate).map(|(rate, peak)| rate / peak);
    let mut memory: Option<(Level, f64)> = None;
    for level in Level::ALL {
        let replaced = hbm_bytes_per_second.filter(|_| level == Level::Hbm);
        let peak = replaced.or(peaks.level(level).map(|bandwidth| bandwidth.bytes_per_second));
        let moved = work.level(level).and_then(|bytes| rate(bytes, work.work_time));
        let Some(share) = moved.zip(peak).map(|(moved, peak)| moved / peak) else { continue };
        if memory.is_none_or(|(_, most)| share > most) {
            memory = Some((level, share));
        }
    }
    let (compute, moved) = (compute_efficiency.unwrap_or(0.0), memory.map_or(0.0, |(_, share)| share));
    let bound_by = match memory {
        Some((level, share)) if share > compute => Bound::Memory(level),
        _ if compute > 0.0 => Bound::Compute,
        _ => Bound::Unknown,
    };
    let known = compute_efficiency.is_some() || memory.is_some();
    let roofline_efficiency = known.then(|| compute.max(moved));
    let level_intensity = Level::ALL.map(|level| work.level_intensity(level));
    Point {
        flop_rate,
        intensity: work.intensity(),
        level_intensity,
        arithmetic,
        peak_flop_rate,
        compute_efficiency,
        max_mem_bw_utilization: memory.map(|(_, share)| share),
        bound_by,
        roofline_efficiency,
        optimal_flop_rate: flop_rate
            .zip(roofline_efficiency.filter(|&share| share > 0.0))
            .map(|(rate, share)| rate / share),
        bottleneck_intensity: match bound_by {
            Bound::Memory(level) => work.level_intensity(level),
            Bound::Compute => work.intensity(),
            Bound::HostLink | Bound::Unknown => None,
        },
    }
}
