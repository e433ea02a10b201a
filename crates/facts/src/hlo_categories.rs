//! Families of the categories in profiles (`hlo_categories.csv`).

use std::collections::BTreeMap;
use std::sync::LazyLock;

use super::table;
use base::sort;

static FAMILIES: LazyLock<BTreeMap<&'static str, &'static str>> = LazyLock::new(|| {
    sort::map(table::rows(include_str!("hlo_categories.csv")).filter_map(|cells| match cells[..] {
        [category, family, _source] => Some((category, family)),
        _ => None,
    }))
});

/// Returns the family of a category in lower case (`loop fusion` belongs to `elementwise`), or `None` if it is unknown.
pub fn family(category: &str) -> Option<&'static str> {
    FAMILIES.get(category).copied()
}

/// Returns all `(category, family)` pairs, sorted by category.
pub fn all() -> impl Iterator<Item = (&'static str, &'static str)> {
    FAMILIES.iter().map(|(&category, &family)| (category, family))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_is_read_once_and_in_lower_case() {
        assert_eq!(FAMILIES.len(), table::rows(include_str!("hlo_categories.csv")).count());
        assert!(all().all(|(category, _)| category.to_ascii_lowercase() == category));
    }
}
