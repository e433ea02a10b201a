//! Stores the labels of all ops as columns of numbers. The labels are built on first use and then cached, because
//! placing a million ops on the roofline takes longer than a query.

use super::{Bound, Roofline};
use crate::common::labels::Labels;
use crate::op::ops::{CostSource, Op, Ops};
use trace::{Trace, in_blocks};

/// A label of an op.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OpLabel {
    /// Limiting resource of the op, if it is known.
    Bound,
    /// Limiting resource of the op, or "unknown" if only the peaks are known.
    BoundOrUnknown,
    /// See [`Op::data_type`].
    DataType,
    /// See [`Op::cost_source`].
    CostSource,
    /// The arithmetic whose peak the op is compared with.
    PeakDataType,
    /// See [`Op::family`].
    Family,
}

impl OpLabel {
    const ALL: [OpLabel; 6] = [
        OpLabel::Bound,
        OpLabel::BoundOrUnknown,
        OpLabel::DataType,
        OpLabel::CostSource,
        OpLabel::PeakDataType,
        OpLabel::Family,
    ];
}

/// The columns, with one entry per row of [`Ops::rows`].
#[derive(Clone, Debug, Default)]
pub struct OpLabels {
    labels: Labels,
    columns: [Vec<u32>; OpLabel::ALL.len()],
}

impl OpLabels {
    /// Builds the labels of these ops. The labels' numbers start after the numbers of the ops' texts.
    pub fn new(trace: &Trace, ops: &Ops, roofline: &Roofline) -> OpLabels {
        let mut labels = Labels::new(ops.texts.count(trace));
        let mut columns: [Vec<u32>; OpLabel::ALL.len()] = Default::default();
        columns.iter_mut().for_each(|numbers| numbers.reserve_exact(ops.rows.len()));
        in_blocks(&ops.rows, |op: &Op| {
            let bound = roofline.bound(op);
            for (numbers, label) in columns.iter_mut().zip(OpLabel::ALL) {
                numbers.push(labels.number(match label {
                    OpLabel::Bound => bound.filter(|&bound| bound != Bound::Unknown).map(Bound::label),
                    OpLabel::BoundOrUnknown => bound.map(Bound::label),
                    OpLabel::DataType => op.data_type.map(|data_type| data_type.name()),
                    OpLabel::CostSource => op.cost_source.map(CostSource::label),
                    OpLabel::PeakDataType => roofline.arithmetic(op).map(|arithmetic| arithmetic.label()),
                    OpLabel::Family => Some(op.family.label()),
                }));
            }
        });
        if let Some(point) = roofline.program_point() {
            labels.number(Some(point.bound_by.label()));
        }
        OpLabels { labels, columns }
    }

    /// Returns the number of this label for all ops.
    pub fn column(&self, label: OpLabel) -> &[u32] {
        self.columns.get(label as usize).map(Vec::as_slice).unwrap_or_default()
    }

    /// Returns this label of an op.
    pub fn of_row(&self, label: OpLabel, row: usize) -> Option<&str> {
        self.labels.get(self.column(label).get(row).copied()?)
    }

    /// Returns all labels.
    pub fn labels(&self) -> &Labels {
        &self.labels
    }
}
