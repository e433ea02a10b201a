//! Measures, in one pass, how many ops have a known cost and other known values.

use super::{CostSource, Op, Ops};
use base::Ps;
use trace::in_blocks;

/// How much of the ops' cost is known, and which kinds of values any op has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Coverage {
    /// Occurrences of all ops.
    pub occurrences: u64,
    /// Self time of the ops whose cost is known.
    pub cost_known: Ps,
    /// Self time of the ops whose cost was computed from the shapes of a library call.
    pub cost_from_shapes: Ps,
    /// True if any op has FLOPs.
    pub flops: bool,
    /// True if any op has bytes.
    pub bytes: bool,
    /// True if the bytes of any op are split by memory.
    pub memory: bool,
    /// True if any op has an expression.
    pub expression: bool,
    /// True if any op has a program id.
    pub program: bool,
    /// True if any op has a source line.
    pub source: bool,
}

impl Coverage {
    /// Computes the coverage of these ops.
    pub fn of(ops: &Ops) -> Coverage {
        let mut all = Coverage::default();
        in_blocks(&ops.rows, |op| all.add(op));
        all
    }

    /// Adds an op.
    pub fn add(&mut self, op: &Op) {
        self.occurrences += op.occurrences;
        if let Some(source) = op.cost_source {
            self.cost_known += op.self_time;
            self.cost_from_shapes += if source == CostSource::Shapes { op.self_time } else { Ps::ZERO };
        }
        self.flops |= op.flops.is_some();
        self.bytes |= op.bytes.is_some();
        self.memory |= op.memory.is_some();
        self.expression |= !op.expression.is_empty();
        self.program |= !op.program.is_empty();
        self.source |= !op.source.is_empty();
    }
}
