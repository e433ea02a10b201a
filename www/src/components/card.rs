//! A headline figure: value, spread, and a rating by colour, word and shape.

use crossprof::report::Level;
use crossprof::text::{fields, format};
use leptos::prelude::*;

use super::tip::{Tips, term};
use super::warnings::tied;

/// Content of a card.
#[derive(Debug, Default)]
pub struct CardText {
    /// Title of the figure.
    pub title: String,
    /// Definition of the field, possibly empty.
    pub definition: String,
    /// Value with three digits and its unit. `None` if the value was not measured.
    pub value: Option<String>,
    /// Value with four digits, for the tooltip.
    pub precise: String,
    /// Value with all digits, for scripts that read the page.
    pub exact: String,
    /// Text below the value.
    pub detail: String,
    /// Text below the definition, in the tooltip.
    pub more: String,
    /// Rating of the value against its limits.
    pub level: Option<Level>,
    /// Link of the title.
    pub href: Option<String>,
    /// Link of the text below the value.
    pub detail_href: Option<String>,
}

/// Renders the card.
pub fn card(card: CardText) -> AnyView {
    let tips = Tips::get();
    let CardText { title, definition, value, precise, exact, detail, more, level, href, detail_href } = card;
    let missing = value.is_none();
    let shown = value.unwrap_or_else(|| format::DASH.to_owned());
    // The space between groups of digits differs from the space before the unit.
    let (number, unit) = shown.split_once(' ').unwrap_or((&shown, ""));
    let (number, unit) = (number.to_owned(), unit.to_owned());
    let on_figure = precise;
    let about = if definition.is_empty() { &detail } else { &definition };
    let about = format!("{}\n{more}", fields::plain(about)).trim_end().to_owned();
    let key = title.to_ascii_lowercase().replace(' ', "-");
    let detail = tied(&detail);
    let detail = match detail_href {
        Some(href) => view! { <a href=href>{detail}</a> }.into_any(),
        None => detail.into_any(),
    };
    view! {
        <article class="card" class:missing=missing data-card=key>
            <h2>{term(title, about, href)}</h2>
            <p class="figure" data-exact=exact
                on:mouseenter=move |event| if !missing { tips.show(&event, on_figure.clone()) } on:mouseleave=move |_| tips.hide()>
                {number}" "<span class="unit">{unit}</span>
            </p>
            <p class="detail">{level.map(badge)}<span>{detail}</span></p>
        </article>
    }
    .into_any()
}

/// Renders a rating as a shape, a colour and a word.
fn badge(level: Level) -> AnyView {
    let shape = match level {
        Level::Good => "M6 1a5 5 0 1 1 0 10A5 5 0 1 1 6 1z",
        Level::Note => "M1 4.5h10v3H1z",
        Level::Warning => "M6 1l5.5 10H.5z",
        Level::Bad => "M1.5 1.5h9v9h-9z",
    };
    view! {
        <span class=format!("badge {}", level.label())>
            <svg width="10" height="10" viewBox="0 0 12 12" aria-hidden="true"><path d=shape /></svg>
            {level.label()}
        </span>
    }
    .into_any()
}
