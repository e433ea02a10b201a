//! Recognises host events that are callbacks of a compiled program into Python, by their names (`host_callbacks.csv`).

use std::sync::LazyLock;

use super::pattern::{self, Name, Pattern};

static PATTERNS: LazyLock<Vec<Pattern>> = LazyLock::new(|| pattern::of_table(include_str!("host_callbacks.csv")));

/// Returns true if a host event with this name is a callback of a compiled program into Python. Events that mark the
/// end of an op of XLA's CPU backend (`end: pure_callback.1`) are not callbacks.
pub fn is(name: &str) -> bool {
    if name.starts_with("end: ") {
        return false;
    }
    if name.starts_with('$') || name.contains(".py(") {
        return PATTERNS.iter().any(|pattern| pattern.matches_frame(name));
    }
    let name = Name::new(name);
    PATTERNS.iter().any(|pattern| pattern.matches(&name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table;

    #[test]
    fn every_row_is_read() {
        assert_eq!(PATTERNS.len(), table::rows(include_str!("host_callbacks.csv")).count());
    }

    #[test]
    fn callbacks_differ_from_other_callbacks_of_the_runtime() {
        assert!(is("xla_ffi_python_cpu_callback"));
        assert!(is("debug_callback.3"));
        assert!(is("pure_callback.1") && !is("end: pure_callback.1"));
        assert!(is("$debugging.py:130 debug_callback_impl"));
        // The runtime calls this function itself, without a request from the program.
        assert!(!is("ThenExecuteCallback"));
        assert!(!is("CompleteCallbacks"));
        assert!(!is("$callback.py:10 on_epoch_end"));
    }
}
