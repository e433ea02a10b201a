//! Draws a map of coloured cells as an SVG with one path per strength of colour.

use crate::HeatMap;
use crate::html::parts::{Px, WIDTH, drawing};
use base::format;
use maud::{Markup, html};
use table::{Cell, display};

/// Maximum number of rows and columns that are drawn.
const ROWS: usize = 32;
const COLUMNS: usize = 64;
/// Height of a row, and width of the labels.
const ROW: f64 = 14.0;
const LEFT: f64 = 180.0;
/// Number of strengths of each colour.
const STRENGTHS: usize = 5;

/// Draws the map. Several cells of a large map share one drawn cell, which shows the strongest of them.
pub(super) fn heat_map(map: &HeatMap) -> Markup {
    let rows = map.reduced(ROWS, COLUMNS);
    let width = rows.iter().map(|(_, levels)| levels.len()).max().unwrap_or(0);
    if width == 0 {
        return html! { p.note { (map.note) } };
    }
    let cell = (WIDTH - LEFT) / width as f64;
    // Cells of each colour: first the colours above the middle, then the colours below it.
    let mut paths = vec![String::new(); 2 * STRENGTHS];
    for (row, (_, levels)) in rows.iter().enumerate() {
        for (column, level) in levels.iter().enumerate().filter(|(_, level)| **level > 0) {
            let strength = map.strength(*level);
            let step = ((strength.abs() * STRENGTHS as f64).round() as usize).min(STRENGTHS);
            let at = step.checked_sub(1).map(|step| if strength < 0.0 { STRENGTHS + step } else { step });
            if let Some(path) = at.and_then(|at| paths.get_mut(at)) {
                path.push_str(&format!("M{column} {row}h1v1h-1z"));
            }
        }
    }
    let class = |at: usize| if at < STRENGTHS { "c-communication" } else { "c-matmul" };
    let strength = |at: usize| (at % STRENGTHS + 1) as f64 / STRENGTHS as f64;
    let shapes = html! {
        @for (row, (label, _)) in rows.iter().enumerate() {
            text class="q" x=(Px(LEFT - 6.0)) y=(Px((row as f64 + 0.8) * ROW)) text-anchor="end" {
                (format::shorten(label, 28))
            }
        }
        g transform={ "translate(" (Px(LEFT)) " 0) scale(" (cell) " " (ROW) ")" } {
            @for (at, path) in paths.iter().enumerate().filter(|(_, path)| !path.is_empty()) {
                path class=(class(at)) fill-opacity=(strength(at)) d=(path) {}
            }
        }
    };
    html! {
        (drawing(&map.title, rows.len() as f64 * ROW + 4.0, &shapes))
        @if let Some((low, high)) = map.ends {
            p.note {
                "From " (display(&Cell::Float(low), map.unit)) " to " (display(&Cell::Float(high), map.unit)) ". "
                (map.note)
            }
        }
    }
}
