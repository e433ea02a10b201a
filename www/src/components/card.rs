//! A headline figure: value, spread, judgement by colour, word and shape.

use crossprof::pages::Status;
use crossprof::{fields, format};
use leptos::prelude::*;

use super::tip::Tips;
use super::warnings::tied;

/// What a card says.
#[derive(Debug, Default)]
pub struct CardText {
    /// What the figure is.
    pub title: String,
    /// Path of the field of the profile; may be empty.
    pub field: String,
    /// What the field means; may be empty.
    pub definition: String,
    /// Three digits with the unit; absent where it was not measured.
    pub value: Option<String>,
    /// Every digit.
    pub exact: String,
    /// What stands below.
    pub detail: String,
    /// More to say below the definition.
    pub more: String,
    /// How it does.
    pub status: Option<Status>,
    /// Where the title leads.
    pub href: Option<String>,
    /// Where the line below leads.
    pub detail_href: Option<String>,
}

/// The card.
pub fn card(card: CardText) -> AnyView {
    let tips = Tips::get();
    let CardText { title, field, definition, value, exact, detail, more, status, href, detail_href } = card;
    let missing = value.is_none();
    let shown = value.unwrap_or_else(|| format::DASH.to_owned());
    // Digits in groups are parted by another space than the unit.
    let (number, unit) = shown.split_once(' ').unwrap_or((&shown, ""));
    let (number, unit) = (number.to_owned(), unit.to_owned());
    let lines = [fields::plain(&definition), more, field, exact.clone()];
    let about = lines.into_iter().filter(|line| !line.is_empty()).collect::<Vec<_>>().join("\n");
    let (on_focus, on_figure) = (about.clone(), exact.clone());
    let key = title.to_ascii_lowercase().replace(' ', "-");
    let detail = tied(&detail);
    let detail = match detail_href {
        Some(href) => view! { <a href=href>{detail}</a> }.into_any(),
        None => detail.into_any(),
    };
    // Without an address the title is no link, but the focus may still rest on it.
    view! {
        <article class="card" class:missing=missing data-card=key>
            <h2><a class="term" href=href tabindex="0" aria-describedby="tip"
                on:mouseenter=move |event| tips.show(&event, about.clone())
                on:focus=move |event| tips.show(&event, on_focus.clone())
                on:mouseleave=move |_| tips.hide() on:blur=move |_| tips.hide()>{title}</a></h2>
            <p class="figure" data-exact=exact
                on:mouseenter=move |event| if !missing { tips.show(&event, on_figure.clone()) } on:mouseleave=move |_| tips.hide()>
                {number}" "<span class="unit">{unit}</span>
            </p>
            <p class="detail">{status.map(badge)}<span>{detail}</span></p>
        </article>
    }
    .into_any()
}

/// Good, warning or bad: a shape, a colour and the word.
fn badge(status: Status) -> AnyView {
    let shape = match status {
        Status::Good => "M6 1a5 5 0 1 1 0 10A5 5 0 1 1 6 1z",
        Status::Warning => "M6 1l5.5 10H.5z",
        Status::Bad => "M1.5 1.5h9v9h-9z",
    };
    view! {
        <span class=format!("badge {}", status.word())>
            <svg width="10" height="10" viewBox="0 0 12 12" aria-hidden="true"><path d=shape /></svg>
            {status.word()}
        </span>
    }
    .into_any()
}
