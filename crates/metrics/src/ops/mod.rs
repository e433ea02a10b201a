//! Op statistics: every op of every program, over all devices, with its time and its cost.
//!
//! ```text
//! device ops --one walk--> Tallies (name, arguments) --resolve--> Ops (one row per instruction)
//!                                                        ^  HLO: category, expression, path, source, FLOPs, bytes
//! ```
//!
//! An op is an HLO instruction of a program. On a TPU each event is one, with its cost from the profile; on a GPU the kernels
//! name theirs (`hlo_op`), whose cost is analysed from the embedded HLO, and several kernels of one instruction are one
//! row; so do host events of the CPU backend. A kernel that names none is a row under its own name.
//!
//! Not read: `Async XLA Ops`, which repeat as spans in flight what `copy-start` and `copy-done` are as ops, and SparseCore
//! planes, whose work runs beside the TensorCore's.

mod columns;
mod coverage;
mod custom_call;
mod grouping;
mod in_flight;
mod resolve;
mod section;
mod tally;
mod text;
pub mod tree;
mod tree_columns;

#[cfg(test)]
mod tests;

pub use columns::{OpColumns, OpText};
pub use coverage::Coverage;
pub use custom_call::CustomCall;
pub use grouping::{Grouping, Groups};
pub use section::section;
pub use tally::{Tallies, Tally};
pub use text::{Text, Texts};
pub use tree_columns::{NodeText, TreeColumns};

use crate::categories::OpFamily;
pub use crate::device_time::async_pairs::PairRole;
use crate::devices::{Device, Devices};
use base::Ps;
use hlo::{DataType, Modules};
use trace::{ArgsId, MemoryBytes, StrId, Trace};

/// What all ops together are called, where they stand among them.
pub const PROGRAM: &str = "Program";

/// Where FLOPs and bytes of an op come from.
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
    /// The report's spelling.
    pub fn label(self) -> &'static str {
        match self {
            CostSource::Profile => "profile",
            CostSource::Hlo => "hlo",
            CostSource::Shapes => "from shapes",
        }
    }
}

/// One op. Sums are over all its occurrences on all devices.
#[derive(Clone, Copy, Debug)]
pub struct Op {
    /// Number of the program.
    pub program_id: Option<i64>,
    /// Number of the program as XProf writes it: without a sign.
    pub program: Text,
    /// Name of the program (`jit_train_step`), empty where unknown.
    pub module: Text,
    /// XLA's category.
    pub category: Text,
    /// What the op does, coarsely: its colour. Known by kernel names too, where the category says only `custom-call`.
    pub family: OpFamily,
    /// Name of the instruction, else of the kernel.
    pub name: Text,
    /// Full expression of the op, empty where unknown.
    pub expression: Text,
    /// The framework's path (`jit(f)/layer_3/attn/dot_general`), empty where unknown.
    pub framework_path: Text,
    /// Source file and line, empty where unknown.
    pub source: Text,
    /// Name of the instruction that it is an equal copy of, empty where it is none.
    pub deduplicated_name: Text,
    /// How its result is spread over devices, as HLO text; empty where the program does not say it.
    pub sharding: Text,
    /// An argument set of its events.
    pub args: ArgsId,
    /// How often the op started in the window (on GPUs: kernels).
    pub occurrences: u64,
    /// How often the instruction was executed: less than `occurrences` where a library call launches several kernels.
    pub executions: u64,
    /// Summed durations.
    pub total: Ps,
    /// Time in which no op that started later ran on the op's line; see [`self_times`](crate::self_times).
    pub self_time: Ps,
    /// Shortest duration.
    pub min: Ps,
    /// Longest duration.
    pub max: Ps,
    /// Time in which it waited for a copy of its operands or results; `None` where the trace states it of no op.
    pub dma_stall: Option<Ps>,
    /// FLOPs of all occurrences.
    pub flops: Option<f64>,
    /// FLOPs of the model's arithmetic alone.
    pub model_flops: Option<f64>,
    /// Bytes read and written by all occurrences.
    pub bytes: Option<f64>,
    /// Bytes of one occurrence by memory, where the profile splits them.
    pub memory: Option<MemoryBytes>,
    /// Where FLOPs and bytes come from.
    pub cost_source: Option<CostSource>,
    /// Set if the op is a call of code that the compiler did not make.
    pub custom_call: Option<CustomCall>,
    /// Type of the main arithmetic's operands.
    pub data_type: Option<DataType>,
    /// Whether the op was computed again to save memory; `None` where neither name nor path says it.
    pub rematerialized: Option<bool>,
    /// What occurrences cut by an edge of the window lack to whole ones, in billionths; see [`Tally::missing`].
    pub missing: i64,
    /// Used devices that the op ran on.
    pub devices: u32,
    /// It copies between the memory of the device and that of the host, or waits for such a copy.
    pub over_host_link: bool,
    /// Set for one op of an asynchronous pair (`copy-start` and `copy-done`): its work is the pair's.
    pub pair: Option<Pair>,
}

/// What one op of an asynchronous pair has to do with the work of the pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pair {
    /// Does the op start the work, or wait for it?
    pub role: PairRole,
    /// Pairs that were found.
    pub count: u64,
    /// Time of the pairs, each from the start of the op that starts it to the end of the op that waits for it.
    pub time: Ps,
    /// Whether the other op of the pair states the cost too, which counts once.
    pub repeats: bool,
}

impl Op {
    /// In which time the op's FLOPs were done and its bytes were moved: all its occurrences, or for an op of a pair
    /// from start to end of the pairs (where some were cut off, as long for them as for the others). Zero where no pair
    /// was found.
    pub fn work_time(&self) -> Ps {
        let Some(pair) = self.pair else { return self.total };
        let all = i128::from(pair.time.as_ps()) * i128::from(self.occurrences);
        Ps::new(i64::try_from(all / i128::from(pair.count.max(1))).unwrap_or(i64::MAX))
    }

    /// Is it a custom call whose cost is unknown? Rates, roofline and utilisation leave it out.
    pub fn is_uncosted_call(&self) -> bool {
        self.custom_call.is_some() && self.cost_source.is_none()
    }

    /// Is the op's cost left out of sums? That of an op that waits is counted with the op that started the work; that
    /// of an op without its other half was not done within the capture.
    pub fn is_left_out(&self) -> bool {
        self.pair.is_some_and(|pair| pair.repeats || pair.count == 0)
    }

    /// FLOPs per second over the time of the work; absent for an op of no time.
    pub fn flops_per_second(&self) -> Option<f64> {
        rate(self.flops?, self.work_time())
    }

    /// FLOPs of the model's arithmetic a second.
    pub fn model_flops_per_second(&self) -> Option<f64> {
        rate(self.model_flops.or(self.flops)?, self.work_time())
    }

    /// Bytes per second over the time of the work, all memories together.
    pub fn bytes_per_second(&self) -> Option<f64> {
        rate(self.bytes?, self.work_time())
    }

    /// Bytes per second to and from the device's main memory: all bytes where the profile does not split them.
    pub fn hbm_bytes_per_second(&self) -> Option<f64> {
        rate(self.hbm_bytes()?, self.work_time())
    }

    /// Bytes of all occurrences to and from the device's main memory.
    pub fn hbm_bytes(&self) -> Option<f64> {
        match self.memory {
            Some(memory) => Some(self.of_all(memory.hbm_read.saturating_add(memory.hbm_write))),
            None => self.bytes,
        }
    }

    /// FLOPs per byte; absent where no byte is moved.
    pub fn intensity(&self) -> Option<f64> {
        let (flops, bytes) = (self.flops?, self.bytes?);
        (bytes > 0.0).then(|| flops / bytes)
    }

    /// Occurrences for which the op's cost counts: those that an edge of the window cuts count as the part that is left.
    fn occurrences_of_cost(&self) -> f64 {
        self.occurrences as f64 + self.missing as f64 / 1e9
    }

    /// Executions for which it does.
    fn executions_of_cost(&self) -> f64 {
        let kernels = if self.executions > 0 { self.occurrences as f64 / self.executions as f64 } else { 1.0 };
        self.executions as f64 + self.missing as f64 / 1e9 / kernels
    }

    /// What one occurrence has, for all of them.
    pub fn of_all(&self, one: i64) -> f64 {
        one as f64 * self.occurrences_of_cost()
    }
}

/// In which time several ops did their work: their self time, so that rates of a program and of its ops are of one kind. Copies beside
/// computation add nothing, since the time from the start of a pair to its end is other ops' time too; ops that are all halves of pairs
/// have that time instead.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WorkTime {
    self_time: Ps,
    /// Part of the self time that is of ops of pairs.
    of_pairs: Ps,
    /// From start to end of the pairs, each once.
    in_flight: Ps,
}

impl WorkTime {
    /// Adds an op; `counts` where its work is in the sum, which of a pair that states it twice is once.
    pub fn add(&mut self, op: &Op, counts: bool) {
        self.self_time += op.self_time;
        if op.pair.is_some() {
            self.of_pairs += op.self_time;
            self.in_flight += if counts { op.work_time() } else { Ps::ZERO };
        }
    }

    /// The time.
    pub fn time(self) -> Ps {
        if self.of_pairs == self.self_time { self.in_flight } else { self.self_time }
    }
}

/// Amount a second; absent for no time.
pub fn rate(amount: f64, time: Ps) -> Option<f64> {
    (time > Ps::ZERO).then(|| amount / (time.as_ps() as f64 * 1e-12))
}

/// All ops of a run.
#[derive(Clone, Debug, Default)]
pub struct Ops {
    /// Ops by descending self time.
    pub rows: Vec<Op>,
    /// The row of every name and argument set that events of ops have, in order of first occurrence.
    pub entries: Vec<((StrId, ArgsId), u32)>,
    /// Texts of the rows that are not the trace's own.
    pub texts: Texts,
    /// The windows of the used devices, added up.
    pub device_time: Ps,
    /// Self time of all ops.
    pub op_time: Ps,
    /// Time of the windows in which devices ran nothing.
    pub idle: Ps,
}

impl Ops {
    /// The ops that `tallies` counted, with what the embedded modules say of them.
    pub fn new(trace: &Trace, devices: &Devices, tallies: &Tallies, modules: &Modules) -> Ops {
        let mut ops = resolve::resolve(trace, devices, tallies, modules);
        ops.device_time = devices.used.iter().map(|device| device.window.length()).sum();
        in_flight::find_pairs(trace, devices, &mut ops);
        ops.op_time = ops.rows.iter().map(|op| op.self_time).sum();
        ops.idle = devices.used.iter().map(Device::idle).sum();
        ops
    }

    /// Text of a row.
    pub fn text<'t>(&'t self, trace: &'t Trace, text: Text) -> &'t str {
        self.texts.get(trace, text)
    }
}
