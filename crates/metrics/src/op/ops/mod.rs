//! Computes op statistics: the time and cost of every op of every program, over all devices.
//!
//! ```text
//! device ops --one pass--> Tallies (name, arguments) --resolve--> Ops (one row per instruction)
//!                                                        ^  HLO: category, expression, path, source, FLOPs, bytes
//! ```
//!
//! An op is an HLO instruction of a program. On a TPU each event is an op, and the profile contains its cost. On a GPU
//! the kernels name their instruction (`hlo_op`), and the instruction's cost is computed from the embedded HLO. Several
//! kernels of one instruction form one row. Host events of the CPU backend are treated in the same way. A kernel that
//! names no instruction has a row under its own name.
//!
//! Two sources are not read. `Async XLA Ops` repeats `copy-start` and `copy-done` as spans in flight. SparseCore planes
//! contain work that runs in parallel with the work of the TensorCore.

mod columns;
mod coverage;
mod custom_call;
mod grouping;
mod in_flight;
mod resolve;
mod section;
pub(crate) mod shapes;
mod tally;
mod text;
pub(crate) mod tree;
mod tree_columns;

#[cfg(test)]
mod tests;

pub use columns::{OpColumns, OpText};
pub use coverage::Coverage;
pub(crate) use custom_call::CustomCall;
pub use grouping::Grouping;
pub(crate) use grouping::Groups;
pub(crate) use section::section;
pub use tally::Tallies;
pub(crate) use tally::Tally;
pub use text::{Text, Texts};
pub use tree_columns::{NodeText, TreeColumns};

pub(crate) use crate::device::device_time::async_pairs::PairRole;
use crate::device::devices::{Device, Devices};
use crate::op::categories::OpFamily;
use base::Ps;
use hlo::{DataType, Modules};
use report::Phase;
use trace::{ArgsId, MemoryBytes, StrId, Trace};

/// Name of the entry for all ops together, in lists of ops.
pub const PROGRAM: &str = "Program";

/// Source of an op's FLOPs and bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CostSource {
    /// The profile itself: XLA's own estimate (TPU).
    Profile,
    /// The analysis of the embedded HLO.
    Hlo,
    /// The operand shapes and configuration of a library call.
    Shapes,
}

impl CostSource {
    /// Returns the name that the report uses.
    pub fn label(self) -> &'static str {
        match self {
            CostSource::Profile => "profile",
            CostSource::Hlo => "hlo",
            CostSource::Shapes => "from shapes",
        }
    }
}

/// An op. Sums cover all occurrences of the op on all devices.
#[derive(Clone, Copy, Debug)]
pub struct Op {
    /// Id of the program.
    pub program_id: Option<i64>,
    /// Id of the program as XProf writes it: without a sign.
    pub program: Text,
    /// Name of the program (`jit_train_step`). Empty if unknown.
    pub module: Text,
    /// XLA's category.
    pub category: Text,
    /// Family of the op, which determines the op's colour. The family follows from the kernel names if the category is
    /// only `custom-call`.
    pub family: OpFamily,
    /// Name of the instruction, or of the kernel if there is no instruction.
    pub name: Text,
    /// Full expression of the op. Empty if unknown.
    pub expression: Text,
    /// The framework's path (`jit(f)/layer_3/attn/dot_general`). Empty if unknown.
    pub framework_path: Text,
    /// Source file and line. Empty if unknown.
    pub source: Text,
    /// Function that contains the source line. Empty if the program does not record it.
    pub function: Text,
    /// Name of the instruction that this op is a copy of. Empty if it is not a copy.
    pub deduplicated_name: Text,
    /// Sharding of the result in HLO syntax. Empty if the program does not record it.
    pub sharding: Text,
    /// One of the argument sets of the op's events.
    pub args: ArgsId,
    /// Number of starts of the op in the window. On GPUs, this is the number of starts of the op's kernels.
    pub occurrences: u64,
    /// Number of executions of the instruction. Less than `occurrences` if a library call launches several kernels.
    pub executions: u64,
    /// Sum of the durations.
    pub total: Ps,
    /// Time during which no op that started later ran on the op's line; see [`self_times`](crate::self_times).
    pub self_time: Ps,
    /// Shortest duration.
    pub min: Ps,
    /// Longest duration.
    pub max: Ps,
    /// Time during which the op waited for a copy of its operands or results. `None` if the trace does not record it.
    pub dma_stall: Option<Ps>,
    /// FLOPs of all occurrences.
    pub flops: Option<f64>,
    /// FLOPs of the model's arithmetic alone, without recomputation.
    pub model_flops: Option<f64>,
    /// Bytes read and written by all occurrences.
    pub bytes: Option<f64>,
    /// Bytes of one occurrence by memory, if the profile splits them.
    pub memory: Option<MemoryBytes>,
    /// Source of FLOPs and bytes. `None` if the cost is unknown.
    pub cost_source: Option<CostSource>,
    /// Set if the op calls code that the compiler did not generate.
    pub custom_call: Option<CustomCall>,
    /// Element type of the operands of the op's main arithmetic.
    pub data_type: Option<DataType>,
    /// True if the op was computed again to save memory. `None` if the op has neither name nor path.
    pub rematerialized: Option<bool>,
    /// Correction of the number of occurrences, in billionths, for occurrences that an edge of the window cuts. See
    /// [`Tally::missing`].
    pub missing: i64,
    /// Number of devices in use that the op ran on.
    pub devices: u32,
    /// True if the op copies between device memory and host memory, or waits for such a copy.
    pub over_host_link: bool,
    /// Phase of the training step that the op belongs to. [`Phase::Other`] if no program computes gradients.
    pub phase: Phase,
    /// True for a fusion that contains ops of several phases. All of the fusion is assigned to `phase`.
    pub is_mixed: bool,
    /// Set for the ops of an asynchronous pair (`copy-start` and `copy-done`), which share the work of the pair.
    pub pair: Option<Pair>,
}

/// Relation of an op to its asynchronous pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pair {
    /// Role of the op: it starts the work or waits for it.
    pub role: PairRole,
    /// Number of pairs in the trace.
    pub count: u64,
    /// Time of the pairs, each from the start of the first op to the end of the op that waits for it.
    pub time: Ps,
    /// True if the other op of the pair has the same cost, which must be counted only once.
    pub repeats: bool,
}

impl Op {
    /// Returns the time during which the op's FLOPs were done and its bytes were moved. For an op of a pair, this is
    /// the time from start to end of all pairs. For any other op, it is the time of all occurrences. Incomplete pairs
    /// are assumed to take as long as complete pairs. Zero if no pair was found.
    pub fn work_time(&self) -> Ps {
        let Some(pair) = self.pair else { return self.total };
        let all = i128::from(pair.time.as_ps()) * i128::from(self.occurrences);
        Ps::new(i64::try_from(all / i128::from(pair.count.max(1))).unwrap_or(i64::MAX))
    }

    /// Returns true for a custom call whose cost is unknown. Rates, roofline and utilisation exclude custom calls of
    /// unknown cost.
    pub fn is_uncosted_call(&self) -> bool {
        self.custom_call.is_some() && self.cost_source.is_none()
    }

    /// Returns true if sums leave out the op's cost. If an op waits for work, the cost belongs to the op that started the work.
    /// If the other op of a pair is missing, the work was not done within the capture.
    pub fn is_left_out(&self) -> bool {
        self.pair.is_some_and(|pair| pair.repeats || pair.count == 0)
    }

    /// Returns the FLOPs per second of work time, or `None` if that time is zero.
    pub fn flops_per_second(&self) -> Option<f64> {
        rate(self.flops?, self.work_time())
    }

    /// Returns the FLOPs per second of the model's arithmetic.
    pub fn model_flops_per_second(&self) -> Option<f64> {
        rate(self.model_flops.or(self.flops)?, self.work_time())
    }

    /// Returns the bytes per second of work time, over all memories.
    pub fn bytes_per_second(&self) -> Option<f64> {
        rate(self.bytes?, self.work_time())
    }

    /// Returns the bytes per second to and from the device's main memory: all bytes if the profile does not split them.
    pub fn hbm_bytes_per_second(&self) -> Option<f64> {
        rate(self.hbm_bytes()?, self.work_time())
    }

    /// Returns the bytes of all occurrences to and from the device's main memory.
    pub fn hbm_bytes(&self) -> Option<f64> {
        match self.memory {
            Some(memory) => Some(self.of_all(memory.hbm_read.saturating_add(memory.hbm_write))),
            None => self.bytes,
        }
    }

    /// Returns the FLOPs per byte, or `None` if no byte is moved.
    pub fn intensity(&self) -> Option<f64> {
        let (flops, bytes) = (self.flops?, self.bytes?);
        (bytes > 0.0).then(|| flops / bytes)
    }

    /// Returns the number of occurrences that the op's cost covers. If an edge of the window cuts an occurrence, only
    /// its fraction inside the window is included.
    fn occurrences_of_cost(&self) -> f64 {
        self.occurrences as f64 + self.missing as f64 / 1e9
    }

    /// Returns the number of executions that the op's cost covers.
    fn executions_of_cost(&self) -> f64 {
        let kernels = if self.executions > 0 { self.occurrences as f64 / self.executions as f64 } else { 1.0 };
        self.executions as f64 + self.missing as f64 / 1e9 / kernels
    }

    /// Scales a value of one occurrence to all occurrences.
    pub fn of_all(&self, one: i64) -> f64 {
        one as f64 * self.occurrences_of_cost()
    }
}

/// Time that a group of ops worked: the sum of their self times, so that rates of groups and of ops are comparable.
/// Copies in parallel with computation add nothing, because other ops run during the time of a pair. If all ops belong
/// to pairs, the time of the pairs is used instead.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WorkTime {
    self_time: Ps,
    /// Part of the self time that belongs to ops of pairs.
    of_pairs: Ps,
    /// Time from start to end of the pairs, each counted once.
    in_flight: Ps,
}

impl WorkTime {
    /// Adds an op. `counts` is true if the op's work is part of the sum. If both ops of a pair have the cost, `counts`
    /// is true for only one of them.
    pub fn add(&mut self, op: &Op, counts: bool) {
        self.self_time += op.self_time;
        if op.pair.is_some() {
            self.of_pairs += op.self_time;
            self.in_flight += if counts { op.work_time() } else { Ps::ZERO };
        }
    }

    /// Adds the ops of another group.
    pub fn add_all(&mut self, other: WorkTime) {
        self.self_time += other.self_time;
        self.of_pairs += other.of_pairs;
        self.in_flight += other.in_flight;
    }

    /// Returns the work time.
    pub fn time(self) -> Ps {
        if self.of_pairs == self.self_time { self.in_flight } else { self.self_time }
    }
}

/// Returns the amount per second, or `None` if the time is zero.
pub fn rate(amount: f64, time: Ps) -> Option<f64> {
    (time > Ps::ZERO).then(|| amount / (time.as_ps() as f64 * 1e-12))
}

/// All ops of a run.
#[derive(Clone, Debug, Default)]
pub struct Ops {
    /// Ops, sorted by descending self time.
    pub rows: Vec<Op>,
    /// The row of each name and argument set that occurs in events of ops, in order of first occurrence.
    pub entries: Vec<((StrId, ArgsId), u32)>,
    /// Texts of the rows, if the trace's strings do not contain them.
    pub texts: Texts,
    /// Sum of the lengths of the windows of the devices in use.
    pub device_time: Ps,
    /// Self time of all ops.
    pub op_time: Ps,
    /// Time in the windows when devices ran nothing.
    pub idle: Ps,
    /// True if one of the programs computes gradients, so that ops have phases.
    pub has_gradients: bool,
    /// True if a compiled program determines the phases. False if only framework paths determine the phases.
    pub has_phases_of_programs: bool,
}

impl Ops {
    /// Builds the ops from `tallies`, with details from the embedded modules.
    pub fn new(trace: &Trace, devices: &Devices, tallies: &Tallies, modules: &Modules) -> Ops {
        let mut ops = resolve::resolve(trace, devices, tallies, modules);
        ops.device_time = devices.used.iter().map(|device| device.window.length()).sum();
        in_flight::find_pairs(trace, devices, &mut ops);
        ops.op_time = ops.rows.iter().map(|op| op.self_time).sum();
        ops.idle = devices.used.iter().map(Device::idle).sum();
        ops
    }

    /// Returns a text of a row.
    pub fn text<'t>(&'t self, trace: &'t Trace, text: Text) -> &'t str {
        self.texts.get(trace, text)
    }
}
