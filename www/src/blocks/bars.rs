//! Labelled bars. If a bar has a link, a click on the bar follows the link.

use std::sync::Arc;

use crossprof::document::{Bar, Bars};
use crossprof::table::{Unit, unit};
use leptos::prelude::*;

use super::figure::{Chart, Data, figure, number, text};
use super::{heading, href};
use crate::components::tip::{Name, Tips};
use crate::components::warnings::{bounded, tied};

/// Renders a bar chart. The bars appear in the given order.
pub fn bars(run: u32, bars: Bars) -> AnyView {
    let largest = bars.bars.iter().map(|bar| bar.value).filter(|value| value.is_finite()).fold(0.0, f64::max);
    let largest = bars.whole.unwrap_or(largest);
    figure(Chart {
        title: heading(run, &bars.title, bars.about.as_ref()),
        name: bars.title.clone(),
        class: "small",
        body: body(run, &bars, largest),
        data: Arc::new(move || data(&bars)),
    })
}

/// Renders the bars and the note below them. A bar of size `largest` fills its track.
fn body(run: u32, bars: &Bars, largest: f64) -> AnyView {
    let rows = bars.bars.iter().map(|it| bar(run, it, bars.unit, largest)).collect_view();
    let is_empty = bars.bars.is_empty();
    let note = (!bars.note.is_empty()).then(|| tied(&bars.note));
    let note = note.map(|note| view! { <p class=if is_empty { "empty" } else { "quiet" }>{note}</p> });
    let list = (!is_empty).then(|| view! { <ul class="bars" aria-label=bounded(&bars.title)>{rows}</ul> });
    view! { {list}{note} }.into_any()
}

fn data(bars: &Bars) -> Data {
    let mut data = Data::of(&[("Name", Unit::Text), ("Value", bars.unit), ("Note", Unit::Text)]);
    data.rows = bars.bars.iter().map(|bar| vec![text(&bar.label), number(bar.value), text(&bar.note)]).collect();
    data
}

fn bar(run: u32, bar: &Bar, of: Unit, largest: f64) -> AnyView {
    let tips = Tips::get();
    let share =
        if largest > 0.0 && bar.value.is_finite() { 100.0 * (bar.value / largest).clamp(0.0, 1.0) } else { 0.0 };
    let note = if bar.note.is_empty() { "" } else { ", " };
    let exact = bounded(&format!("{}: {}{note}{}", bar.label, unit::short(bar.value, of), bar.note));
    let on_focus = exact.clone();
    // A value of zero has no bar.
    let fill = if share > 0.0 { format!("fill {}", bar.class.name()) } else { String::new() };
    let inner = view! {
        <Name text=bar.label.replace("/device:", "") width=44 />
        <span class="track"><i class=fill style:width=format!("{share:.2}%")></i></span>
        <span class="value">{unit::short(bar.value, of)}</span>
        <span class="share-text">{bounded(&bar.note)}</span>
    };
    let href = href(run, bar.link.as_ref());
    // Without an `href` this is not a link, but it can still have the focus.
    view! {
        <li><a class="bar" href=href tabindex="0" aria-describedby="tip"
            on:mouseenter=move |event| tips.show(&event, exact.clone())
            on:focus=move |event| tips.show(&event, on_focus.clone())
            on:mouseleave=move |_| tips.hide() on:blur=move |_| tips.hide()>{inner}</a></li>
    }
    .into_any()
}
