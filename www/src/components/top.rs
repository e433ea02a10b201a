//! The top bar: name, selection of the run on narrow screens, filter, theme and help.

use crossprof::text::format::{printable, shorten};
use leptos::prelude::*;

use super::icons::Line;
use super::live::{live, says, shown};
use crate::route::{Route, View};
use crate::state::State;
use crate::table::terms::{terms, without};
use crate::{browser, theme};

/// Renders the top bar.
#[component]
pub fn Top() -> impl IntoView {
    let state = State::get();
    let chosen = move |event: web_sys::Event| {
        if let Ok(id) = event_target_value(&event).parse() {
            let of = state.route.with_untracked(|route| route.view);
            browser::go(&Route::of(if matches!(of, View::Start | View::Compare) { View::OVERVIEW } else { of }, id));
        }
    };
    let runs = move || {
        let current = state.run().map(|run| run.id);
        state
            .runs
            .get()
            .into_iter()
            .map(|run| {
                let name = shorten(&printable(&state.name_of(run.id)), 40);
                view! { <option value=run.id.to_string() selected=current == Some(run.id)>{name}</option> }
            })
            .collect_view()
    };
    let filter = Memo::new(move |_| state.route.with(|route| route.query.filter.clone()));
    let chips = move || {
        let chip = |(at, term): (usize, String)| {
            let text = shorten(&printable(&term.replace('"', "")), 32);
            let remove = move |_| state.filter(without(&filter.get_untracked(), at));
            view! { <button class="chip" title="Remove this filter (Esc removes all)" on:click=remove><bdi>{text}</bdi>" ×"</button> }
        };
        terms(&filter.get()).into_iter().enumerate().map(chip).collect_view()
    };
    view! {
        <header class="top">
            <a class="brand" href="#/start" aria-label="crossprof, start page">
                <svg width="20" height="20" viewBox="0 0 20 20" aria-hidden="true">
                    <rect class="brand-a" x="1" y="3" width="12" height="4" rx="1" /><rect class="brand-b" x="5" y="8.5" width="14" height="4" rx="1" /><rect class="brand-c" x="3" y="14" width="8" height="4" rx="1" />
                </svg>
                <span>"crossprof"</span>
            </a>
            <span class="crumb">{says(move || state.view().title().to_owned())}</span>
            <div class="chips" role="group" aria-label="Filter">{live(chips)}</div>
            {shown(move || state.runs.with(|runs| !runs.is_empty()), move || view! {
                <select class="run-select" aria-label="Run" on:change=chosen>{live(runs)}</select>
            })}
            <a class="icon-button narrow-only" href="#/start" aria-label="Open a profile"><Line path="M8 3v10M3 8h10" /></a>
            <button class="icon-button" aria-label="All commands (Ctrl K)" title="All commands (Ctrl K)" on:click=move |_| state.palette.set(true)><Line path="M7 2.5a4.5 4.5 0 1 0 0 9a4.5 4.5 0 1 0 0-9M10.3 10.3l3.2 3.2" /></button>
            <button class="icon-button" aria-label="Light or dark (D)" title="Light or dark (D)" on:click=move |_| theme::toggle(state.dark)><Line path="M8 2a6 6 0 1 0 0 12zM8 2a6 6 0 0 1 0 12" /></button>
            <button class="icon-button" aria-label="Keys (?)" title="Keys (?)" on:click=move |_| state.help.set(true)><Line path="M5.8 6a2.2 2.2 0 1 1 3.1 2c-.6.3-.9.7-.9 1.5M8 12v.1" /></button>
        </header>
    }
}
