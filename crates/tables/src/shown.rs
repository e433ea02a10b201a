//! Display of a table on a page: the columns that are visible at first, and the filter that a click on a row sets. Each table
//! declares its display next to its columns.

/// Display of a table on a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shown {
    /// Keys of the columns that a page shows initially, in this order: the most important columns, which fit on a
    /// screen that is 1,280 pixels wide. All other columns can be selected. The details of a row and every export
    /// contain all columns. Empty if a page shows the whole table.
    pub leading: &'static [&'static str],
    /// Names of the rows in filters. The first name that applies to the form of the table is used. Empty if rows have no link.
    pub row_keys: &'static [RowKey],
    /// True if the table contains sentences, which wrap instead of being shortened. Such a table has few rows.
    pub has_sentences: bool,
}

/// Name of a row in a filter: `key="value"`. The value comes from the first non-empty cell among `columns`. All tables use the
/// same name for an op.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RowKey {
    /// Form of the table. `None` for all forms.
    form: Option<&'static str>,
    /// Key in the filter.
    pub key: &'static str,
    /// Columns of the table.
    pub columns: &'static [&'static str],
}

impl RowKey {
    /// Creates a name for all forms of a table.
    pub(super) const fn new(key: &'static str, columns: &'static [&'static str]) -> RowKey {
        RowKey { form: None, key, columns }
    }

    /// Limits the name to a form.
    pub(super) const fn of_form(self, form: &'static str) -> RowKey {
        RowKey { form: Some(form), ..self }
    }
}

impl Shown {
    /// Shows all columns. Rows have no link.
    pub const WHOLE: Shown = Shown { leading: &[], row_keys: &[], has_sentences: false };

    /// Returns the name of the rows in a form of the table.
    pub fn row_key(&self, form: &str) -> Option<RowKey> {
        self.row_keys.iter().find(|key| key.form.is_none_or(|of| of == form)).copied()
    }
}

#[cfg(test)]
mod tests {
    use crate::{TableName, columns_of};

    #[test]
    fn every_shown_column_exists_and_is_unique() {
        let mut count = 0;
        for name in TableName::ALL {
            let (columns, shown) = (columns_of(name), name.shown());
            let has = |key: &&str| columns.iter().any(|column| column.key == *key);
            for (at, key) in shown.leading.iter().enumerate() {
                assert!(has(key), "{name:?} has no column {key}");
                assert!(!shown.leading[..at].contains(key), "{name:?}: {key} stands twice");
                count += 1;
            }
            for row in shown.row_keys {
                assert!(row.columns.iter().all(has), "{name:?}: {row:?}");
                assert!(row.form.is_none_or(|form| name.forms().contains(&form)), "{name:?}: {row:?}");
            }
        }
        assert!(count > 60, "{count}");
    }
}
