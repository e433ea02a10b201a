//! Recognises accelerators that crossprof does not support specifically, by the name or label of their plane
//! (`accelerators.csv`).

use std::sync::LazyLock;

use super::pattern::{self, Name, Pattern};

static PATTERNS: LazyLock<Vec<Pattern>> = LazyLock::new(|| pattern::of_table(include_str!("accelerators.csv")));

/// XLA planes that have names like device names, but contain no device work. Such planes contain messages between
/// slices, or compiled kernels.
const NO_DEVICES: [&str; 2] = ["/device:CUSTOM:Megascale", "/device:CUSTOM:MOSAIC"];

/// Returns true if a plane with this name is a device, for example `/device:CUSTOM:0`, `Ascend Hardware` or `HPU 0`.
pub fn is(name: &str) -> bool {
    if name.starts_with("/device:") {
        return !NO_DEVICES.iter().any(|known| name.starts_with(known));
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
        assert_eq!(PATTERNS.len(), table::rows(include_str!("accelerators.csv")).count());
    }

    #[test]
    fn other_accelerators_differ_from_other_processes() {
        for name in [
            "/device:CUSTOM:0",
            "/device:NPU:1",
            "Ascend Hardware",
            "HPU 0",
            "NPU 3",
            "NeuronCore 1",
            "XPU 0",
            "MTIA 9",
        ] {
            assert!(is(name), "{name}");
        }
        for name in ["/device:CUSTOM:Megascale Trace", "python3", "CANN", "input pipeline", "Overlap Analysis", ""] {
            assert!(!is(name), "{name}");
        }
    }
}
