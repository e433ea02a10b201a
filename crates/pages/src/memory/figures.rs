//! Figures of the memory page: sizes, and their share of the available memory.

use document::Figure;
use table::Unit;

/// Returns a figure for a size, with its label and a note.
pub(super) fn bytes_figure(label: &str, bytes: u64, note: String) -> Figure {
    Figure { label: label.to_owned(), value: Some(bytes as f64), unit: Unit::Bytes, note, ..Figure::default() }
}

/// If the used percentage of the memory is known, adds its level to a figure.
pub(super) fn fullness(figure: Figure, percent: Option<f64>) -> Figure {
    let Some(percent) = percent else { return figure };
    let (level, limits) = assessments::fullness(percent);
    Figure { level: Some(level), limits, ..figure }
}
