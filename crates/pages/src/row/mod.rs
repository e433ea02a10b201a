//! Details of one table row: its links and its main columns. The code of an op comes before its numbers. All other
//! columns are folded.

mod code;
mod op;

use crate::{Source, row_name};
use base::format::{counted, printable};
use document::{Block, Fact, Facts, Link, Page};
use report::View;
use table::{Cell, Column, Query, Table, Unit, query, unit};
use tables::TableName;

/// Longest text that can serve as the name of a row. Longer texts are descriptions.
const LONGEST_NAME: usize = 200;

/// Returns the details of the row with this index in the result of `asked`. Empty if there is no such row.
pub fn row(source: Source<'_>, name: TableName, variant: &str, asked: &Query, index: u32) -> Page {
    let asked = Query { top: Some(index.saturating_add(1)), ..asked.clone() };
    let table = query(&*source.rows_of_window(name, variant), &asked);
    let Some(cells) = table.rows.get(index as usize) else { return Page::default() };
    let row = ChosenRow { table: &table, cells, name, variant };
    let op = source.context().and_then(|context| op::Op::of(context, &row));
    let mut links: Vec<(String, Link)> = op.iter().flat_map(op::Op::links).collect();
    links.extend(row.links(source));
    let mut blocks = row.head(links);
    blocks.extend(op.iter().flat_map(op::Op::code));
    blocks.extend(op.as_ref().and_then(op::Op::figures));
    blocks.extend(row.facts(op.as_ref()));
    blocks.extend(op.iter().flat_map(op::Op::blocks));
    blocks.extend(row.folded(op.as_ref()));
    Page { blocks }
}

/// Returns the details of a row from the table and `links` alone. Empty if the row does not exist.
pub(crate) fn plain(
    table: &Table,
    name: TableName,
    variant: &str,
    index: u32,
    links: impl Fn(&ChosenRow<'_>) -> Vec<(String, Link)>,
) -> Page {
    let Some(cells) = table.rows.get(index as usize) else { return Page::default() };
    let row = ChosenRow { table, cells, name, variant };
    let mut blocks = row.head(links(&row));
    blocks.extend(row.facts(None));
    blocks.extend(row.folded(None));
    Page { blocks }
}

/// One row of a table.
pub(crate) struct ChosenRow<'t> {
    table: &'t Table,
    cells: &'t [Cell],
    name: TableName,
    variant: &'t str,
}

impl ChosenRow<'_> {
    fn cell(&self, key: &str) -> Option<&Cell> {
        self.cells.get(self.table.columns.iter().position(|column| column.key == key)?)
    }

    /// Returns the text of a column. Returns `None` if the text is empty.
    pub(crate) fn text(&self, key: &str) -> Option<&str> {
        match self.cell(key)? {
            Cell::Text(text) if !text.is_empty() => Some(text),
            _ => None,
        }
    }

    /// Returns the key and the value by which a filter finds the row.
    fn found_by(&self) -> Option<(String, &str)> {
        let name = row_name(self.name, self.variant)?;
        let value = name.columns.iter().find_map(|key| self.text(key))?;
        Some((name.key, value))
    }

    fn title(&self) -> String {
        let first =
            || self.cells.iter().find_map(|cell| if let Cell::Text(text) = cell { Some(text.as_str()) } else { None });
        // An op may have several kernels.
        let kernel = self.text("kernel_name").filter(|_| self.name == TableName::Kernels);
        let title = kernel.or(self.found_by().map(|(_, value)| value)).or_else(first).unwrap_or_default();
        base::format::shorten(&printable(title), LONGEST_NAME)
    }

    /// Returns the title with the links below it.
    fn head(&self, links: Vec<(String, Link)>) -> Vec<Block> {
        let links = (!links.is_empty()).then_some(Block::Links { links });
        std::iter::once(Block::Heading { text: self.title(), note: None }).chain(links).collect()
    }

    /// Returns links to other views of the row's subject, with descriptions.
    fn links(&self, source: Source<'_>) -> Vec<(String, Link)> {
        let Some((key, value)) = self.found_by().filter(|(key, _)| key == "hlo_op_name") else { return Vec::new() };
        let Some(context) = source.context() else { return Vec::new() };
        let is_communication = context.profile.communication.is_some() && self.is_collective();
        let of = |view: View| Link::equal(view, &key, value).map(|link| (link.title(), link));
        [
            (View::Ops, self.name != TableName::Ops),
            (View::Kernels, self.name != TableName::Kernels),
            (View::Roofline, self.name != TableName::Roofline),
            (View::Communication, is_communication),
            (View::Steps, true),
        ]
        .into_iter()
        .filter(|(_, is_other)| *is_other)
        .filter_map(|(view, _)| of(view))
        .collect()
    }

    fn is_collective(&self) -> bool {
        let category = self.text("category").unwrap_or_default();
        metrics::family_of(category) == metrics::OpFamily::Communication
    }

    /// Lists the leading columns of the table, and the values that are missing.
    fn facts(&self, op: Option<&op::Op<'_>>) -> Option<Block> {
        let mut facts: Vec<Fact> = self.cells_of(op, true).filter_map(fact).collect();
        facts.extend(op.and_then(op::Op::unknown_bound));
        (!facts.is_empty()).then(|| Block::Facts(Facts { title: String::new(), facts }))
    }

    /// Lists all other columns, folded.
    fn folded(&self, op: Option<&op::Op<'_>>) -> Option<Block> {
        let facts: Vec<Fact> = self.cells_of(op, false).filter_map(fact).collect();
        let title = format!("{} of the table", counted(facts.len() as u64, "more column"));
        (!facts.is_empty())
            .then(|| Block::Fold { title, blocks: vec![Block::Facts(Facts { title: String::new(), facts })] })
    }

    /// Returns the cells of the leading columns if `leads` is true, and otherwise the cells of the other columns.
    /// Excludes columns that the code of an op shows.
    fn cells_of(&self, op: Option<&op::Op<'_>>, leads: bool) -> impl Iterator<Item = (&Column, &Cell)> {
        let first = self.name.shown().leading;
        let has_code = op.is_some();
        self.table.columns.iter().zip(self.cells).filter(move |(column, _)| {
            let is_first = first.is_empty() || first.contains(&column.key);
            is_first == leads && !(has_code && code::COLUMNS.contains(&column.key))
        })
    }
}

/// Formats a column for display. Returns `None` for an empty cell.
fn fact((column, cell): (&Column, &Cell)) -> Option<Fact> {
    let value = match cell {
        Cell::Absent | Cell::Flag(false) => return None,
        Cell::Text(text) if text.is_empty() => return None,
        Cell::Text(text) => printable(text),
        Cell::Flag(true) => "yes".to_owned(),
        Cell::Int(value) => unit::short(*value as f64, column.unit),
        Cell::Float(value) => unit::short(*value, column.unit),
    };
    let definition = match cell {
        Cell::Int(value) if column.unit != Unit::Count => exactly(column.definition, *value as f64, column.unit),
        Cell::Float(value) => exactly(column.definition, *value, column.unit),
        _ => base::fields::plain(column.definition),
    };
    Some(Fact { label: column.title.to_owned(), value, definition })
}

/// Returns the value with four digits, and the definition on the next line.
fn exactly(definition: &str, value: f64, of: Unit) -> String {
    format!("{}\n{}", unit::precise(value, of), base::fields::plain(definition))
}

#[cfg(test)]
mod tests;
