//! Computes kernel statistics: GPU kernels by name, launch shape and op, grouped as in XProf.
//!
//! A *kernel* is an op of a GPU stream that is neither a copy nor a fill. Copies that ROCm runs as kernels
//! (`__amd_rocclr_copyBuffer`) are treated as kernels of the family `data_movement`, because they occupy the compute units. On
//! a TPU and for a CPU backend, the rows are ops instead of kernels, and the fields of a GPU launch are empty. Kernels without
//! a duration are left out, as in XProf.

mod columns;
mod data_type;
pub(crate) mod demangle;
pub(crate) mod details;
mod resolve;
mod section;

pub use columns::KernelColumns;
pub(crate) use details::LaunchShape;
pub(crate) use section::section;

use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::common::histogram::Histogram;
use crate::device::devices::Devices;
use crate::host::launches::{CallIndex, each_launched_op};
use crate::op::categories::OpFamily;
use crate::op::ops::{Text, Texts};
use base::{Ps, sort};
use hlo::Modules;
use resolve::{Resolver, is_copy};
use trace::{Args, ArgsId, EventKind, Numbering, Platform, StrId, Trace, in_blocks};

/// A kernel that takes less time than this is called short. Launching a kernel takes about this long.
pub const SHORT_KERNEL: Ps = Ps::new(10_000_000);

/// Occurrences of a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Occurrences {
    /// Number of occurrences.
    pub count: u64,
    /// Sum of the occurrences' durations.
    pub total: Ps,
    /// Duration of the shortest occurrence.
    pub min: Ps,
    /// Duration of the longest occurrence.
    pub max: Ps,
    /// Number of occurrences shorter than [`SHORT_KERNEL`].
    pub short: u64,
    /// Sum of the times from the end of the launch call to the start of the kernel. Includes only occurrences whose call is
    /// known and launched nothing else.
    pub delay: Ps,
    /// Number of occurrences that `delay` includes.
    pub delayed: u64,
}

impl Occurrences {
    const NONE: Occurrences =
        Occurrences { count: 0, total: Ps::ZERO, min: Ps::MAX, max: Ps::ZERO, short: 0, delay: Ps::ZERO, delayed: 0 };

    /// Adds an occurrence. If `counts` is false, `duration` is the part inside the window of an occurrence that started
    /// before the window.
    fn add(&mut self, duration: Ps, counts: bool) {
        self.count += u64::from(counts);
        self.total += duration;
        self.min = self.min.min(duration);
        self.max = self.max.max(duration);
        self.short += u64::from(counts && duration < SHORT_KERNEL);
    }

    fn merge(&mut self, other: &Occurrences) {
        self.count += other.count;
        self.total += other.total;
        self.min = self.min.min(other.min);
        self.max = self.max.max(other.max);
        self.short += other.short;
        self.delay += other.delay;
        self.delayed += other.delayed;
    }

    /// Returns the mean duration in microseconds.
    pub fn mean_us(&self) -> f64 {
        if self.count == 0 { 0.0 } else { self.total.as_us() / self.count as f64 }
    }

    /// Returns the mean launch delay in microseconds, or `None` if no launch call is known.
    pub fn delay_mean_us(&self) -> Option<f64> {
        (self.delayed > 0).then(|| self.delay.as_us() / self.delayed as f64)
    }
}

/// A row: a kernel with one launch shape that ran for one op.
#[derive(Clone, Debug)]
pub struct KernelRow {
    /// Demangled name of the kernel.
    pub name: Text,
    /// Name without types and arguments.
    pub short_name: Text,
    /// Framework op of the HLO instruction, or of the event if the instruction is unknown. Empty if there is no
    /// framework op.
    pub op_name: Text,
    /// The HLO instruction. If several instructions of one framework op ran this kernel, this is the first of them.
    /// Empty if unknown.
    pub hlo_op: Text,
    /// HLO module of the instruction in `hlo_op`. Empty if unknown.
    pub hlo_module: Text,
    /// Blocks in each dimension (`3,1,1`). Empty if unknown.
    pub grid: Text,
    /// Threads of a block in each dimension. Empty if unknown.
    pub block: Text,
    /// Sizes and resources of the launch.
    pub shape: Arc<LaunchShape>,
    /// Family of the kernel.
    pub family: OpFamily,
    /// True if a compiler ran the kernel during compilation (autotuning).
    pub is_autotuning: bool,
    /// True if the kernel's op could use tensor cores according to XProf's rule. `None` if the kernel did not run on a
    /// GPU.
    pub tensor_core_eligible: Option<bool>,
    /// True if the kernel's name shows that it uses tensor cores. `None` if the kernel did not run on a GPU.
    pub uses_tensor_core: Option<bool>,
    /// Type of the values that the kernel computes with, in HLO's notation (`bf16`), or `tf32` if the kernel's name
    /// contains it.
    pub data_type: Option<&'static str>,
    /// True if a CUDA graph launched some of the occurrences.
    pub in_graph: bool,
    /// Occurrences of the kernel.
    pub occurrences: Occurrences,
}

/// Number and total time of a group of kernels.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct KernelSum {
    /// Number of kernels.
    pub count: u64,
    /// Sum of the kernels' durations.
    pub time: Ps,
}

impl KernelSum {
    fn add(&mut self, occurrences: &Occurrences) {
        self.count += occurrences.count;
        self.time += occurrences.total;
    }
}

/// All kernels of a run.
#[derive(Clone, Debug, Default)]
pub struct KernelStats {
    /// Platform that ran the kernels.
    pub platform: Option<Platform>,
    /// The rows, sorted by descending time.
    pub kernels: Vec<KernelRow>,
    /// Texts of the rows, if the trace's strings do not contain them.
    pub texts: Texts,
    /// Occurrences of all kernels together.
    pub all: Option<Occurrences>,
    /// Durations of all occurrences.
    pub histogram: Histogram,
    /// Sums of each family, longest time first.
    pub families: Vec<(OpFamily, KernelSum)>,
    /// Kernels of products, convolutions and attention.
    pub matrix: KernelSum,
    /// Kernels of products, convolutions and attention that use tensor cores.
    pub matrix_on_tensor_cores: KernelSum,
    /// Kernels with a known op that CUDA graphs launched.
    pub graph_with_op: KernelSum,
    /// Kernels without a known op that CUDA graphs launched.
    pub graph_without_op: KernelSum,
    /// All kernels without an op, including kernels that CUDA graphs launched.
    pub without_op: KernelSum,
    /// Mean of the recorded occupancies, weighted by time. `None` if the trace records no occupancy.
    pub mean_occupancy_percent: Option<f64>,
}

/// Identity of a row: the name, the number of its launch shape's class, and the op.
type KernelKey = (StrId, u32, Text);

impl KernelStats {
    /// Measures the kernels of `trace`. `calls` contains the launch calls of `trace`.
    pub fn new(trace: &Trace, devices: &Devices, modules: &Modules, calls: &CallIndex) -> KernelStats {
        let mut stats = KernelStats { platform: devices.platform, ..KernelStats::default() };
        let tallies = tally(trace, devices, calls, &mut stats.histogram);
        let mut resolver = Resolver::new(trace, devices, modules);
        let mut numbers: Numbering<KernelKey> = Numbering::with_capacity(tallies.len());
        stats.kernels.reserve(tallies.len());
        in_blocks(&tallies, |tally| {
            if tally.is_copy {
                return;
            }
            let (host, name, args) = tally.of;
            let (kernel, shape) = resolver.resolve(host, name, args);
            stats.count(&kernel, &tally.occurrences);
            let rows = &mut stats.kernels;
            let in_graph = kernel.in_graph;
            let at = numbers.number((name, shape, kernel.op_name)) as usize;
            if at == rows.len() {
                rows.push(kernel);
            }
            if let Some(row) = rows.get_mut(at) {
                row.occurrences.merge(&tally.occurrences);
                row.in_graph |= in_graph;
            }
        });
        stats.texts = resolver.texts;
        stats.finish(trace);
        stats
    }

    /// Returns a text of a row.
    pub fn text<'t>(&'t self, trace: &'t Trace, text: Text) -> &'t str {
        self.texts.get(trace, text)
    }

    fn count(&mut self, kernel: &KernelRow, occurrences: &Occurrences) {
        self.all.get_or_insert(Occurrences::NONE).merge(occurrences);
        let family = self.families.iter_mut().find(|(family, _)| *family == kernel.family);
        match family {
            Some((_, sum)) => sum.add(occurrences),
            None => {
                self.families.push((kernel.family, KernelSum { count: occurrences.count, time: occurrences.total }))
            }
        }
        if matches!(kernel.family, OpFamily::Matmul | OpFamily::Convolution | OpFamily::Attention)
            && let Some(uses) = kernel.uses_tensor_core
        {
            self.matrix.add(occurrences);
            if uses {
                self.matrix_on_tensor_cores.add(occurrences);
            }
        }
        let has_op = !kernel.hlo_op.is_empty() || !kernel.op_name.is_empty();
        if !has_op {
            self.without_op.add(occurrences);
        }
        match (kernel.in_graph, has_op) {
            (true, true) => self.graph_with_op.add(occurrences),
            (true, false) => self.graph_without_op.add(occurrences),
            _ => {}
        }
    }

    fn finish(&mut self, trace: &Trace) {
        let (mut weighted, mut time) = (0.0, 0.0);
        for kernel in &self.kernels {
            if let Some(percent) = kernel.shape.occupancy_percent {
                weighted += percent * kernel.occurrences.total.as_ps() as f64;
                time += kernel.occurrences.total.as_ps() as f64;
            }
        }
        self.mean_occupancy_percent = (time > 0.0).then(|| weighted / time);
        sort::sort_by(&mut self.families, |a, b| b.1.time.cmp(&a.1.time).then(a.0.cmp(&b.0)));
        // Sorts by time, then by name and op, as in XProf. Remaining ties keep the order of first occurrence.
        let texts = |kernel: &KernelRow| [kernel.name, kernel.op_name].map(|text| self.texts.get(trace, text));
        sort::by_number(&mut self.kernels, |it| it.occurrences.total.as_ps(), |a, b| texts(a).cmp(&texts(b)));
    }
}

type Distinct = (u16, StrId, ArgsId);

/// Sums over all kernels with the same name and argument set on one host.
struct KernelTally {
    of: Distinct,
    /// True for copies and fills, which are not kernels.
    is_copy: bool,
    occurrences: Occurrences,
}

/// Counts the occurrences of every distinct kernel, in order of first occurrence. Adds all durations to `histogram`.
/// Takes time linear in the number of ops.
fn tally(trace: &Trace, devices: &Devices, calls: &CallIndex, histogram: &mut Histogram) -> Vec<KernelTally> {
    let on_gpu = devices.platform == Some(Platform::Gpu);
    let most = devices.most_distinct_ops(trace);
    let mut numbers: Numbering<Distinct> = Numbering::with_capacity(most);
    let kinds = trace.events.kinds();
    // Tally of each kind that occurred. A line belongs to one host.
    let mut places: Vec<Option<u32>> = vec![None; kinds.len()];
    let mut tallies: Vec<KernelTally> = Vec::with_capacity(most);
    for device in &devices.used {
        in_blocks(&device.ops, |&id| {
            let Some((kind, interval)) = trace.events.kind_and_time(id) else { return };
            let (Some(&EventKind { name, args, .. }), Some(place)) = (kinds.get(kind), places.get_mut(kind)) else {
                return;
            };
            let duration = interval.length();
            if duration <= Ps::ZERO {
                return;
            }
            let of = (device.host, name, args);
            let at = *place.get_or_insert_with(|| numbers.number(of)) as usize;
            if at == tallies.len() {
                let is_copy = on_gpu && is_copy(trace, name, args);
                tallies.push(KernelTally { of, is_copy, occurrences: Occurrences::NONE });
            }
            let Some(tally) = tallies.get_mut(at) else { return };
            let counts = !trace.events.began_before(id);
            tally.occurrences.add(duration, counts);
            if counts && !tally.is_copy {
                histogram.add(duration);
            }
        });
    }
    if on_gpu {
        // Many kernels of a graph share one call, so only the first kernel could have a meaningful delay.
        let mut graph_calls: FxHashMap<StrId, bool> = FxHashMap::default();
        each_launched_op(trace, devices, calls, |op, call| {
            let in_graph = trace.args.set(op.event.args.index()).is_some_and(Args::is_in_graph);
            let name = trace.events.get(call.event).map_or(StrId::EMPTY, |event| event.name);
            let graph_call = graph_calls.entry(name).or_insert_with(|| trace.text(name).contains("GraphLaunch"));
            let graph = in_graph || *graph_call;
            let of = (op.scope.host, op.event.name, op.event.args);
            let Some(at) = numbers.find(of).filter(|_| !graph) else { return };
            // If an op starts before its call, the clocks differ, and the delay is unknown.
            let tally = tallies.get_mut(at as usize).filter(|_| op.event.start >= call.start);
            if let Some(KernelTally { occurrences, .. }) = tally {
                occurrences.delay += (op.event.start - call.end).max(Ps::ZERO);
                occurrences.delayed += 1;
            }
        });
    }
    tallies
}

#[cfg(test)]
mod tests;
