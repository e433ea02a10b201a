//! The family of every category that a profile can name (`hlo_categories.csv`).

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

/// The family's label of a category in lower case (`loop fusion` is `elementwise`), or `None` for an unknown one.
pub fn family(category: &str) -> Option<&'static str> {
    FAMILIES.get(category).copied()
}

/// All `(category, family)` pairs, by category.
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
