//! Roles of host threads, by their names (`host_threads.csv`).

use std::sync::LazyLock;

use super::pattern::{Name, Pattern};
use super::table;

static ROWS: LazyLock<Vec<(Pattern, &'static str)>> =
    LazyLock::new(|| table::rows(include_str!("host_threads.csv")).filter_map(|cells| parse(&cells)).collect());

fn parse(cells: &[&'static str]) -> Option<(Pattern, &'static str)> {
    let &[kind, pattern, role, _source] = cells else { return None };
    Some((Pattern::parse(kind, pattern)?, role))
}

/// Returns the role of the thread `name`: `python`, `launch`, `input`, `transfer` or `compile`. Returns `None` if the
/// name is unknown.
pub fn role(name: &str) -> Option<&'static str> {
    let name = Name::new(name);
    ROWS.iter().find(|(pattern, _)| pattern.matches(&name)).map(|&(_, role)| role)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_is_read() {
        assert_eq!(ROWS.len(), table::rows(include_str!("host_threads.csv")).count());
    }

    #[test]
    fn threads_are_detected_by_their_names() {
        assert_eq!(role("python"), Some("python"));
        assert_eq!(role("thread 21587 (python3)"), Some("python"));
        assert_eq!(role("main/3116817"), Some("python"));
        assert_eq!(role("py_xla_execute/3118851"), Some("launch"));
        assert_eq!(role("tf_data_iterator_get_next/7"), Some("input"));
        assert_eq!(role("switchto-default-SDomainT/3118993"), None);
    }
}
