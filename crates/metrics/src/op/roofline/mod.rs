//! Compares the ops of a run with the peaks of its devices. Computes how close each op comes to the hardware's limits,
//! and which resource limits the op.
//!
//! Reads the op statistics and the stats of the device planes. The peaks come from the device's stats in the profile,
//! or from the vendor's published numbers. If neither source contains the peaks, crossprof does not guess.

mod labels;
mod peaks;
mod point;
mod section;
mod utilization;

#[cfg(test)]
mod tests;

pub use labels::{OpLabel, OpLabels};
pub use peaks::{Bandwidth, Level, Peaks, Source, peaks};
pub use point::{Bound, Point, Work, point, point_as_xprof, point_of_memory};
pub use section::{section, warnings};
pub use utilization::{Share, Utilization};

use rustc_hash::FxHashSet;

use crate::common::statistics::mean;
use crate::device::devices::Devices;
use crate::op::categories::OpFamily;
use crate::op::ops::{CostSource, Op, Ops, Text, rate};
use crate::profile::missing;
use base::Ps;
use facts::{Arithmetic, Name, hlo_categories, tensor_cores};
use trace::{PlaneKind, Platform, StatValue, Trace};

/// A run compared with its devices' peaks.
#[derive(Clone, Debug, Default)]
pub struct Roofline {
    /// The peaks of one device. `None` if the device is unknown.
    pub peaks: Option<Peaks>,
    /// Work of all ops together, in the windows of the devices.
    pub program: Work,
    /// FLOP/s that one device can reach with the program's mix of data types.
    pub program_peak: Option<f64>,
    /// Self time of ops with known FLOPs, in percent of the self time of all ops. `None` if no op ran.
    pub known_time_percent: Option<f64>,
    /// Self time of custom calls of unknown cost, in percent of the self time of all ops. `None` if no op ran.
    pub unknown_custom_call_percent: Option<f64>,
    /// Model and hardware FLOPs utilisation.
    pub utilization: Utilization,
    /// Utilisation of the matrix units and of the main memory's bandwidth in percent, from the TPU runtime's counters.
    pub counters: [Option<f64>; 2],
    /// True on a GPU, where XLA gives the cost of elementwise ops in cycles.
    gpu: bool,
    /// Names of the ops that multiply matrices although their category does not show it.
    products: FxHashSet<Text>,
}

impl Roofline {
    /// Compares the ops of a run with the peaks of its devices, or of the `chosen` device (a key of [`facts::devices`]).
    pub fn new(trace: &Trace, devices: &Devices, ops: &Ops, chosen: Option<&str>) -> Roofline {
        let peaks = peaks(trace, devices, chosen);
        let mut roofline = Roofline { gpu: devices.platform == Some(Platform::Gpu), ..Roofline::default() };
        if roofline.gpu {
            let names = ops.rows.iter().map(|op| op.name);
            roofline.products =
                names.filter(|&name| tensor_cores::kernel_uses(&Name::new(ops.text(trace, name)))).collect();
        }
        let leaves = ops.rows.iter().filter(|op| !holds_others(ops.text(trace, op.category)));
        let sums = ProgramCosts::new(leaves.map(|op| roofline.without_cycles(op)), peaks.as_ref());
        let leaf = |op: &Op| (!holds_others(ops.text(trace, op.category))).then(|| roofline.without_cycles(op));
        let utilization = Utilization::new(ops, missing::lacks_ops(devices), peaks.as_ref(), &leaf);
        let share =
            |part: Ps| (ops.op_time > Ps::ZERO).then(|| 100.0 * part.as_ps() as f64 / ops.op_time.as_ps() as f64);
        let unknown_calls: Ps = ops.rows.iter().filter(|op| op.is_uncosted_call()).map(|op| op.self_time).sum();
        Roofline {
            program: sums.work(ops.device_time),
            program_peak: sums.mixed_peak(),
            known_time_percent: share(sums.known_time),
            unknown_custom_call_percent: share(unknown_calls),
            utilization,
            counters: ["matrix_unit_utilization_percent", "hbm_utilization_percent"].map(|name| counter(trace, name)),
            peaks,
            ..roofline
        }
    }

    /// Returns the limiting resource of an op, or `None` if the op's cost or the device's peaks are unknown.
    pub fn bound_label(&self, op: &Op) -> Option<&'static str> {
        self.bound(op).filter(|&bound| bound != Bound::Unknown).map(Bound::label)
    }

    /// Returns the limiting resource of an op, or `None` if the device's peaks are unknown and the op's category does
    /// not determine the resource.
    pub(crate) fn bound(&self, op: &Op) -> Option<Bound> {
        if op.over_host_link {
            return Some(Bound::HostLink);
        }
        self.point(op).map(|point| point.bound_by)
    }

    /// Places an op on the roofline. Returns `None` if the peaks are unknown.
    pub fn point(&self, op: &Op) -> Option<Point> {
        let peaks = self.peaks.as_ref()?;
        let point = if self.counts_cycles(op) { point_of_memory(peaks, op) } else { point(peaks, op) };
        Some(if op.over_host_link { point.under_host_link() } else { point })
    }

    /// Returns the arithmetic whose peak an op is compared with: [`Point::arithmetic`] of [`Roofline::point`].
    pub fn arithmetic(&self, op: &Op) -> Option<Arithmetic> {
        let peaks = self.peaks.as_ref().filter(|_| !self.counts_cycles(op))?;
        peaks.reached(op.data_type, op.family).map(|(arithmetic, _)| arithmetic)
    }

    /// Places several ops on the roofline as a single point. The compute roof follows from the ops' mix of data types.
    /// Returns `None` if the peaks are unknown.
    pub fn point_of_all(&self, ops: &[&Op]) -> Option<Point> {
        if let &[op] = ops {
            return self.point(op);
        }
        let peaks = self.peaks.as_ref()?;
        let sums = ProgramCosts::new(ops.iter().map(|op| self.without_cycles(op)), Some(peaks));
        let work = Work { work_time: sums.work_time, ..sums.work(ops.iter().map(|op| op.total).sum()) };
        let point = point::place(peaks, &work, None, sums.mixed_peak(), None);
        let only_copies = !ops.is_empty() && ops.iter().all(|op| op.over_host_link);
        Some(if only_copies { point.under_host_link() } else { point })
    }

    fn without_cycles(&self, op: &Op) -> Op {
        if self.counts_cycles(op) { Op { flops: None, ..*op } } else { *op }
    }

    /// Returns true if the op's cost is in cycles instead of FLOPs. XLA's analysis for GPUs gives the cost of
    /// elementwise arithmetic in cycles, so only matrix products, convolutions and attention can be compared with a
    /// peak.
    pub fn counts_cycles(&self, op: &Op) -> bool {
        let product = matches!(op.family, OpFamily::Matmul | OpFamily::Convolution | OpFamily::Attention);
        self.gpu && op.cost_source == Some(CostSource::Hlo) && !product && !self.products.contains(&op.name)
    }

    /// Returns the used share of the main memory's bandwidth in the devices' active spans, from 0 to 1. `None` if the
    /// bytes or the bandwidth are unknown.
    pub fn hbm_share(&self) -> Option<f64> {
        let peak = self.peaks.as_ref()?.level(Level::Hbm)?.bytes_per_second;
        Some(rate(self.program.level(Level::Hbm)?, self.program.time)? / peak)
    }

    /// Places the program on the roofline. The compute roof follows from the program's mix of data types.
    pub fn program_point(&self) -> Option<Point> {
        let peaks = self.peaks.as_ref()?;
        Some(point::place(peaks, &self.program, None, self.program_peak, None))
    }
}

/// Returns the mean of the stat `name` over all host planes, or `None` if no host plane has this stat.
fn counter(trace: &Trace, name: &str) -> Option<f64> {
    let values = trace.planes.iter().filter(|plane| plane.kind == PlaneKind::Host).filter_map(|plane| {
        match trace.plane_stat(plane, name)? {
            StatValue::Int(value) => Some(value as f64),
            StatValue::Double(value) => Some(value).filter(|value| value.is_finite()),
            StatValue::Text(_) => None,
        }
    });
    mean(&values.collect::<Vec<f64>>())
}

/// Returns true for loops, calls and branches. A loop, call or branch contains ops that have rows of their own, and its
/// cost is the sum of their costs.
fn holds_others(category: &str) -> bool {
    matches!(category, hlo_categories::WHILE | hlo_categories::CONDITIONAL | hlo_categories::CALL)
}

#[derive(Default)]
struct ProgramCosts {
    flops: Option<f64>,
    model_flops: Option<f64>,
    bytes: Option<f64>,
    levels: [Option<f64>; Level::ALL.len()],
    split: bool,
    ideal_seconds: f64,
    known_time: Ps,
    work_time: Ps,
}

impl ProgramCosts {
    fn new(ops: impl Iterator<Item = Op>, peaks: Option<&Peaks>) -> ProgramCosts {
        let mut sums = ProgramCosts::default();
        for op in ops {
            if op.flops.is_some() {
                sums.known_time += op.self_time;
            }
            let work = Work::of(&op);
            if op.memory.is_some() {
                sums.split = true;
                for (sum, bytes) in sums.levels.iter_mut().zip(work.level_bytes) {
                    add(sum, bytes);
                }
            }
            // The wait for an asynchronous op duplicates the op's cost, except for the bytes by memory, which are recorded
            // separately for each.
            if op.is_left_out() {
                continue;
            }
            sums.work_time += work.work_time;
            add(&mut sums.flops, work.flops);
            add(&mut sums.model_flops, work.model_flops);
            add(&mut sums.bytes, work.bytes);
            if let (Some(flops), Some((_, peak))) =
                (op.flops, peaks.and_then(|peaks| peaks.reached(op.data_type, op.family)))
            {
                sums.ideal_seconds += flops / peak;
            }
        }
        sums
    }

    /// Returns the peak FLOP/s for the program's mix of data types.
    fn mixed_peak(&self) -> Option<f64> {
        self.flops.filter(|_| self.ideal_seconds > 0.0).map(|flops| flops / self.ideal_seconds)
    }

    /// Computes the work of the program. The bytes of the main memory come from ops whose bytes are split by memory. If
    /// no op's bytes are split, all bytes are included. XProf has the same rule, because a TPU's `copy-done` repeats
    /// the bytes of its `copy-start` without splitting them.
    fn work(&self, time: Ps) -> Work {
        let mut level_bytes = self.levels;
        if let Some(hbm) = level_bytes.first_mut().filter(|_| !self.split) {
            *hbm = self.bytes;
        }
        let (flops, model_flops, bytes) = (self.flops, self.model_flops, self.bytes);
        Work { flops, model_flops, bytes, level_bytes, time, work_time: time }
    }
}

fn add(sum: &mut Option<f64>, value: Option<f64>) {
    if let Some(value) = value {
        *sum = Some(sum.unwrap_or(0.0) + value);
    }
}
