//! Sort order of each table of a page.

use super::Sort;
use serde::{Deserialize, Serialize};

/// Sort order of each table, by table name. Stored as a sorted list, because a map would add several times as much code
/// to the page.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sorts(Vec<(String, Sort)>);

impl Sorts {
    /// Returns the sort order of this table. Returns `None` if the table keeps its own order.
    pub fn get(&self, table: &str) -> Option<&Sort> {
        self.iter().find(|(name, _)| *name == table).map(|(_, sort)| sort)
    }

    /// Sets the sort order of a table. `None` restores the table's own order.
    pub fn set(&mut self, table: &str, sort: Option<Sort>) {
        self.0.retain(|(name, _)| name != table);
        let at = self.0.iter().position(|(name, _)| name.as_str() > table).unwrap_or(self.0.len());
        self.0.splice(at..at, sort.map(|sort| (table.to_owned(), sort)));
    }

    /// Returns the sorted tables with their orders.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Sort)> {
        self.0.iter().map(|(table, sort)| (table.as_str(), sort))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_table_has_one_sort_order_and_tables_are_sorted_by_name() {
        let mut sorts = Sorts::default();
        for (table, sort) in [("ops", Some("-time")), ("kernels", Some("name")), ("steps", None), ("ops", Some("name"))]
        {
            sorts.set(table, sort.map(Sort::parse));
        }
        let name = Sort::parse("name");
        assert_eq!(sorts.iter().collect::<Vec<_>>(), [("kernels", &name), ("ops", &name)]);
        sorts.set("kernels", None);
        assert_eq!((sorts.get("kernels"), sorts.get("ops")), (None, Some(&name)));
    }
}
