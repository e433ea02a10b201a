//! A matrix with one coloured cell for each pair of devices. Larger numbers have stronger colours.

use std::sync::Arc;

use crossprof::document::Matrix;
use crossprof::table::{Cell, Unit, unit};
use leptos::prelude::*;

use super::chart::{Marks, Pair, chart, walk};
use super::figure::{Chart, Data, figure, number, text};
use crate::components::live::live;
use crate::components::tip::Name;
use crate::components::warnings::bounded;
use crate::state::State;
use crate::table::terms::{terms, toggled};

/// Number of colour levels.
const LEVELS: usize = 8;
/// Maximum size of a cell, and the approximate width of the labels next to the cells, in pixels.
const CELL_PX: usize = 72;
const LABEL_PX: usize = 100;
/// Maximum number of labels along each side.
const MAX_LABELS: usize = 16;

/// Renders the chart.
pub(super) fn matrix(matrix: Matrix) -> AnyView {
    let title = bounded(&matrix.title);
    let size = matrix.labels.len();
    if size == 0 {
        return view! { <section class="panel"><h2>{title}</h2><p class="empty">"There are no pairs."</p></section> }
            .into_any();
    }
    let all = matrix.values.iter().flatten().flatten().copied().filter(|value| value.is_finite());
    let largest = all.fold(0.0, f64::max);
    let mut paths = vec![String::new(); LEVELS];
    for (row, values) in matrix.values.iter().take(size).enumerate() {
        for (column, value) in values.iter().take(size).enumerate() {
            let level = value
                .filter(|value| *value > 0.0 && largest > 0.0)
                .map(|value| (value / largest * LEVELS as f64).ceil());
            if let Some(path) = level.and_then(|level| paths.get_mut((level as usize).clamp(1, LEVELS) - 1)) {
                path.push_str(&format!("M{column}.04 {row}.04h.92v.92h-.92z"));
            }
        }
    }
    let cells = paths.into_iter().enumerate().map(|(level, path)| {
        view! { <path class="part communication" style:opacity=format!("{:.2}", 0.15 + 0.85 * level as f64 / (LEVELS - 1) as f64) d=path /> }
    });
    let (state, key) = (State::get(), matrix.key.clone());
    // Read the selection from the URL instead of the response, so that the chart is not redrawn and keeps the focus.
    let chosen = move || {
        let cell = state.route.with(|route| chosen(&route.query.filter, key.as_deref()?));
        cell.map(|(row, column)| view! { <path class="chosen-cell" d=format!("M{column} {row}h1v1h-1z") /> })
    };
    let drawing = view! {
        <svg viewBox=format!("0 0 {size} {size}") preserveAspectRatio="none" aria-hidden="true">
            <path class="cells" d=format!("M0 0H{size}V{size}H0z") />{cells.collect_view()}{live(chosen)}
        </svg>
    }
    .into_any();
    let every = size.div_ceil(MAX_LABELS);
    let labels = || {
        let named = matrix.labels.iter().enumerate().map(|(at, label)| {
            let text = if at % every == 0 { label.replace("/device:", "") } else { String::new() };
            view! { <li><Name text=text width=14 /></li> }
        });
        named.collect_view()
    };
    let (rows, columns) = (labels(), labels());
    let note = format!(
        "The largest value is {}. Click a cell to list the collectives between two devices.",
        unit::short(largest, matrix.unit)
    );
    let matrix = Arc::new(matrix);
    let drawn = chart(marks(matrix.clone()), "cells", drawing);
    let body = view! {
        <p class="quiet">{note}</p>
        <div class="matrix-plot" style:max-width=format!("{}px", LABEL_PX + CELL_PX * size)><ul class="row-labels">{rows}</ul>{drawn}<ul class="column-labels">{columns}</ul></div>
    };
    figure(Chart {
        title: title.into_any(),
        name: matrix.title.clone(),
        class: "",
        body: body.into_any(),
        data: Arc::new(move || data(&matrix)),
    })
}

/// Parses the last `key=row-column` term of a filter and returns the row and the column.
fn chosen(filter: &str, key: &str) -> Option<(usize, usize)> {
    let pair = |term: &String| {
        let (row, column) = term.strip_prefix(key)?.strip_prefix('=')?.split_once('-')?;
        Some((row.parse().ok()?, column.parse().ok()?))
    };
    terms(filter).iter().rev().find_map(pair)
}

fn data(matrix: &Matrix) -> Data {
    let mut data = Data::of(&[("From", Unit::Text)]);
    data.columns.extend(matrix.labels.iter().map(|label| (label.clone(), matrix.unit)));
    let cell = |value: &Option<f64>| value.map_or(Cell::Absent, number);
    let rows = matrix.labels.iter().zip(&matrix.values);
    data.rows =
        rows.map(|(label, values)| std::iter::once(text(label)).chain(values.iter().map(cell)).collect()).collect();
    data
}

fn marks(matrix: Arc<Matrix>) -> Marks {
    let state = State::get();
    let size = matrix.labels.len();
    let find = move |at: Pair, of: Pair| {
        let index = |share: f64| ((share * size as f64) as usize).min(size - 1);
        Some(index(at.1 / of.1) * size + index(at.0 / of.0))
    };
    let place = move |mark: usize| {
        let side = 1.0 / size as f64;
        (((mark % size) as f64 * side, (mark / size) as f64 * side), (side, side))
    };
    let label = bounded(&matrix.title);
    let of = matrix.clone();
    let value_of =
        move |mark: usize| of.values.get(mark / size).and_then(|row| row.get(mark % size)).copied().flatten();
    let (key, follows) = (matrix.key.clone(), value_of.clone());
    let act = move |mark: usize| {
        if let Some((key, _)) = key.as_ref().zip(follows(mark)) {
            let term = format!("{key}={}-{}", mark / size, mark % size);
            state.filter(toggled(&state.route.with_untracked(|route| route.query.filter.clone()), key, &term));
        }
    };
    let describe = move |mark: usize| {
        let name = |at: usize| matrix.labels.get(at).cloned().unwrap_or_default();
        let value = value_of(mark).map_or_else(|| "nothing".to_owned(), |value| unit::short(value, matrix.unit));
        bounded(&format!("{} → {}: {value}", name(mark / size), name(mark % size)))
    };
    Marks {
        label,
        find: Box::new(find),
        step: Box::new(move |now, key| walk(now, key, size * size, size)),
        place: Box::new(place),
        describe: Box::new(describe),
        act: Box::new(act),
    }
}
