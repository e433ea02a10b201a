//! Headings, notes, and messages for empty views.

use leptos::prelude::*;

use crate::components::warnings::bounded;
use crate::state::State;

/// Renders a heading with an optional note below it.
pub(super) fn heading(text: &str, note: Option<&str>) -> AnyView {
    let note = note.map(|note| view! { <p class="quiet">{bounded(note)}</p> });
    view! { <header class="block-heading"><h2>{bounded(text)}</h2>{note}</header> }.into_any()
}

/// Renders text, one paragraph per line.
pub(super) fn note(text: &str) -> AnyView {
    let lines = text.lines().map(|line| view! { <p>{bounded(line)}</p> }).collect_view();
    view! { <div class="block-note">{lines}</div> }.into_any()
}

/// Renders the reason for missing data, and a remedy.
pub(super) fn empty(reason: &str, remedy: Option<String>) -> AnyView {
    let state = State::get();
    let remedy = remedy.map(|remedy| {
        let copied = remedy.clone();
        // Code gets a copy button, and a sentence does not.
        let is_code = ['(', '='].iter().any(|mark| remedy.contains(*mark)) || remedy.contains("import ");
        if !is_code {
            return view! { <p class="quiet">{bounded(&remedy)}</p> }.into_any();
        }
        view! {
            <div class="remedy-code">
                <pre class="snippet" tabindex="0"><code>{remedy}</code></pre>
                <button class="plain" on:click=move |_| state.copy(&copied, "Snippet")>"Copy"</button>
            </div>
        }
        .into_any()
    });
    view! { <section class="panel nothing"><p>{bounded(reason)}</p>{remedy}</section> }.into_any()
}
