//! Headline figures, side by side.

use crossprof::format;
use crossprof::pages::Figure;
use leptos::prelude::*;

use super::href;
use crate::components::card::Badge;
use crate::components::tip::Tips;
use crate::components::warnings::bounded;
use crate::status::Status;
use crate::{glossary, unit};

/// The cards.
pub fn figures(run: u32, figures: &[Figure]) -> AnyView {
    let cards = figures.iter().map(|figure| card(run, figure)).collect_view();
    view! { <div class="cards">{cards}</div> }.into_any()
}

/// One card.
pub fn card(run: u32, figure: &Figure) -> AnyView {
    let tips = Tips::get();
    let shown = figure.value.map_or_else(|| format::DASH.to_owned(), |value| unit::short(value, figure.unit));
    let exact = figure.value.map(|value| unit::full(value, figure.unit)).unwrap_or_default();
    let missing = figure.value.is_none();
    // Digits in groups are parted by another space than the unit.
    let (number, unit) = shown.split_once(' ').unwrap_or((&shown, ""));
    let (number, unit) = (number.to_owned(), unit.to_owned());
    let status = figure.status.as_deref().and_then(Status::from_word);
    let field = figure.metric.as_deref().unwrap_or_default();
    let lines = [glossary::definition(field).unwrap_or_default(), field, &exact, &figure.note];
    let about = lines.into_iter().filter(|line| !line.is_empty()).collect::<Vec<_>>().join("\n");
    let (on_focus, on_figure) = (about.clone(), about.clone());
    let label = bounded(&figure.label);
    let key = label.to_lowercase().replace(' ', "-");
    let label = match href(run, figure.link.as_ref()) {
        Some(href) => view! { <a href=href>{label}</a> }.into_any(),
        None => label.into_any(),
    };
    view! {
        <article class="card" class:missing=missing data-card=key>
            <h3><span class="term" tabindex="0" aria-describedby="tip"
                on:mouseenter=move |event| tips.show(&event, about.clone())
                on:focus=move |event| tips.show(&event, on_focus.clone())
                on:mouseleave=move |_| tips.hide() on:blur=move |_| tips.hide()>{label}</span></h3>
            <p class="figure" data-exact=exact
                on:mouseenter=move |event| tips.show(&event, on_figure.clone()) on:mouseleave=move |_| tips.hide()>
                {number}" "<span class="unit">{unit}</span>
            </p>
            <p class="detail">{status.map(|status| view! { <Badge status=status /> })}<span>{bounded(&figure.note)}</span></p>
        </article>
    }
    .into_any()
}
