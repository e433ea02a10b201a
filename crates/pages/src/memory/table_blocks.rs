//! Tables of the memory page.

use super::super::filter::{Applied, applied};
use super::KeptMemory;
use crate::{PageQuery, table_block_of};
use document::Block;
use table::{Rows, query};
use tables::{TableName, has_rows_of_memory};

/// Returns the buffers that are alive at the peak, in the selected form.
pub(super) fn buffers(kept: &KeptMemory, asked: &PageQuery) -> Vec<Block> {
    let forms = [("buffer", "Buffers"), ("class", "Classes"), ("scope", "Scopes"), ("source", "Source lines")];
    chosen(kept, TableName::Buffers, ("buffers", "Rows"), &forms, "Buffers alive at the peak, all programs", asked)
}

/// Returns a table in one of its forms, with a button for each form that has rows.
pub(super) fn chosen(
    kept: &KeptMemory,
    name: TableName,
    (option, label): (&str, &str),
    forms: &[(&str, &str)],
    title: &str,
    asked: &PageQuery,
) -> Vec<Block> {
    let forms = forms.iter().filter(|(form, _)| has_rows_of_memory(kept.recorded(), name, form));
    let forms = forms.map(|&(form, title)| (form.to_owned(), title.to_owned())).collect();
    let (form, buttons) = super::choice(option, label, forms, asked);
    buttons.into_iter().chain(block(kept, name, &form, title, asked)).collect()
}

/// Returns a table with the page's filter and order. Returns `None` if there are no rows.
pub(super) fn block(
    kept: &KeptMemory,
    name: TableName,
    variant: &str,
    title: &str,
    asked: &PageQuery,
) -> Option<Block> {
    let of_rows = |rows: &dyn Rows| {
        let Applied { filter, lacking } = applied(&asked.filter, rows.columns());
        let asked = PageQuery { filter, ..asked.clone() };
        let mut table = table_block_of(name, variant, title, &asked, rows.columns(), &mut |asked| query(rows, asked));
        table.lacking = lacking;
        Block::Table(table)
    };
    kept.rows(name, variant, |rows| (!rows.is_empty()).then(|| of_rows(rows))).flatten()
}
