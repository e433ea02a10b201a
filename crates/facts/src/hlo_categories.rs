//! Groups the HLO categories of profiles into families (`hlo_categories.csv`).

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

/// Defines a constant for each category that code compares with, and a list of these constants for the test.
macro_rules! known {
    ($($name:ident = $text:literal),+ $(,)?) => {
        $(#[doc = concat!("`", $text, "`")] pub const $name: &str = $text;)+

        #[cfg(test)]
        const KNOWN: &[&str] = &[$($name),+];
    };
}

known! {
    ALL_REDUCE = "all-reduce",
    CALL = "call",
    CONDITIONAL = "conditional",
    COPY = "copy",
    COPY_DONE = "copy-done",
    CUSTOM_CALL = "custom-call",
    DATA_FORMATTING = "data formatting",
    HOST_RECV = "host recv",
    HOST_RECV_DONE = "host recv-done",
    HOST_SEND = "host send",
    HOST_SEND_DONE = "host send-done",
    INFEED = "infeed",
    LOOP_FUSION = "loop fusion",
    REDUCE_SCATTER = "reduce-scatter",
    RESHAPE = "reshape",
    SORT = "sort",
    TRANSPOSE = "transpose",
    WHILE = "while",
}

/// Returns the family of a category (`loop fusion` belongs to `elementwise`), or `None` if the category is unknown. The
/// category must be in lower case.
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
        assert!(KNOWN.iter().all(|&category| family(category).is_some()));
        assert!(all().all(|(category, _)| category.to_ascii_lowercase() == category));
    }
}
