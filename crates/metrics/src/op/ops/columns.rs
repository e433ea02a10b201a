//! Stores the values of every op that queries need, column by column. The rows of a million ops take 250 MB, and a
//! query needs only a few bytes of each row. The columns are built on first use and then cached.

use super::{Op, Ops, Text, Texts};
use base::Ps;
use trace::{Trace, in_blocks};

/// A text of an op.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OpText {
    /// See [`Op::name`].
    Name,
    /// See [`Op::category`].
    Category,
    /// See [`Op::framework_path`].
    FrameworkPath,
    /// See [`Op::source`].
    Source,
    /// See [`Op::program`].
    Program,
    /// See [`Op::module`].
    Module,
    /// See [`Op::expression`].
    Expression,
    /// See [`Op::sharding`].
    Sharding,
}

impl OpText {
    const ALL: [OpText; 8] = [
        OpText::Name,
        OpText::Category,
        OpText::FrameworkPath,
        OpText::Source,
        OpText::Program,
        OpText::Module,
        OpText::Expression,
        OpText::Sharding,
    ];

    /// Returns this text of an op.
    pub fn of(self, op: &Op) -> Text {
        match self {
            OpText::Name => op.name,
            OpText::Category => op.category,
            OpText::FrameworkPath => op.framework_path,
            OpText::Source => op.source,
            OpText::Program => op.program,
            OpText::Module => op.module,
            OpText::Expression => op.expression,
            OpText::Sharding => op.sharding,
        }
    }
}

/// The columns, with one entry per row of [`Ops::rows`].
#[derive(Clone, Debug, Default)]
pub struct OpColumns {
    texts: [Vec<u32>; OpText::ALL.len()],
    cumulative: Vec<Ps>,
    occurrences: Vec<u64>,
}

impl OpColumns {
    /// Builds the columns of these ops.
    pub fn new(trace: &Trace, ops: &Ops) -> OpColumns {
        let mut columns = OpColumns::default();
        columns.texts.iter_mut().for_each(|numbers| numbers.reserve_exact(ops.rows.len()));
        columns.cumulative.reserve_exact(ops.rows.len());
        columns.occurrences.reserve_exact(ops.rows.len());
        let mut sum = Ps::ZERO;
        in_blocks(&ops.rows, |op| {
            for (numbers, text) in columns.texts.iter_mut().zip(OpText::ALL) {
                numbers.push(Texts::number(trace, text.of(op)));
            }
            sum += op.self_time;
            columns.cumulative.push(sum);
            columns.occurrences.push(op.occurrences);
        });
        columns
    }

    /// Returns the number of this text for each op.
    pub fn texts(&self, text: OpText) -> &[u32] {
        self.texts.get(text as usize).map(Vec::as_slice).unwrap_or_default()
    }

    /// Returns the cumulative self times: for each op, the self time of this op and of all ops in the rows above.
    pub fn cumulative(&self) -> &[Ps] {
        &self.cumulative
    }

    /// Returns the self time and the occurrences of an op.
    #[inline]
    pub fn time(&self, row: usize) -> (Ps, u64) {
        let sum = |row: usize| self.cumulative.get(row).copied().unwrap_or_default();
        let above = row.checked_sub(1).map(sum).unwrap_or_default();
        (Ps::new(sum(row).as_ps() - above.as_ps()), self.occurrences.get(row).copied().unwrap_or_default())
    }
}
