//! Lists of names and values, and rows of links.

use crossprof::document::{Facts, Link};
use leptos::prelude::*;

use super::href;
use crate::components::tip::Tips;
use crate::components::warnings::{bounded, with_whole_flags};

/// Values with more characters than this are shown below their names.
const LONG: usize = 60;

/// Renders the list. Hovering over a name shows its definition.
pub(super) fn facts(of: &Facts) -> AnyView {
    let tips = Tips::get();
    let title = (!of.title.is_empty()).then(|| view! { <h2>{bounded(&of.title)}</h2> });
    let facts = of.facts.iter().map(|fact| {
        let about = fact.definition.clone();
        let show = move |event: web_sys::MouseEvent| {
            if !about.is_empty() {
                tips.show(&event, about.clone());
            }
        };
        view! {
            <div class:long=fact.value.chars().nth(LONG).is_some() on:mouseenter=show on:mouseleave=move |_| tips.hide()>
                <dt>{bounded(&fact.label)}</dt><dd><bdi>{with_whole_flags(&fact.value)}</bdi></dd>
            </div>
        }
    });
    view! { <section class="facts">{title}<dl>{facts.collect_view()}</dl></section> }.into_any()
}

/// Renders the links.
pub(super) fn links(run: u32, links: &[(String, Link)]) -> AnyView {
    let links =
        links.iter().map(|(label, link)| view! { <a class="plain" href=href(run, Some(link))>{label.clone()}</a> });
    view! { <nav class="row-links" aria-label="Related views">{links.collect_view()}</nav> }.into_any()
}
