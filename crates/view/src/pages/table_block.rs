//! The block of a page that is a table: its columns, the rows that are shown, and what the page needs to ask for others.

use serde::{Deserialize, Serialize};

use super::colour::ColourClass;
use super::link::Link;
use crate::table::{Cell, Column, Unit};
use crate::tables::{AreaQuery, TableName};
use base::WarningCode;
use report::UnifiedProfile;

/// The first rows of a table.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TableBlock {
    /// Name of the table.
    pub table: TableName,
    /// The form, where the table has several.
    pub variant: String,
    /// Heading.
    pub title: String,
    /// The columns.
    pub columns: Vec<ColumnBlock>,
    /// Rows in the asked order.
    pub rows: Vec<Vec<Cell>>,
    /// Rows that passed the filter.
    pub matched_rows: u64,
    /// Rows of the whole table.
    pub total_rows: u64,
    /// The order shown.
    pub sort: Option<crate::table::Sort>,
    /// The part of the page's filter that is about this table.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub filter: String,
    /// The part of the timeline that it is of, where it is of one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub area: Option<Box<AreaQuery>>,
    /// Columns that the filter names and this table lacks: those conditions do not narrow it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lacking: Vec<String>,
    /// Why no row passes the filter, where none does.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub why_none: String,
    /// The values of the column `category`, each with its colour.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub classes: Vec<(String, ColourClass)>,
    /// What a click on a row filters by; absent where rows lead nowhere.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub row_name: Option<RowName>,
    /// Where a click on each row leads, where that is another view; empty where [`TableBlock::row_name`] says it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub links: Vec<Option<Link>>,
}

impl TableBlock {
    /// A table of which nothing is shown.
    pub fn empty(table: TableName) -> TableBlock {
        TableBlock {
            table,
            variant: String::new(),
            title: String::new(),
            columns: Vec::new(),
            rows: Vec::new(),
            matched_rows: 0,
            total_rows: 0,
            sort: None,
            filter: String::new(),
            area: None,
            lacking: Vec::new(),
            why_none: String::new(),
            classes: Vec::new(),
            row_name: None,
            links: Vec::new(),
        }
    }
}

/// How a row is named in a filter: `key="value"`, the value being that of the first of `columns` that has one in the row.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RowName {
    /// Key in the filter.
    pub key: String,
    /// Columns of the table.
    pub columns: Vec<String>,
}

/// A column as the page needs it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ColumnBlock {
    /// Key in exports and filters.
    pub key: String,
    /// Heading.
    pub title: String,
    /// What the column's values are.
    pub unit: Unit,
    /// What the column's values mean, in one sentence.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub definition: String,
    /// Why all of the column is empty, where it is.
    pub empty: Option<String>,
    /// Whether the column stands in the details of a row only, until it is chosen.
    #[serde(default, skip_serializing_if = "is_false")]
    pub is_folded: bool,
}

fn is_false(value: &bool) -> bool {
    !value
}

impl TableBlock {
    /// Whether it is made of sentences, which wrap and are not cut. Such a table is short.
    pub fn is_of_sentences(&self) -> bool {
        matches!(self.table, TableName::Checklist | TableName::Findings)
    }

    /// Marks the times of ops in the headings, where they are no more than upper bounds.
    pub(super) fn mark_bounds(&mut self, profile: &UnifiedProfile) {
        if !profile.warnings.iter().any(|warning| warning.code == WarningCode::CpuOpEndsAreBounds.label()) {
            return;
        }
        for column in self.columns.iter_mut().filter(|column| TIMES_OF_OPS.contains(&column.key.as_str())) {
            column.title.push_str(" ≤");
            column.definition.push_str(
                " An upper bound for ops that compute on other threads: the capture says by when they had ended, not when they ended.",
            );
        }
    }
}

/// Columns of times of ops that last as long as the ops.
const TIMES_OF_OPS: [&str; 9] = [
    "total_self_time_us",
    "execution_self_time_us",
    "avg_self_time_us",
    "total_time_us",
    "avg_time_us",
    "total_us",
    "avg_us",
    "min_us",
    "max_us",
];

impl From<&Column> for ColumnBlock {
    fn from(column: &Column) -> ColumnBlock {
        ColumnBlock {
            key: column.key.to_owned(),
            title: column.title.to_owned(),
            unit: column.unit,
            definition: column.definition.to_owned(),
            empty: None,
            is_folded: false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::Warning;

    #[test]
    fn times_that_are_bounds_are_marked() {
        let column = |key: &'static str, title: &'static str| {
            ColumnBlock::from(&crate::table::column(key, title, Unit::TimeUs, "It."))
        };
        let mut profile = report::example::profile();
        let titles = |profile: &UnifiedProfile| -> Vec<String> {
            let columns = vec![column("total_self_time_us", "Self time"), column("flops", "FLOPs")];
            let mut table = TableBlock { columns, ..TableBlock::empty(TableName::Ops) };
            table.mark_bounds(profile);
            table.columns.into_iter().map(|column| column.title).collect()
        };
        profile.warnings.clear();
        assert_eq!(titles(&profile), ["Self time", "FLOPs"]);
        profile.warnings.push(Warning::new(WarningCode::CpuOpEndsAreBounds, "Ops go on."));
        assert_eq!(titles(&profile), ["Self time ≤", "FLOPs"]);
    }
}
