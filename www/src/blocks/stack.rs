//! Stacked bars. Few rows are drawn as horizontal bars with labels. Many rows, such as the steps of a long run, are
//! drawn as columns.

use std::sync::Arc;

use crossprof::document::{Link, Stack};
use crossprof::table::{Unit, unit};
use crossprof::text::format;
use leptos::prelude::*;

use super::chart::{Marks, Pair, chart, walk};
use super::figure::{Chart, Data, figure, number, text};
use super::heading;
use crate::components::tip::Name;
use crate::components::warnings::{bounded, bounded_lines, tied};
use crate::plot::{stack as geometry, ticks};
use crate::state::State;

/// Maximum number of horizontal bars. More rows become columns.
const MAX_LYING: usize = 16;
/// Number of intervals between the labels below the columns.
const X_LABELS: usize = 4;
/// Height of a horizontal bar's row in pixels. The style sheet has the same value.
const ROW_PX: usize = 26;

/// Renders the chart.
pub(super) fn stack(run: u32, stack: Stack) -> AnyView {
    let title = heading(run, &stack.title, stack.about.as_ref());
    if stack.rows.is_empty() || stack.series.is_empty() {
        let why = if stack.note.is_empty() { "There is no data to show." } else { &stack.note };
        return view! { <section class="panel"><h2>{title}</h2><p class="empty">{tied(why)}</p></section> }.into_any();
    }
    let legend = legend(&stack);
    let note = (!stack.note.is_empty()).then(|| view! { <p class="quiet">{tied(&stack.note)}</p> });
    let stack = Arc::new(stack);
    let body = if stack.rows.len() <= MAX_LYING { lying(stack.clone()) } else { standing(stack.clone()) };
    figure(Chart {
        title,
        name: stack.title.clone(),
        class: "stack",
        body: view! { {note}{legend}{body} }.into_any(),
        data: Arc::new(move || data(&stack)),
    })
}

fn data(stack: &Stack) -> Data {
    let mut data = Data::of(&[("Name", Unit::Text)]);
    let columns = stack.series.iter().map(|series| series.label.clone()).chain(["Total".to_owned()]);
    data.columns.extend(columns.map(|label| (label, stack.unit)));
    let is_marked = stack.rows.iter().any(|row| !row.mark.is_empty());
    data.columns.extend(is_marked.then(|| ("Note".to_owned(), Unit::Text)));
    let rows = stack.rows.iter().enumerate().map(|(at, row)| {
        let parts = (0..stack.series.len()).map(|series| size(stack, at, series)).chain([total(stack, at)]);
        let mark = is_marked.then(|| text(&row.mark));
        std::iter::once(text(&row.label)).chain(parts.map(number)).chain(mark).collect()
    });
    data.rows = rows.collect();
    data
}

fn legend(stack: &Stack) -> AnyView {
    let names = stack.series.iter().enumerate().map(|(at, series)| {
        let label = bounded(&series.label);
        view! { <li><i class=format!("swatch {}", series.class.name()) style:opacity=opacity(stack, at)></i>{label}</li> }
    });
    view! { <ul class="legend" aria-hidden="true">{names.collect_view()}</ul> }.into_any()
}

/// Returns the opacity of a series. Series with the same colour class differ in opacity.
fn opacity(stack: &Stack, at: usize) -> &'static str {
    let class = stack.series.get(at).map(|series| series.class);
    let before = stack.series.iter().take(at).filter(|series| Some(series.class) == class).count();
    ["1", "0.65", "0.4", "0.25"].get(before).copied().unwrap_or("0.2")
}

/// Returns the size of a part by the indices of its row and series. Returns zero for sizes that are negative or not finite.
fn size(stack: &Stack, row: usize, series: usize) -> f64 {
    let value = stack.rows.get(row).and_then(|row| row.parts.get(series)).copied().unwrap_or(0.0);
    if value.is_finite() { value.max(0.0) } else { 0.0 }
}

/// Returns the SVG path of the lines below all marked columns.
fn underlines(stack: &Stack) -> String {
    let odd = stack.rows.iter().enumerate().filter(|(_, row)| !row.mark.is_empty());
    odd.map(|(at, _)| format!("M{:.2} 0h0.78v4h-0.78z", at as f64 + 0.11)).collect()
}

fn total(stack: &Stack, row: usize) -> f64 {
    (0..stack.series.len()).map(|series| size(stack, row, series)).sum()
}

/// Returns the value at which a part begins, which is the sum of all earlier parts in its row.
fn begin(stack: &Stack, row: usize, series: usize) -> f64 {
    (0..series).map(|series| size(stack, row, series)).sum()
}

/// Returns the part of a row whose range contains a value.
fn part_at(stack: &Stack, row: usize, value: f64) -> Option<usize> {
    let mut end = 0.0;
    (0..stack.series.len()).find(|&series| {
        end += size(stack, row, series);
        size(stack, row, series) > 0.0 && value <= end
    })
}

fn describe(stack: &Stack, mark: usize) -> String {
    let (at, series) = (mark / stack.series.len(), mark % stack.series.len());
    let (Some(row), Some(part)) = (stack.rows.get(at), stack.series.get(series)) else { return String::new() };
    let (value, all) = (size(stack, at, series), total(stack, at));
    let share = if all > 0.0 { format!(", {}", format::percent(100.0 * value / all)) } else { String::new() };
    let [value, all] = [value, all].map(|value| unit::short(value, stack.unit));
    bounded_lines(&[&format!("{}: {} {value}{share} of {all}", row.label, part.label), &row.mark])
}

fn follow(stack: &Stack, mark: usize) {
    let series = stack.series.get(mark % stack.series.len()).and_then(|series| series.link.as_ref());
    let row = stack.rows.get(mark / stack.series.len()).and_then(|row| row.link.as_ref());
    match (row, series) {
        // Both links lead to the same view, so combine their filters.
        (Some(row), Some(series)) if row.view == series.view => {
            State::get().follow(&Link::to(row.view, &format!("{} {}", row.filter, series.filter)));
        }
        (row, series) => series.or(row).into_iter().for_each(|link| State::get().follow(link)),
    }
}

fn lying(stack: Arc<Stack>) -> AnyView {
    let rows = stack.rows.len();
    let max = (0..rows).map(|row| total(&stack, row)).fold(0.0, f64::max);
    let parts = (0..stack.series.len()).map(|series| {
        let path: String = (0..rows)
            .filter(|&row| max > 0.0 && size(&stack, row, series) > 0.0)
            .map(|row| {
                let (left, width) = (begin(&stack, row, series) / max, size(&stack, row, series) / max);
                format!(
                    "M{:.3} {:.2}h{:.3}v0.8h-{:.3}z",
                    1000.0 * left,
                    row as f64 + 0.1,
                    1000.0 * width,
                    1000.0 * width
                )
            })
            .collect();
        let class = stack.series.get(series).map(|series| series.class.name()).unwrap_or_default();
        view! { <path class=format!("part {class}") style:opacity=opacity(&stack, series) d=path /> }
    });
    let drawing = view! {
        <svg viewBox=format!("0 0 1000 {rows}") preserveAspectRatio="none" aria-hidden="true">{parts.collect_view()}</svg>
    }
    .into_any();
    let find = {
        let stack = stack.clone();
        move |at: Pair, size: Pair| {
            let row = ((at.1 / size.1 * rows as f64) as usize).min(rows - 1);
            Some(row * stack.series.len() + part_at(&stack, row, at.0 / size.0 * max)?)
        }
    };
    let place = {
        let stack = stack.clone();
        move |mark: usize| {
            let (row, series) = (mark / stack.series.len(), mark % stack.series.len());
            let scale = if max > 0.0 { 1.0 / max } else { 0.0 };
            let left = begin(&stack, row, series) * scale;
            let top = (row as f64 + 0.1) / rows as f64;
            ((left, top), (size(&stack, row, series) * scale, 0.8 / rows as f64))
        }
    };
    let labels = stack
        .rows
        .iter()
        .map(|row| view! { <li class:odd=!row.mark.is_empty()><Name text=row.label.replace("/device:", "") width=28 /></li> })
        .collect_view();
    let totals = (0..rows).map(|row| view! { <li>{unit::short(total(&stack, row), stack.unit)}</li> }).collect_view();
    let height = format!("{}px", rows * ROW_PX);
    let ticks = ticks::axis(max, 4).ticks.into_iter().filter(|tick| *tick <= max).map(|tick| {
        let left = format!("{:.2}%", 100.0 * tick / max);
        view! { <span style:left=left>{ticks::label(tick, stack.unit)}</span> }
    });
    let ticks = (max > 0.0).then(|| ticks.collect_view());
    let drawn = chart(marks(stack, Box::new(find), Box::new(place), true), "lying", drawing);
    view! {
        <div class="lying-plot" style:grid-template-rows=format!("{height} 20px")>
            <ul class="row-labels">{labels}</ul>{drawn}<ul class="row-totals">{totals}</ul>
            <div class="x-axis" aria-hidden="true">{ticks}</div>
        </div>
    }
    .into_any()
}

type Find = Box<dyn Fn(Pair, Pair) -> Option<usize> + Send + Sync>;
type PlaceOf = Box<dyn Fn(usize) -> (Pair, Pair) + Send + Sync>;

fn marks(stack: Arc<Stack>, find: Find, place: PlaceOf, is_lying: bool) -> Marks {
    let (count, by) = (stack.rows.len() * stack.series.len(), stack.series.len());
    let (walked, described) = (stack.clone(), stack.clone());
    let step = move |now: Option<usize>, key: &str| {
        // Left and right move along a bar, up and down between bars. For columns the directions are swapped.
        let key = match (key, is_lying) {
            ("ArrowRight", false) => "ArrowDown",
            ("ArrowLeft", false) => "ArrowUp",
            ("ArrowUp", false) => "ArrowRight",
            ("ArrowDown", false) => "ArrowLeft",
            (key, _) => key,
        };
        let mut at = walk(now, key, count, by)?;
        // Skip parts of size zero.
        while size(&walked, at / by, at % by) == 0.0 {
            let next = walk(Some(at), key, count, by)?;
            if next == at {
                return now;
            }
            at = next;
        }
        Some(at)
    };
    Marks {
        label: bounded(&stack.title),
        find,
        step: Box::new(step),
        place,
        describe: Box::new(move |mark| describe(&described, mark)),
        act: Box::new(move |mark| follow(&stack, mark)),
    }
}

fn standing(stack: Arc<Stack>) -> AnyView {
    let rows = stack.rows.len();
    let columns: Vec<Vec<f64>> = stack.rows.iter().map(|row| row.parts.clone()).collect();
    let largest = (0..rows).map(|row| total(&stack, row)).fold(0.0, f64::max);
    let axis = ticks::axis(largest, 4);
    let max = axis.max;
    let paths = geometry::paths(&columns, stack.series.len(), max);
    let parts = paths.into_iter().enumerate().map(|(series, path)| {
        let class = stack.series.get(series).map(|series| series.class.name()).unwrap_or_default();
        view! { <path class=format!("part {class}") style:opacity=opacity(&stack, series) d=path /> }
    });
    let lines = axis.ticks.iter().map(|tick| {
        let y = geometry::y_of(*tick, max).to_string();
        view! { <line class="grid" x1="0" x2=rows.to_string() y1=y.clone() y2=y /> }
    });
    let drawing = view! {
        <svg viewBox=format!("0 0 {rows} 100") preserveAspectRatio="none" aria-hidden="true">{lines.collect_view()}{parts.collect_view()}</svg>
    }
    .into_any();
    let labels = axis.ticks.iter().map(|tick| {
        let top = format!("{:.2}%", geometry::y_of(*tick, max));
        view! { <span style:top=top>{ticks::label(*tick, stack.unit)}</span> }
    });
    let labels = labels.collect_view();
    let find = {
        let stack = stack.clone();
        move |at: Pair, size: Pair| {
            let row = geometry::column_at(at.0, size.0, rows)?;
            Some(row * stack.series.len() + part_at(&stack, row, (1.0 - at.1 / size.1) * max)?)
        }
    };
    let place = {
        let stack = stack.clone();
        move |mark: usize| {
            let (row, series) = (mark / stack.series.len(), mark % stack.series.len());
            let height = size(&stack, row, series) / max;
            let top = 1.0 - (begin(&stack, row, series) + size(&stack, row, series)) / max;
            ((row as f64 / rows as f64, top), (1.0 / rows as f64, height))
        }
    };
    // Label columns at equal distances, including the first and the last column.
    let named = (0..=X_LABELS).filter_map(|at| stack.rows.get(at * (rows - 1) / X_LABELS));
    let named = named.map(|row| view! { <bdi>{bounded(&row.label)}</bdi> }).collect_view();
    let odd = underlines(&stack);
    let odd = (!odd.is_empty()).then(|| {
        view! {
            <div class="marks" aria-hidden="true">
                <svg viewBox=format!("0 0 {rows} 4") preserveAspectRatio="none"><path class="odd" d=odd /></svg>
            </div>
        }
    });
    let drawn = chart(marks(stack, Box::new(find), Box::new(place), false), "standing", drawing);
    view! {
        <div class="plot"><div class="y-axis" aria-hidden="true">{labels}</div>{drawn}{odd}</div>
        <p class="x-ends quiet">{named}</p>
    }
    .into_any()
}
