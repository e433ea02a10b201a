//! Names of Python functions in which a thread waits (`python_waits.csv`).

use std::sync::LazyLock;

use super::table;

/// Kind of a wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PythonWait {
    /// The thread waits for a device.
    Device,
    /// The thread waits for another thread.
    Thread,
    /// The thread waits for a lock.
    Lock,
    /// The thread waits, and other threads may run Python meanwhile.
    Yield,
}

static ROWS: LazyLock<Vec<(PythonWait, &'static str)>> =
    LazyLock::new(|| table::rows(include_str!("python_waits.csv")).filter_map(|cells| parse(&cells)).collect());

fn parse(cells: &[&'static str]) -> Option<(PythonWait, &'static str)> {
    let &[wait, function, _source] = cells else { return None };
    let wait = match wait {
        "device" => PythonWait::Device,
        "thread" => PythonWait::Thread,
        "lock" => PythonWait::Lock,
        "yield" => PythonWait::Yield,
        _ => return None,
    };
    Some((wait, function))
}

/// Returns true if a function with this name (without its file) is a wait of this kind.
pub fn is(wait: PythonWait, function: &str) -> bool {
    ROWS.iter().any(|&(of, name)| of == wait && name == function)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_is_read() {
        assert_eq!(ROWS.len(), table::rows(include_str!("python_waits.csv")).count());
    }

    #[test]
    fn a_wait_for_a_device_does_not_let_other_threads_run() {
        assert!(is(PythonWait::Device, "block_until_ready") && !is(PythonWait::Yield, "block_until_ready"));
        assert!(is(PythonWait::Thread, "result") && is(PythonWait::Yield, "result"));
        assert!(is(PythonWait::Yield, "sleep") && !is(PythonWait::Thread, "sleep"));
        assert!(!is(PythonWait::Yield, "train"));
    }
}
