//! Headings, sentences, and what to do where there is nothing to show.

use leptos::prelude::*;

use crate::components::warnings::bounded;
use crate::state::State;

/// A heading, with a sentence below it.
pub fn heading(text: &str, note: Option<&str>) -> AnyView {
    let note = note.map(|note| view! { <p class="quiet">{bounded(note)}</p> });
    view! { <header class="block-heading"><h2>{bounded(text)}</h2>{note}</header> }.into_any()
}

/// Sentences, one paragraph per line.
pub fn note(text: &str) -> AnyView {
    let lines = text.lines().map(|line| view! { <p>{bounded(line)}</p> }).collect_view();
    view! { <div class="block-note">{lines}</div> }.into_any()
}

/// Why there is nothing, and what to run.
pub fn empty(reason: &str, remedy: Option<String>) -> AnyView {
    let state = State::get();
    let remedy = remedy.map(|remedy| {
        let copied = remedy.clone();
        // A remedy is code where it looks like it: a sentence needs no copying.
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
