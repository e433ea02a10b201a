//! A headline figure: value, spread, judgement by colour, word and shape.

use crossprof::format;
use leptos::prelude::*;

use super::tip::{Term, Tips};
use crate::headline::Headline;
use crate::route::{Route, View};
use crate::status::Status;

/// One card of the overview.
#[component]
pub fn Card(
    /// What it says.
    headline: Headline,
    /// The run, for the way to the model's form.
    run: u32,
) -> impl IntoView {
    let tips = Tips::get();
    let Headline { title, field, value, exact, detail, status, limits, needs_model } = headline;
    let missing = value.is_none();
    let shown = value.unwrap_or_else(|| format::DASH.to_owned());
    // Digits in groups are parted by another space than the unit.
    let (number, unit) = shown.split_once(' ').unwrap_or((&shown, ""));
    let (number, unit) = (number.to_owned(), unit.to_owned());
    let on_focus = exact.clone();
    // Why it is absent may be longer than the card.
    let more = limits.map_or_else(|| Some(detail.clone()).filter(|_| missing), |limits| Some(limits.to_owned()));
    let key = title.to_lowercase().replace(' ', "-");
    let detail = if needs_model {
        view! { <a href=Route::of(View::Model, run).href()>{detail}</a> }.into_any()
    } else {
        detail.into_any()
    };
    view! {
        <article class="card" class:missing=missing data-card=key>
            <h3><Term field=field text=title more=more /></h3>
            <p class="figure" tabindex="0" aria-describedby="tip" data-exact=exact.clone()
                on:mouseenter=move |event| if !missing { tips.show(&event, exact.clone()) }
                on:focus=move |event| if !missing { tips.show(&event, on_focus.clone()) }
                on:mouseleave=move |_| tips.hide() on:blur=move |_| tips.hide()>
                {number}" "<span class="unit">{unit}</span>
            </p>
            <p class="detail">{status.map(|status| view! { <Badge status=status /> })}<span>{detail}</span></p>
        </article>
    }
}

/// Good, warning or bad: a shape, a colour and the word.
#[component]
pub fn Badge(
    /// The judgement.
    status: Status,
) -> impl IntoView {
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
}
