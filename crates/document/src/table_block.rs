//! Table block of a page: the columns, the visible rows, and the data that the page needs to request other rows.

use serde::{Deserialize, Serialize};

use super::colour::ColourClass;
use super::link::Link;
use base::WarningCode;
use report::UnifiedProfile;
use table::{Cell, Column, Unit};
use tables::{AreaQuery, TableName};

/// First rows of a table.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TableBlock {
    /// Name of the table.
    pub table: TableName,
    /// Form of the table, if it has several.
    pub variant: String,
    /// Heading.
    pub title: String,
    /// Columns of the table.
    pub columns: Vec<ColumnBlock>,
    /// Rows in the requested order.
    pub rows: Vec<Vec<Cell>>,
    /// Number of rows that passed the filter.
    pub matched_rows: u64,
    /// Number of rows of the whole table.
    pub total_rows: u64,
    /// Current sort order.
    pub sort: Option<table::Sort>,
    /// Part of the page's filter that applies to this table.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub filter: String,
    /// Area of the timeline that the table covers, if it covers one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub area: Option<Box<AreaQuery>>,
    /// Columns that the filter names but this table lacks. Conditions on these columns have no effect.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lacking: Vec<String>,
    /// Reason why no row passes the filter. Empty if some row passes.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub why_none: String,
    /// Values of the `category` column with their colours.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub classes: Vec<(String, ColourClass)>,
    /// Filter that a click on a row sets. Absent if rows have no link.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub row_name: Option<RowName>,
    /// Target of a click on each row, if the target is another view. Empty if [`TableBlock::row_name`] applies.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub links: Vec<Option<Link>>,
}

impl TableBlock {
    /// Creates a table without rows and columns.
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

/// Name of a row in a filter: `key="value"`, with the value of the first column in `columns` that is not empty in the row.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RowName {
    /// Key in the filter.
    pub key: String,
    /// Columns of the table.
    pub columns: Vec<String>,
}

/// Column with the data that the page needs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ColumnBlock {
    /// Key in exports and filters.
    pub key: String,
    /// Heading.
    pub title: String,
    /// Unit of the values.
    pub unit: Unit,
    /// Definition of the values, in one sentence.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub definition: String,
    /// Reason why the column is empty, if it has no values.
    pub empty: Option<String>,
    /// True if the values are times that depend on when ops end. Such times may be upper bounds.
    #[serde(default, skip_serializing_if = "is_false")]
    pub may_be_bound: bool,
    /// True if the column is only visible in the details of a row, until the user selects it.
    #[serde(default, skip_serializing_if = "is_false")]
    pub is_folded: bool,
}

fn is_false(value: &bool) -> bool {
    !value
}

impl TableBlock {
    /// Returns true if the table contains sentences. Sentences are wrapped instead of shortened, and such a table has
    /// few rows.
    pub fn is_of_sentences(&self) -> bool {
        self.table.shown().has_sentences
    }

    /// Marks the headings of op-time columns if the times are only upper bounds.
    pub fn mark_bounds(&mut self, profile: &UnifiedProfile) {
        if !profile.warnings.iter().any(|warning| warning.code == WarningCode::CpuOpEndsAreBounds.label()) {
            return;
        }
        for column in self.columns.iter_mut().filter(|column| column.may_be_bound) {
            column.title.push_str(" ≤");
            column.definition.push_str(
                "An upper bound for ops that compute on other threads, because the capture only records a time by \
                    which they had ended.",
            );
        }
    }
}

impl From<&Column> for ColumnBlock {
    fn from(column: &Column) -> ColumnBlock {
        ColumnBlock {
            key: column.key.to_owned(),
            title: column.title.to_owned(),
            unit: column.unit,
            definition: column.definition.to_owned(),
            empty: None,
            may_be_bound: column.may_be_bound,
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
        let column = |key, title| table::column(key, title, Unit::TimeUs, "It.");
        let mut profile = report::example::profile();
        let titles = |profile: &UnifiedProfile| -> Vec<String> {
            let columns = [column("total_self_time_us", "Self time").bound(), column("flops", "FLOPs")];
            let columns = columns.iter().map(ColumnBlock::from).collect();
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
