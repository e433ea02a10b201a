//! Headline figures as a row of cards.

use crossprof::document::Figure;
use crossprof::table::unit;
use leptos::prelude::*;

use super::href;
use crate::components::card::{self, CardText};
use crate::components::warnings::bounded;

/// Renders the cards.
pub fn figures(run: u32, figures: &[Figure]) -> AnyView {
    let cards = figures.iter().map(|figure| card(run, figure)).collect_view();
    view! { <div class="cards">{cards}</div> }.into_any()
}

/// Renders one card.
fn card(run: u32, figure: &Figure) -> AnyView {
    let note = bounded(&figure.note);
    card::card(CardText {
        title: bounded(&figure.label),
        definition: figure.definition.clone(),
        value: figure.value.map(|value| unit::short(value, figure.unit)),
        precise: figure.value.map(|value| unit::precise(value, figure.unit)).unwrap_or_default(),
        exact: figure.value.map(|value| unit::full(value, figure.unit)).unwrap_or_default(),
        detail: note,
        more: figure.limits.clone(),
        level: figure.level,
        href: href(run, figure.link.as_ref()),
        detail_href: href(run, figure.note_link.as_ref()),
    })
}
