//! A map of coloured cells. The picture has one pixel per cell and is enlarged by the style sheet, so that maps with
//! millions of cells scroll smoothly.

use std::sync::Arc;

use crossprof::document::HeatMap;
use crossprof::table::{Cell, unit};
use leptos::html;
use leptos::prelude::*;
use wasm_bindgen::{Clamped, JsCast};
use web_sys::{CanvasRenderingContext2d, HtmlCanvasElement, ImageData};

use super::chart::{Marks, Pair, chart, walk};
use super::figure::{Chart, Data, figure, number, text};
use crate::components::tip::Name;
use crate::components::warnings::{bounded, bounded_lines};
use crate::state::State;

/// Red, green and blue of cells above and below the middle of the scale, and the colour of cells without a value. All
/// these colours are visible on light and dark backgrounds. Cells near the middle are almost transparent.
const ABOVE: [u8; 3] = [214, 88, 10];
const BELOW: [u8; 3] = [22, 122, 206];
const ABSENT: [u8; 4] = [128, 128, 128, 70];
/// Minimum and maximum height of a row in pixels, and the largest height of a map that fits on the screen.
const ROW_PX: (usize, usize) = (4, 20);
const MAP_PX: usize = 480;
/// Minimum height of a label, in pixels.
const LABEL_PX: usize = 12;
/// Minimum width of a column, in pixels.
const COLUMN_PX: usize = 3;

/// Renders the map.
pub(super) fn heat_map(map: HeatMap) -> AnyView {
    let (rows, columns) = (map.rows.len(), map.columns.len());
    let row_px = (MAP_PX / rows.max(1)).clamp(ROW_PX.0, ROW_PX.1);
    let canvas = NodeRef::<html::Canvas>::new();
    let map = Arc::new(map);
    let drawn = map.clone();
    Effect::new(move |_| {
        if let Some(canvas) = canvas.get() {
            draw(&canvas, &drawn);
        }
    });
    // Labels name the groups if rows are too low for their own labels.
    let every = |step: usize| (0..rows).step_by(step.max(1)).filter_map(|row| Some((row, map.rows.get(row)?.clone())));
    let labels: Vec<(usize, String)> = match map.groups.is_empty() || row_px >= LABEL_PX {
        true => every(LABEL_PX.div_ceil(row_px)).collect(),
        false => map.groups.iter().map(|(row, name)| (*row as usize, name.clone())).collect(),
    };
    let mut free = 0;
    let labels = labels.into_iter().filter_map(|(row, name)| {
        let top = row * row_px;
        (top >= free).then(|| {
            free = top + LABEL_PX;
            view! { <li style:top=format!("{top}px") style:line-height=format!("{}px", row_px.max(LABEL_PX))><Name text=name.replace("/device:", "") width=22 /></li> }
        })
    });
    let labels = labels.collect_view();
    let (height, width) = (format!("{}px", rows * row_px), format!("{}px", columns * COLUMN_PX));
    let cells =
        chart(marks(map.clone()), "heat", view! { <canvas node_ref=canvas aria-hidden="true"></canvas> }.into_any());
    let ends = map.ends.map(|(low, high)| {
        let class = if map.middle.is_some() { "heat-scale differs" } else { "heat-scale" };
        view! { <p class=class><span>{unit::short(low, map.unit)}</span><i></i><span>{unit::short(high, map.unit)}</span></p> }
    });
    let body = view! {
        <p class="quiet">{bounded(&map.note)}</p>
        {ends}
        <div class="heat-plot" tabindex="-1"><ul class="heat-labels" style:height=height.clone()>{labels}</ul><div class="heat-cells" style:height=height style:min-width=width>{cells}</div></div>
    };
    let data_of = map.clone();
    figure(Chart {
        title: bounded(&map.title).into_any(),
        name: map.title.clone(),
        class: "",
        body: body.into_any(),
        data: Arc::new(move || data(&data_of)),
    })
}

/// Draws one pixel per cell.
fn draw(canvas: &HtmlCanvasElement, map: &HeatMap) {
    let (rows, columns) = (map.rows.len(), map.columns.len());
    let paint = |level: u8| -> [u8; 4] {
        let strength = map.strength(level);
        let [red, green, blue] = if strength < 0.0 { BELOW } else { ABOVE };
        if level == 0 { ABSENT } else { [red, green, blue, (strength.abs() * 255.0) as u8] }
    };
    let paints: Vec<[u8; 4]> = (0..=crossprof::document::heat_map::LEVELS).map(paint).collect();
    let cells = (0..rows).flat_map(|row| (0..columns).map(move |column| (row, column)));
    let mut pixels: Vec<u8> = Vec::with_capacity(4 * rows * columns);
    for (row, column) in cells {
        pixels.extend(paints.get(usize::from(map.level(row, column))).unwrap_or(&ABSENT));
    }
    canvas.set_width(columns as u32);
    canvas.set_height(rows as u32);
    let context = canvas.get_context("2d").ok().flatten().and_then(|it| it.dyn_into::<CanvasRenderingContext2d>().ok());
    let image = ImageData::new_with_u8_clamped_array_and_sh(Clamped(&pixels), columns as u32, rows as u32);
    if let Some((context, image)) = context.zip(image.ok()) {
        // Fails only for values that are not finite.
        let _ = context.put_image_data(&image, 0.0, 0.0);
    }
}

/// Returns the numbers of the map as a table with the same rows and columns.
fn data(map: &HeatMap) -> Data {
    let mut data = Data::of(&[("Row", crossprof::table::Unit::Text)]);
    data.columns.extend(map.columns.iter().map(|column| (column.clone(), map.unit)));
    let cell = |row, column| map.value(row, column).map_or(Cell::Absent, |(value, _)| number(value));
    let row = |(at, name): (usize, &String)| {
        std::iter::once(text(name)).chain((0..map.columns.len()).map(|column| cell(at, column))).collect()
    };
    data.rows = map.rows.iter().enumerate().map(row).collect();
    data
}

fn marks(map: Arc<HeatMap>) -> Marks {
    let state = State::get();
    let (rows, columns) = (map.rows.len(), map.columns.len().max(1));
    let find = move |at: Pair, of: Pair| {
        let index = |share: f64, count: usize| ((share * count as f64) as usize).min(count.saturating_sub(1));
        Some(index(at.1 / of.1, rows) * columns + index(at.0 / of.0, columns))
    };
    let place = move |mark: usize| {
        let (width, height) = (1.0 / columns as f64, 1.0 / rows as f64);
        (((mark % columns) as f64 * width, (mark / columns) as f64 * height), (width, height))
    };
    let label = bounded(&map.title);
    let shown = map.clone();
    let describe = move |mark: usize| {
        let name = |names: &[String], at: usize| names.get(at).cloned().unwrap_or_default();
        let value = match shown.value(mark / columns, mark % columns) {
            Some((value, is_exact)) => {
                let sign = if shown.middle.is_some() && value > 0.0 { "+" } else { "" };
                format!("{}{sign}{}", if is_exact { "" } else { "≈ " }, unit::short(value, shown.unit))
            }
            None => "not measured".to_owned(),
        };
        bounded_lines(&[&name(&shown.rows, mark / columns), &name(&shown.columns, mark % columns), &value])
    };
    let act = move |mark: usize| {
        if let Some(link) = map.link(mark / columns, mark % columns) {
            state.follow(&link);
        }
    };
    Marks {
        label,
        find: Box::new(find),
        step: Box::new(move |now, key| walk(now, key, rows * columns, columns)),
        place: Box::new(place),
        describe: Box::new(describe),
        act: Box::new(act),
    }
}
