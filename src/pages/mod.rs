//! The pages of a run as values: which figures, charts and tables each shows. One page, one file, the same name in code,
//! docs and addresses. The web page only draws the blocks.

mod block;
mod communication;
pub mod compare;
mod findings;
mod kernels;
mod ops;
mod roofline;
mod steps;
mod transfers;

pub use block::{
    Bar, Bars, Block, Choice, ColumnBlock, Figure, FindingBlock, Grid, GridCell, Icicle, Line, Link, Matrix, Node,
    Page, Point, Scatter, Series, Stack, StackRow, TableBlock, Waterfall, WaterfallPart,
};

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::analysis::Context;
use crate::table::{Query, Sort, query};
use crate::tables::{self, TableName};

/// Rows of a table that a page shows: a filter finds the others.
const TABLE_ROWS: u32 = 1000;

/// What a page is asked for: the filter of the view and what was chosen on it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PageQuery {
    /// See [`crate::table::Filter`].
    #[serde(default)]
    pub filter: String,
    /// The order of its tables by their names.
    #[serde(default)]
    pub sorts: BTreeMap<String, Sort>,
    /// What was chosen, by [`Choice::option`].
    #[serde(default)]
    pub options: BTreeMap<String, String>,
}

impl PageQuery {
    /// The chosen value of an option: one of `values`, the first where none of them was chosen.
    pub fn chosen<'v>(&self, option: &str, values: &[&'v str]) -> &'v str {
        let chosen = self.options.get(option);
        let known = values.iter().find(|&&value| chosen.is_some_and(|chosen| chosen == value));
        known.or(values.first()).copied().unwrap_or("")
    }
}

/// The page with this name in addresses; `None` where there is none.
pub fn page(context: &Context<'_>, view: &str, query: &PageQuery) -> Option<Page> {
    Some(match view {
        "communication" => communication::page(context, query),
        "findings" => findings::page(context, query),
        "ops" => ops::page(context, query),
        "roofline" => roofline::page(context, query),
        "steps" => steps::page(context, query),
        "kernels" => kernels::page(context, query),
        "transfers" => transfers::page(context, query),
        _ => return None,
    })
}

/// A table with the page's filter and order.
pub fn table_block(
    context: &Context<'_>,
    name: TableName,
    variant: &str,
    title: &str,
    page_query: &PageQuery,
) -> TableBlock {
    let sort = page_query.sorts.get(name.key()).cloned();
    let asked = Query { filter: page_query.filter.clone(), sort: sort.clone(), top: Some(TABLE_ROWS) };
    let table = query(&*tables::rows(context, name, variant), &asked);
    TableBlock {
        table: name.key().to_owned(),
        variant: variant.to_owned(),
        title: title.to_owned(),
        columns: table.columns.iter().map(ColumnBlock::from).collect(),
        rows: table.rows,
        matched_rows: table.matched_rows,
        total_rows: table.total_rows,
        sort,
    }
}
