//! The texts of all kernels by number, column by column: what a filter or an order asks of every row. Made when the first
//! question comes, and kept.

use super::{KernelRow, KernelStats};
use crate::labels::Labels;
use crate::ops::{Text, Texts};
use trace::{Trace, in_blocks};

type Told = fn(&KernelRow) -> Text;

/// The texts that kernels have, by the keys of the table's columns.
const TEXTS: [(&str, Told); 7] = [
    ("kernel_name", |it| it.name),
    ("short_name", |it| it.short_name),
    ("op_name", |it| it.op_name),
    ("hlo_op_name", |it| it.hlo_op),
    ("hlo_module", |it| it.hlo_module),
    ("grid_dim", |it| it.grid),
    ("block_dim", |it| it.block),
];

/// The columns, by row of [`KernelStats::kernels`].
#[derive(Clone, Debug, Default)]
pub struct KernelColumns {
    texts: [Vec<u32>; TEXTS.len()],
    labels: Labels,
    families: Vec<u32>,
    data_types: Vec<u32>,
}

impl KernelColumns {
    /// Columns of these kernels.
    pub fn new(trace: &Trace, stats: &KernelStats) -> KernelColumns {
        let mut columns = KernelColumns { labels: Labels::new(stats.texts.count(trace)), ..KernelColumns::default() };
        columns.texts.iter_mut().for_each(|numbers| numbers.reserve_exact(stats.kernels.len()));
        in_blocks(&stats.kernels, |kernel| {
            for (numbers, (_, text)) in columns.texts.iter_mut().zip(TEXTS) {
                numbers.push(Texts::number(trace, text(kernel)));
            }
            columns.families.push(columns.labels.number(Some(kernel.family.label())));
            columns.data_types.push(columns.labels.number(kernel.data_type));
        });
        columns
    }

    /// Numbers of the texts of a column of the table, where it is one of these.
    pub fn texts(&self, key: &str) -> Option<&[u32]> {
        match key {
            "family" => Some(&self.families),
            "data_type" => Some(&self.data_types),
            _ => {
                let at = TEXTS.iter().position(|(known, _)| *known == key)?;
                self.texts.get(at).map(Vec::as_slice)
            }
        }
    }

    /// Families and data types; their numbers follow those of the kernels' texts.
    pub fn labels(&self) -> &Labels {
        &self.labels
    }
}
