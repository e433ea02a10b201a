//! Figures of the page: sizes, and their share of the available memory.

use document::{Figure, Status};
use insight::limits::NEARLY_FULL_PERCENT;
use table::Unit;

/// Returns a figure for a size, with its label and a note.
pub fn bytes_figure(label: &str, bytes: u64, note: String) -> Figure {
    Figure { label: label.to_owned(), value: Some(bytes as f64), unit: Unit::Bytes, note, ..Figure::default() }
}

/// Adds the used percentage of the memory to a figure, if it is known. Gives a warning if little
/// memory is left.
pub fn fullness(figure: Figure, percent: Option<f64>) -> Figure {
    let Some(percent) = percent else { return figure };
    Figure {
        status: Some(if percent >= NEARLY_FULL_PERCENT { Status::Warning } else { Status::Good }),
        limits: format!("A warning from {NEARLY_FULL_PERCENT} % of the memory."),
        ..figure
    }
}
