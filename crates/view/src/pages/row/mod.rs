//! The details of one row of a table: where it leads, what all of its columns say, and of an op what is known beyond the table.

mod op;

use super::{Block, Fact, Facts, Link, Page, Source, View, row_name};
use crate::table::{Cell, Query, Table, Unit, query, unit};
use crate::tables::{self, TableName};
use base::format::printable;

/// A text that is longer than this many characters says what the row is, not what it is called.
const LONGEST_NAME: usize = 200;

/// What is said of the row with this index among those that `asked` gives. Empty where there is none.
pub fn row(source: Source<'_>, name: TableName, variant: &str, asked: &Query, index: u32) -> Page {
    let asked = Query { top: Some(index.saturating_add(1)), ..asked.clone() };
    let table = match source {
        Source::Trace(context) => query(&*tables::rows(&context, name, variant), &asked),
        Source::Profile(profile) => {
            tables::of_report(profile, name).map_or_else(|| tables::empty(name), |table| query(&table, &asked))
        }
    };
    let Some(cells) = table.rows.get(index as usize) else { return Page::default() };
    let row = ChosenRow { table: &table, cells, name, variant };
    let mut blocks = vec![Block::Heading { text: row.title(), note: None }];
    let links = row.links(source);
    if !links.is_empty() {
        blocks.push(Block::Links { links });
    }
    let op = source.context().and_then(|context| op::Op::of(context, &row));
    blocks.extend(op.as_ref().and_then(op::Op::figures));
    let mut facts = row.facts();
    facts.extend(op.iter().flat_map(op::Op::missing));
    blocks.push(Block::Facts(Facts { title: String::new(), facts }));
    blocks.extend(op.iter().flat_map(op::Op::blocks));
    Page { blocks }
}

/// What is said of a row of which no more is known than the table and `links`. Empty where it is not there.
pub fn plain(
    table: &Table,
    name: TableName,
    variant: &str,
    index: u32,
    links: impl Fn(&ChosenRow<'_>) -> Vec<(String, Link)>,
) -> Page {
    let Some(cells) = table.rows.get(index as usize) else { return Page::default() };
    let row = ChosenRow { table, cells, name, variant };
    let mut blocks = vec![Block::Heading { text: row.title(), note: None }];
    let links = links(&row);
    if !links.is_empty() {
        blocks.push(Block::Links { links });
    }
    blocks.push(Block::Facts(Facts { title: String::new(), facts: row.facts() }));
    Page { blocks }
}

/// One row of a table.
pub struct ChosenRow<'t> {
    table: &'t Table,
    cells: &'t [Cell],
    name: TableName,
    variant: &'t str,
}

impl ChosenRow<'_> {
    fn cell(&self, key: &str) -> Option<&Cell> {
        self.cells.get(self.table.columns.iter().position(|column| column.key == key)?)
    }

    /// The text of a column; absent where it is empty.
    pub fn text(&self, key: &str) -> Option<&str> {
        match self.cell(key)? {
            Cell::Text(text) if !text.is_empty() => Some(text),
            _ => None,
        }
    }

    /// The key by which a filter finds the row, and its value.
    fn found_by(&self) -> Option<(String, &str)> {
        let name = row_name(self.name, self.variant)?;
        let value = name.columns.iter().find_map(|key| self.text(key))?;
        Some((name.key, value))
    }

    fn title(&self) -> String {
        let first =
            || self.cells.iter().find_map(|cell| if let Cell::Text(text) = cell { Some(text.as_str()) } else { None });
        // Several kernels are of one op.
        let kernel = self.text("kernel_name").filter(|_| self.name == TableName::Kernels);
        let title = kernel.or(self.found_by().map(|(_, value)| value)).or_else(first).unwrap_or_default();
        base::format::shorten(&printable(title), LONGEST_NAME)
    }

    /// Other views of what the row is about.
    fn links(&self, source: Source<'_>) -> Vec<(String, Link)> {
        let mut links = Vec::new();
        let Some((key, value)) = self.found_by() else { return links };
        let mut add = |label: &str, view: View| {
            links.extend(Link::equal(view, &key, value).map(|link| (label.to_owned(), link)));
        };
        if let Some(context) = source.context() {
            let is_op = key == "hlo_op_name";
            if is_op {
                add("Ops", View::Ops);
                add("Kernels", View::Kernels);
                add("Roofline", View::Roofline);
            }
            if is_op && context.profile.communication.is_some() && self.is_collective() {
                add("Communication", View::Communication);
            }
            if is_op {
                add("Steps", View::Steps);
            }
        }
        links
    }

    fn is_collective(&self) -> bool {
        let category = self.text("category").unwrap_or_default();
        metrics::family_of(category) == metrics::OpFamily::Communication
    }

    /// Every column that says something, as a person reads it.
    fn facts(&self) -> Vec<Fact> {
        let fact = |(column, cell): (&crate::table::Column, &Cell)| {
            let value = match cell {
                Cell::Absent | Cell::Flag(false) => return None,
                Cell::Text(text) if text.is_empty() || column.key == "hlo_op_expression" => return None,
                Cell::Text(text) => printable(text),
                Cell::Flag(true) => "yes".to_owned(),
                Cell::Int(value) => unit::short(*value as f64, column.unit),
                Cell::Float(value) => unit::short(*value, column.unit),
            };
            let definition = match cell {
                Cell::Int(value) if column.unit != Unit::Count => {
                    exactly(column.definition, *value as f64, column.unit)
                }
                Cell::Float(value) => exactly(column.definition, *value, column.unit),
                _ => base::fields::plain(column.definition),
            };
            Some(Fact { label: column.title.to_owned(), value, definition })
        };
        self.table.columns.iter().zip(self.cells).filter_map(fact).collect()
    }
}

/// A definition, below the value with every digit.
fn exactly(definition: &str, value: f64, of: Unit) -> String {
    format!("{}\n{}", unit::full(value, of), base::fields::plain(definition))
}

#[cfg(test)]
mod tests;
