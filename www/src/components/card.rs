//! A headline figure: value, spread, judgement by colour, word and shape.

use crossprof::pages::Status;
use crossprof::{fields, format};
use leptos::prelude::*;

use super::tip::{Tips, term};
use super::warnings::tied;

/// What a card says.
#[derive(Debug, Default)]
pub struct CardText {
    /// What the figure is.
    pub title: String,
    /// What the field means; may be empty.
    pub definition: String,
    /// Three digits with the unit; absent where it was not measured.
    pub value: Option<String>,
    /// The value with four digits, for the tip.
    pub precise: String,
    /// The value with every digit, for programs that read the page.
    pub exact: String,
    /// What stands below.
    pub detail: String,
    /// More to say below the definition.
    pub more: String,
    /// How the value does against its limits.
    pub status: Option<Status>,
    /// Where the title leads.
    pub href: Option<String>,
    /// Where the line below leads.
    pub detail_href: Option<String>,
}

/// The card.
pub fn card(card: CardText) -> AnyView {
    let tips = Tips::get();
    let CardText { title, definition, value, precise, exact, detail, more, status, href, detail_href } = card;
    let missing = value.is_none();
    let shown = value.unwrap_or_else(|| format::DASH.to_owned());
    // Digits in groups are parted by another space than the unit.
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
