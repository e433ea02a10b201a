//! Functions of Flax NNX that take module graphs apart and rebuild them (`module_graphs.csv`).

use std::sync::LazyLock;

use super::table;

static ROWS: LazyLock<Vec<(&'static str, &'static str)>> =
    LazyLock::new(|| table::rows(include_str!("module_graphs.csv")).filter_map(|cells| parse(&cells)).collect());

fn parse(cells: &[&'static str]) -> Option<(&'static str, &'static str)> {
    let &[file, function, _source] = cells else { return None };
    Some((file, function))
}

/// Returns true if a frame of the Python tracer (`$graphlib.py:1783 flatten`) is an NNX function that takes apart or
/// rebuilds a module graph.
pub fn is(frame: &str) -> bool {
    let Some((place, function)) = frame.rsplit_once(' ') else { return false };
    let Some((path, _line)) = place.rsplit_once([':', '(']) else { return false };
    let file = path.rsplit(['/', '$']).next().unwrap_or(path);
    ROWS.contains(&(file, function))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_is_read() {
        assert_eq!(ROWS.len(), table::rows(include_str!("module_graphs.csv")).count());
    }

    #[test]
    fn file_and_function_must_match() {
        assert!(is("$graphlib.py:1783 flatten") && is("$extract.py:338 to_tree"));
        for frame in ["$graphlib.py:3 other", "$train.py:9 flatten", "flatten", "$builtins flatten", ""] {
            assert!(!is(frame), "{frame}");
        }
    }
}
