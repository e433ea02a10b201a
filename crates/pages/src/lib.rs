//! Pages of a run as data: each page is a list of figures, charts and tables. Each page has one source file, and the
//! same name in code, docs and URLs. The web page only draws the blocks.
//!
//! The same code makes the pages of runs that were read from a trace and of runs that were imported from an earlier
//! result. If the profile contains a number, pages show that number and do not compute it again. Without events, pages
//! omit data that requires events. If nothing is left, the page states the reason.

#![warn(clippy::indexing_slicing, clippy::panic, clippy::unwrap_used)]

mod category;
mod checklist;
mod columns;
mod communication;
pub mod compare;
mod device_map;
mod devices;
pub mod environment;
mod evidence;
mod experts;
mod filter;
mod findings;
mod goodput;
mod hardware;
mod headlines;
mod host;
mod input;
mod kernels;
pub mod lake_trends;
mod layers;
mod live_memory;
pub mod memory;
mod most_time;
mod no_rows;
pub mod op_changes;
mod ops;
mod overview;
mod pipeline;
mod program_graph;
mod roofline;
mod row;
mod run_facts;
mod search;
pub mod sections;
mod serving;
mod source;
mod steps;
pub mod timeline;
mod transfers;
pub mod warning;

pub use columns::option as columns_option;
pub use program_graph::NO_PROGRAMS;
pub use report::View;
pub use row::row;
pub use search::{Found, FoundKind, search};
pub use source::Source;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use document::{Block, ColourClass, ColumnBlock, Page, RowName, TableBlock};
use filter::Applied;
use metrics::{Context, family_of};
use table::{Cell, Column, Query, Sorts, Table, query};
use tables::TableName;

/// Maximum number of rows of a table on a page. The user can find other rows with a filter.
const TABLE_ROWS: u32 = 1000;

/// Request for a page: the filter of the view and the selected options.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PageQuery {
    /// Filter of the view; see [`table::Filter`].
    #[serde(default)]
    pub filter: String,
    /// Sort orders of the tables, by table name.
    #[serde(default)]
    pub sorts: Sorts,
    /// Selected options, by [`document::Choice::option`].
    #[serde(default)]
    pub options: BTreeMap<String, String>,
}

impl PageQuery {
    /// Returns the selected value of an option if it is one of `values`. Otherwise, returns the first of these values.
    pub fn chosen<'v>(&self, option: &str, values: &[&'v str]) -> &'v str {
        let chosen = self.options.get(option);
        let known = values.iter().find(|&&value| chosen.is_some_and(|chosen| chosen == value));
        known.or(values.first()).copied().unwrap_or("")
    }
}

/// Returns the page of a view.
pub fn page(source: Source<'_>, view: View, query: &PageQuery) -> Page {
    if let Some(trends) = source.trends() {
        return match trends {
            Ok(trends) => lake_trends::page(trends, query),
            Err(reason) => Page { blocks: vec![Block::Empty { reason: reason.to_owned(), remedy: None }] },
        };
    }
    let mut blocks = match view {
        View::Overview => overview::blocks(source, query),
        View::Findings => findings::blocks(source, query),
        View::Steps => steps::blocks(source, query),
        View::Serving => serving::blocks(source, query),
        // An analyst draws the picture.
        View::Timeline => timeline::blocks(source).unwrap_or_else(|absent| vec![absent.into()]),
        View::Layers => layers::blocks(source, query),
        View::Ops => ops::blocks(source, query).unwrap_or_else(|absent| vec![absent.into()]),
        View::Kernels => kernels::blocks(source, query),
        View::Roofline => roofline::blocks(source, query),
        View::Communication => communication::blocks(source, query),
        View::Transfers => transfers::blocks(source, query),
        View::Input => input::blocks(source, query),
        View::Devices => devices::blocks(source, query),
        View::Checklist => checklist::blocks(source, query),
        View::Memory => memory::blocks(source, query),
        // The page draws programs itself.
        View::Graph => program_graph::blocks(source),
        View::Model => Vec::new(),
    };
    let is_jax =
        !matches!(source.profile().metadata.framework(), trace::Framework::TensorFlow | trace::Framework::PyTorch);
    for block in &mut blocks {
        match block {
            // JAX code does not help users of other frameworks.
            Block::Empty { remedy, .. } => *remedy = remedy.take().filter(|it| is_jax || !it.contains("jax.")),
            // Numbers in an imported document may be so large that their sums and products are not finite.
            Block::Figures { figures } => {
                figures.iter_mut().for_each(|figure| figure.value = figure.value.filter(|value| value.is_finite()));
            }
            Block::Bars(bars) => bars.bars.retain(|bar| bar.value.is_finite()),
            Block::Stack(stack) => stack.rows.retain(|row| row.parts.iter().all(|part| part.is_finite())),
            _ => {}
        }
    }
    Page { blocks }
}

/// Returns a table with the page's filter and order.
pub fn table_block(
    context: &Context<'_>,
    name: TableName,
    variant: &str,
    title: &str,
    page_query: &PageQuery,
) -> TableBlock {
    let rows = tables::rows(context, name, variant);
    table_block_of(name, variant, title, page_query, rows.columns(), &mut |asked| query(&*rows, asked))
}

/// Returns a table whose rows this module cannot read. `columns` are the table's columns, and `ask` runs queries on the
/// table.
pub fn table_block_of(
    name: TableName,
    variant: &str,
    title: &str,
    page_query: &PageQuery,
    columns: &[Column],
    ask: &mut dyn FnMut(&Query) -> Table,
) -> TableBlock {
    let sort = page_query.sorts.get(name.key()).cloned();
    let Applied { filter, lacking } = filter::applied(&page_query.filter, columns);
    let table = ask(&Query { filter: filter.clone(), sort: sort.clone(), top: Some(TABLE_ROWS) });
    let classes = classes(&table);
    let is_empty = table.matched_rows == 0 && table.total_rows > 0;
    let why_none = if is_empty { no_rows::why(&filter, columns, ask) } else { String::new() };
    let mut block = TableBlock {
        variant: variant.to_owned(),
        title: title.to_owned(),
        columns: table.columns.iter().map(ColumnBlock::from).collect(),
        rows: table.rows,
        matched_rows: table.matched_rows,
        total_rows: table.total_rows,
        sort,
        filter,
        lacking,
        why_none,
        classes,
        row_name: row_name(name, variant),
        ..TableBlock::empty(name)
    };
    columns::arrange(&mut block, page_query);
    block
}

/// Returns the categories of the rows with their colours.
fn classes(table: &Table) -> Vec<(String, ColourClass)> {
    let mut found: Vec<(String, ColourClass)> = Vec::new();
    let Some(at) = table.columns.iter().position(|column| column.key == "category") else { return found };
    for row in &table.rows {
        if let Some(Cell::Text(category)) = row.get(at)
            && found.iter().all(|(known, _)| known != category)
        {
            found.push((category.clone(), family_of(category).into()));
        }
    }
    found
}

/// Returns the filter that a click on a row sets on all views.
fn row_name(name: TableName, variant: &str) -> Option<RowName> {
    let form = match variant.split_once(':').map_or(variant, |(form, _)| form) {
        "" => name.forms().first().copied().unwrap_or_default(),
        form => form,
    };
    let found = name.shown().row_key(form)?;
    let columns = found.columns.iter().map(|&column| column.to_owned()).collect();
    Some(RowName { key: found.key.to_owned(), columns })
}

#[cfg(test)]
mod tests;
