//! Scatter plot with optional lines, for example a roofline. The pointer snaps to the nearest point.

use std::sync::Arc;

use crossprof::document::{LineKind, Point, Scatter};
use crossprof::table::{Cell, Unit};
use crossprof::text::format;
use crossprof::text::sort::sort_by;
use leptos::prelude::*;

use super::chart::{Marks, Pair, chart, walk};
use super::figure::{Chart, Data, figure, number, text};
use crate::components::warnings::{bounded, bounded_lines};
use crate::plot::plane::{Place, Plane, inside, nearest};
use crate::state::State;

/// Maximum distance of the pointer from a point, in pixels.
const REACH_PX: f64 = 28.0;
/// Height of a line's label, as a fraction of the chart's height.
const LABEL_SHARE: f64 = 0.045;
/// Widths of the largest and the smallest point, in pixels.
const WIDTHS_PX: (f64, f64) = (30.0, 6.0);

/// Renders the chart.
pub(super) fn scatter(scatter: Scatter) -> AnyView {
    // The opposite corner, for points that are rectangles.
    let corner = |point: &Point| point.extent.map(|(width, height)| (point.x + width, point.y + height));
    let points: Vec<(f64, f64)> = scatter.points.iter().map(|point| (point.x, point.y)).collect();
    // A mark has the height of the plane.
    let lines = scatter.lines.iter().filter(|line| line.kind != LineKind::Mark);
    let lines: Vec<Vec<(f64, f64)>> = lines.map(|line| line.points.clone()).collect();
    let corners = scatter.points.iter().filter_map(corner);
    let shown: Vec<(f64, f64)> = points.iter().copied().chain(corners).collect();
    let plane = Plane::of(&shown, &lines, scatter.logarithmic);
    let places: Arc<[Option<Place>]> = points.iter().map(|point| plane.place(*point)).collect();
    let far: Arc<[Option<Place>]> = scatter.points.iter().map(|point| plane.place(corner(point)?)).collect();
    let percent = |share: f64| format!("{:.3}%", 100.0 * share);

    let grid_x = plane.x.ticks().into_iter().filter_map(|tick| Some((plane.x.at(tick)?, tick)));
    let grid_y = plane.y.ticks().into_iter().filter_map(|tick| Some((1.0 - plane.y.at(tick)?, tick)));
    let (grid_x, grid_y): (Vec<_>, Vec<_>) = (grid_x.collect(), grid_y.collect());
    let mut grid = String::new();
    for (x, _) in &grid_x {
        grid.push_str(&format!("M{:.2} 0V1000", 1000.0 * x));
    }
    for (y, _) in &grid_y {
        grid.push_str(&format!("M0 {:.2}H1000", 1000.0 * y));
    }
    let pieces: Vec<Vec<(Place, Place)>> = scatter.lines.iter().map(|line| plane.pieces(&line.points)).collect();
    let roofs: String = pieces
        .iter()
        .flatten()
        .map(|(a, b)| format!("M{:.2} {:.2}L{:.2} {:.2}", 1000.0 * a.0, 1000.0 * a.1, 1000.0 * b.0, 1000.0 * b.1))
        .collect();
    // Label a rising line at its start, and a horizontal line at its end. Labels must not overlap.
    let mut taken: Vec<(bool, f64)> = Vec::new();
    let named = scatter.lines.iter().zip(&pieces).filter(|(line, _)| !line.label.is_empty());
    let named: Vec<_> = named.filter_map(|(line, pieces)| {
        let ((from, to), (_, end)) = (pieces.first()?, pieces.last()?);
        let rises = from.1 - to.1 > 0.01;
        let at = if rises { *from } else { *end };
        // Keep the label below the upper edge. Otherwise, the edge would cut the label off.
        let mut y = at.1.max(LABEL_SHARE);
        while taken.iter().any(|(left, other)| *left == rises && (other - y).abs() < LABEL_SHARE) {
            y += LABEL_SHARE;
        }
        taken.push((rises, y));
        let (left, right) = if rises { (percent(at.0), String::new()) } else { (String::new(), percent(1.0 - at.0)) };
        Some(view! {
            <span class="roof-label" class:rises=rises style:left=left style:right=right style:top=percent(y)><bdi>{bounded(&line.label)}</bdi></span>
        })
    }).collect();
    // Draw the largest points first, so that they do not hide smaller ones.
    let mut order: Vec<usize> = (0..scatter.points.len()).collect();
    sort_by(&mut order, |a, b| {
        let size = |at: &usize| scatter.points.get(*at).map_or(0.0, |point| point.size);
        size(b).total_cmp(&size(a))
    });
    let dots = order.into_iter().filter_map(|at| {
        let (point, place) = (scatter.points.get(at)?, places.get(at).copied().flatten()?);
        let (kind, top, width, height) = match far.get(at).copied().flatten() {
            Some(far) => ("area", far.1, percent(far.0 - place.0), percent(place.1 - far.1)),
            None => {
                let width = format!("{:.1}px", width_px(point.size));
                ("point", place.1, width.clone(), width)
            }
        };
        Some(view! {
            <i class=format!("{kind} {}", point.class.name()) style:left=percent(place.0) style:top=percent(top)
                style:width=width style:height=height></i>
        })
    });
    let drawing = view! {
        <svg viewBox="0 0 1000 1000" preserveAspectRatio="none" aria-hidden="true">
            <path class="grid" d=grid /><path class="roof" d=roofs />
        </svg>
        {dots.collect_view()}{named}
    }
    .into_any();
    let x_labels = grid_x.iter().map(|(x, tick)| view! { <span style:left=percent(*x)>{axis_label(*tick)}</span> });
    let y_labels = grid_y.iter().map(|(y, tick)| view! { <span style:top=percent(*y)>{axis_label(*tick)}</span> });
    let (x_labels, y_labels) = (x_labels.collect_view(), y_labels.collect_view());
    let (title, x_title, y_title) = (bounded(&scatter.title), bounded(&scatter.x_label), bounded(&scatter.y_label));
    let scatter = Arc::new(scatter);
    let drawn = chart(marks(scatter.clone(), places, far), "plane", drawing);
    let body = view! {
        <p class="quiet">{y_title}</p>
        <div class="plane-plot">
            <div class="y-axis" aria-hidden="true">{y_labels}</div>{drawn}
            <div class="x-axis" aria-hidden="true">{x_labels}</div>
        </div>
        <p class="x-title quiet">{x_title}</p>
    };
    figure(Chart {
        title: title.into_any(),
        name: scatter.title.clone(),
        class: "scatter",
        body: body.into_any(),
        data: Arc::new(move || data(&scatter)),
    })
}

/// Returns one row for each point, then one row for each corner of a line. Corners have no notes.
fn data(scatter: &Scatter) -> Data {
    let (x, y) = (scatter.x_label.as_str(), scatter.y_label.as_str());
    let mut data = Data::of(&[("Name", Unit::Text), (x, Unit::Number), (y, Unit::Number), ("Notes", Unit::Text)]);
    let row = |label: &str, (x, y): (f64, f64), notes: Cell| vec![text(label), number(x), number(y), notes];
    let points =
        scatter.points.iter().map(|point| row(&point.label, (point.x, point.y), text(&point.notes.join("; "))));
    let corners = scatter
        .lines
        .iter()
        .flat_map(|line| line.points.iter().map(|place| row(&line.label, *place, Cell::Absent)).collect::<Vec<_>>());
    data.rows = points.chain(corners).collect();
    data
}

/// Returns the width of a point in pixels. The area of the point is proportional to `size`.
fn width_px(size: f64) -> f64 {
    let size = if size.is_finite() { size.clamp(0.0, 1.0) } else { 0.0 };
    (WIDTHS_PX.0 * size.sqrt()).max(WIDTHS_PX.1)
}

fn axis_label(tick: f64) -> String {
    let text = if (0.01..1000.0).contains(&tick) || tick == 0.0 { format::number(tick) } else { format::si(tick, "") };
    format::without_zeros(&text)
}

fn marks(scatter: Arc<Scatter>, places: Arc<[Option<Place>]>, far: Arc<[Option<Place>]>) -> Marks {
    let count = scatter.points.len();
    // Arrow keys move from left to right.
    let mut order: Vec<usize> = (0..count).filter(|at| places.get(*at).is_some_and(Option::is_some)).collect();
    sort_by(&mut order, |a, b| {
        let x = |at: &usize| places.get(*at).copied().flatten().map_or(0.0, |place| place.0);
        x(a).total_cmp(&x(b))
    });
    let step = move |now: Option<usize>, key: &str| {
        let now = now.and_then(|now| order.iter().position(|at| *at == now));
        walk(now, key, order.len(), 1).and_then(|next| order.get(next).copied())
    };
    let found = places.clone();
    let across = far.clone();
    let place = move |mark: usize| -> (Pair, Pair) {
        let near = places.get(mark).copied().flatten().unwrap_or_default();
        let far = across.get(mark).copied().flatten().unwrap_or(near);
        (((near.0 + far.0) / 2.0, (near.1 + far.1) / 2.0), (0.0, 0.0))
    };
    let described = scatter.clone();
    let describe = move |mark: usize| {
        let Some(point) = described.points.get(mark) else { return String::new() };
        let lines: Vec<&str> =
            std::iter::once(point.label.as_str()).chain(point.notes.iter().map(String::as_str)).collect();
        bounded_lines(&lines)
    };
    Marks {
        label: bounded(&scatter.title),
        find: Box::new(move |at, size| {
            inside(&found, &far, (at.0 / size.0, at.1 / size.1)).or_else(|| nearest(&found, at, size, REACH_PX))
        }),
        step: Box::new(step),
        place: Box::new(place),
        describe: Box::new(describe),
        act: Box::new(move |mark| {
            if let Some(link) = scatter.points.get(mark).and_then(|point| point.link.as_ref()) {
                State::get().follow(link);
            }
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn axis_labels_are_short() {
        let labels = [0.001, 0.1, 1.0, 100.0, 1e5, 1e12].map(axis_label);
        assert_eq!(labels, ["1 m", "0.1", "1", "100", "100 k", "1 T"]);
    }
}
