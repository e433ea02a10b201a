//! Waterfall chart that shows how one total changes into another. Each bar begins at the end of the previous one. Signs
//! and symbols next to the numbers repeat the meaning of the colours.

use std::sync::Arc;

use crossprof::document::Waterfall;
use crossprof::table::{Unit, unit};
use leptos::prelude::*;

use super::figure::{Chart, Data, figure, number, text};
use crate::components::tip::Name;
use crate::components::warnings::bounded;

/// Height of a row in pixels. The style sheet has the same value.
const ROW_PX: usize = 26;

/// Renders the chart.
pub(super) fn waterfall(it: Waterfall) -> AnyView {
    let it = Arc::new(it);
    let shown = it.clone();
    figure(Chart {
        title: bounded(&it.title).into_any(),
        name: it.title.clone(),
        class: "waterfall",
        body: body(&it),
        data: Arc::new(move || data(&shown)),
    })
}

fn data(it: &Waterfall) -> Data {
    let mut data = Data::of(&[("Part", Unit::Text), ("Difference", it.unit), ("Sum so far", it.unit)]);
    data.rows.push(vec![text(&it.start.0), number(f64::NAN), number(it.start.1)]);
    let mut sum = it.start.1;
    for step in &it.parts {
        sum += step.delta;
        data.rows.push(vec![text(&step.label), number(step.delta), number(sum)]);
    }
    data.rows.push(vec![text(&it.end.0), number(it.end.1 - it.start.1), number(it.end.1)]);
    data
}

/// A row: label, start and end of its bar, class, and value as text.
struct WaterfallRow {
    label: String,
    from: f64,
    to: f64,
    class: String,
    value: String,
}

fn rows(it: &Waterfall) -> Vec<WaterfallRow> {
    let total = |label: &str, value: f64| WaterfallRow {
        label: label.to_owned(),
        from: 0.0,
        to: value,
        class: "total".to_owned(),
        value: unit::short(value, it.unit),
    };
    let mut rows = vec![total(&it.start.0, it.start.1)];
    let mut sum = it.start.1;
    for step in it.parts.iter().filter(|step| step.delta != 0.0) {
        // The symbols are the same as for all compared numbers: up is better, and less time is better.
        let sign = if step.delta < 0.0 { "▲ −" } else { "▼ +" };
        rows.push(WaterfallRow {
            label: step.label.clone(),
            from: sum,
            to: sum + step.delta,
            class: format!("{} {}", step.class.name(), if step.delta < 0.0 { "less" } else { "more" }),
            value: format!("{sign}{}", unit::short(step.delta.abs(), it.unit)),
        });
        sum += step.delta;
    }
    rows.push(total(&it.end.0, it.end.1));
    rows
}

fn body(it: &Waterfall) -> AnyView {
    let rows = rows(it);
    // On an axis from zero, small differences between long steps would be invisible. In this case, the axis begins near the
    // smallest value.
    let ends = || rows.iter().skip(1).take(rows.len() - 2).flat_map(|row| [row.from, row.to]);
    let (least, most) = (ends().fold(it.start.1, f64::min), ends().fold(it.start.1, f64::max));
    let is_cut = most > 0.0 && most - least < 0.25 * most;
    let zero = if is_cut { (least - 0.5 * (most - least)).max(0.0) } else { 0.0 };
    let scale = if most > zero { 1000.0 / (most - zero) } else { 0.0 };
    let place = |value: f64| ((value - zero) * scale).clamp(0.0, 1000.0);
    let bars = rows.iter().enumerate().map(|(at, row)| {
        let (left, right) = (place(row.from.min(row.to)), place(row.from.max(row.to)));
        let d = format!(
            "M{left:.3} {:.2}h{:.3}v0.7h-{:.3}z",
            at as f64 + 0.15,
            (right - left).max(1.0),
            (right - left).max(1.0)
        );
        view! { <path class=format!("part {}", row.class) d=d /> }
    });
    let labels = rows.iter().map(|row| view! { <li><Name text=row.label.clone() width=28 /></li> }).collect_view();
    let values = rows.iter().map(|row| view! { <li>{row.value.clone()}</li> }).collect_view();
    let said = rows.iter().map(|row| format!("{}: {}", row.label, row.value)).collect::<Vec<_>>().join("; ");
    let height = format!("{}px", rows.len() * ROW_PX);
    let cut = match is_cut {
        true => {
            format!(
                " The axis begins at {}, because the differences are small compared with the step.",
                unit::short(zero, it.unit)
            )
        }
        false => String::new(),
    };
    view! {
        <div class="lying-plot" style:height=height>
            <ul class="row-labels">{labels}</ul>
            <div class="chart lying" role="img" aria-label=bounded(&said)>
                <svg viewBox=format!("0 0 1000 {}", rows.len()) preserveAspectRatio="none" aria-hidden="true">{bars.collect_view()}</svg>
            </div>
            <ul class="row-totals">{values}</ul>
        </div>
        <p class="quiet">"▲ saves time, ▼ costs time."{cut}</p>
    }
    .into_any()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crossprof::document::WaterfallPart;
    use crossprof::session::StepPart;

    #[test]
    fn each_bar_begins_where_the_one_before_ended() {
        let part = |label: &str, delta: f64| WaterfallPart {
            label: label.into(),
            from: 60.0,
            to: 60.0 + delta,
            delta,
            class: StepPart::Compute.into(),
        };
        let it = Waterfall {
            title: "t".into(),
            unit: Unit::TimeUs,
            start: ("a".into(), 100.0),
            parts: vec![part("x", 20.0), part("same", 0.0), part("y", -50.0)],
            end: ("b".into(), 70.0),
        };
        let ends: Vec<(f64, f64)> = rows(&it).iter().map(|row| (row.from, row.to)).collect();
        assert_eq!(ends, [(0.0, 100.0), (100.0, 120.0), (120.0, 70.0), (0.0, 70.0)]);
        assert!(data(&it).tsv().ends_with("b\t-30\t70\n"), "{}", data(&it).tsv());
    }
}
