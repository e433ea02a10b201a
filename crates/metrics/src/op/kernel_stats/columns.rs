//! Stores the texts of all kernels as columns of numbers, so that filters and sorting over all rows are fast. The
//! columns are built on first use and then cached.

use super::{KernelRow, KernelStats};
use crate::common::labels::Labels;
use crate::op::ops::{Text, Texts};
use trace::{Trace, in_blocks};

type TextOf = fn(&KernelRow) -> Text;

/// Keys of the table's text columns, each with the function that returns the text of a row.
const TEXTS: [(&str, TextOf); 7] = [
    ("kernel_name", |it| it.name),
    ("short_name", |it| it.short_name),
    ("op_name", |it| it.op_name),
    ("hlo_op_name", |it| it.hlo_op),
    ("hlo_module", |it| it.hlo_module),
    ("grid_dim", |it| it.grid),
    ("block_dim", |it| it.block),
];

/// The columns, with one entry per row of [`KernelStats::kernels`].
#[derive(Clone, Debug, Default)]
pub struct KernelColumns {
    texts: [Vec<u32>; TEXTS.len()],
    labels: Labels,
    families: Vec<u32>,
    data_types: Vec<u32>,
}

impl KernelColumns {
    /// Builds the columns of these kernels.
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

    /// Returns the number of each kernel's text in a table column, or `None` if the column contains no texts.
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

    /// Returns the families and data types. The numbers of these labels start after the numbers of the kernels' texts.
    pub fn labels(&self) -> &Labels {
        &self.labels
    }
}
