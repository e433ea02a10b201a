//! Names of host events during which a thread saves or restores a checkpoint (`checkpoint_spans.csv`).

use std::sync::LazyLock;

use super::host_spans::is_frame;
use super::pattern::{Name, Pattern};
use super::table;

static ROWS: LazyLock<Vec<Pattern>> =
    LazyLock::new(|| table::rows(include_str!("checkpoint_spans.csv")).filter_map(|cells| parse(&cells)).collect());

fn parse(cells: &[&'static str]) -> Option<Pattern> {
    let &[kind, pattern, _source] = cells else { return None };
    Pattern::parse(kind, pattern)
}

/// Returns true if a host event of this name saves or restores a checkpoint. A frame of the Python tracer must match in
/// file and function.
pub fn is_checkpoint(name: &str) -> bool {
    if is_frame(name) {
        return ROWS.iter().any(|pattern| pattern.matches_frame(name));
    }
    let name = Name::new(name);
    ROWS.iter().any(|pattern| pattern.matches(&name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_is_read() {
        assert_eq!(ROWS.len(), table::rows(include_str!("checkpoint_spans.csv")).count());
    }

    #[test]
    fn calls_that_hold_the_training_are_checkpoints() {
        for name in
            ["$checkpoint_manager.py:1334 save", "save_checkpoint", "Checkpoint 12", "$async_checkpointer.py:5 save"]
        {
            assert!(is_checkpoint(name), "{name}");
        }
        // The last two run in the background.
        for name in [
            "$ad_checkpoint.py:3 save",
            "train",
            "$x.py:3 save",
            "$checkpoint_manager.py:148 run",
            "$async_checkpointer.py:231 _thread_func",
        ] {
            assert!(!is_checkpoint(name), "{name}");
        }
    }
}
