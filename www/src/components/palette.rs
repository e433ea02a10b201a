//! The command palette. The user types to find actions of the page, and ops, name scopes and events of the run. Arrow
//! keys select a line, Enter runs it, and Esc closes the palette. A worker searches the run, so typing stays
//! responsive.

use std::sync::Arc;
use std::time::Duration;

use crossprof::pages::{Found, FoundKind};
use leptos::prelude::*;
use wasm_bindgen::JsCast;
use web_sys::KeyboardEvent;

use super::live::{live, shown};
use super::warnings::bounded;
use crate::boot::EXAMPLES;
use crate::keys::{self, Action, Press};
use crate::route::{RowKey, View};
use crate::state::State;
use crate::{ask, browser};

/// Delay after the last key before the run is searched.
const REST: Duration = Duration::from_millis(120);
/// Maximum number of actions above the search results.
const MOST_ACTIONS: usize = 8;

/// A command of the palette.
struct Command {
    text: String,
    /// Keyboard shortcut of the command.
    key: &'static str,
    action: Action,
}

/// Returns all commands that are available now. Some commands require an open run.
fn commands(state: State) -> Vec<Command> {
    let mut all = Vec::new();
    let mut add = |text: &str, key: &'static str, action: Action| {
        all.push(Command { text: text.to_owned(), key, action });
    };
    if let Some(run) = state.run() {
        for (index, view) in View::of_a_run().filter(|view| run.has(*view)).enumerate() {
            let key = "123456789".get(index..index + 1).unwrap_or("");
            add(&format!("View: {}", view.title()), key, Action::View(view));
        }
        for run in state.runs.get() {
            let name = crossprof::text::format::printable(&state.name_of(run.id));
            add(&format!("Run: {}", crossprof::text::format::shorten(&name, 60)), "", Action::ToRun(run.id));
        }
        add("Next run", "]", Action::Run(1));
        add("Previous run", "[", Action::Run(-1));
        add("Filter the tables of this view", "/", Action::Filter);
        add("Clear the filter", "Esc", Action::Clear);
        for (name, what) in [("svg", "SVG"), ("png", "PNG"), ("table", "Table")] {
            for (at, chart) in browser::attributes(".chart-box", "data-chart").into_iter().enumerate() {
                let text = if name == "table" { "Show as table or chart" } else { "Save chart as" };
                let text = if name == "table" { format!("{text}: {chart}") } else { format!("{text} {what}: {chart}") };
                add(&text, "", Action::Press(Press { within: ".chart-box", at, button: name }));
            }
        }
        add("Download the profile as JSON", "", Action::SaveProfile);
        add("Close this run and free its memory", "", Action::CloseRun);
    }
    if state.view() == View::Compare {
        for (text, button) in [
            ("Download the report of this comparison", "report"),
            ("Download this comparison as JSON", "comparison"),
            ("Copy this comparison as Markdown", "markdown"),
        ] {
            add(text, "", Action::Press(Press { within: ".compare-downloads", at: 0, button }));
        }
    }
    add("Compare runs", "C", Action::Compare);
    add("Open a profile", "O", Action::Open);
    for (at, example) in EXAMPLES.iter().enumerate() {
        add(&format!("Load example: {}", example.title), "", Action::Example(at));
    }
    add("Copy the URL of this view", "", Action::CopyAddress);
    add("Theme: light or dark", "D", Action::Theme);
    add("Help: all keys", "?", Action::Help);
    all
}

/// Returns true if the text contains every word that the user typed.
fn fits(text: &str, typed: &str) -> bool {
    let text = text.to_ascii_lowercase();
    typed.to_ascii_lowercase().split_whitespace().all(|word| text.contains(word))
}

/// A line of the palette: a command or a search result.
#[derive(Clone)]
enum Line {
    /// Index of a command.
    Command(usize),
    Found(Found),
}

/// Navigates to a search result. For an op, also opens the details of the op.
fn go_to(state: State, found: &Found) {
    let Some(run) = untrack(|| state.run()) else { return };
    let mut route = state.route_of(&found.link, run.id);
    if found.kind == FoundKind::Op {
        // Show all matching rows, so that the table contains only this op.
        route.query.options.remove("rows");
        route.rows.insert("ops".to_owned(), RowKey::new(0, &found.name));
    }
    browser::go(&route);
}

/// Searches the run after a pause in typing.
fn search(state: State, typed: RwSignal<String>, found: RwSignal<Vec<Found>>) {
    let Some(run) = untrack(|| state.run()) else { return };
    let text = typed.get_untracked();
    if text.trim().is_empty() {
        return found.set(Vec::new());
    }
    let is_wanted = move |text: &String| typed.try_with_untracked(|typed| typed == text) == Some(true);
    let ask = move || {
        if is_wanted(&text) {
            let searched = text.clone();
            // If the worker has ended, show no results.
            let heard = move |all: Result<Vec<Found>, String>| {
                if is_wanted(&searched) {
                    found.set(all.unwrap_or_default());
                }
            };
            ask::search(&run, text, Box::new(heard));
        }
    };
    set_timeout(ask, REST);
}

/// Renders the dialog.
#[component]
pub fn Palette() -> impl IntoView {
    let state = State::get();
    shown(move || state.palette.get(), move || untrack(|| opened(state)))
}

fn opened(state: State) -> AnyView {
    let all: Arc<[Command]> = commands(state).into();
    let typed = RwSignal::new(String::new());
    let chosen = RwSignal::new(0usize);
    let in_run = RwSignal::new(Vec::<Found>::new());
    let listed = {
        let all = all.clone();
        Memo::new_with_compare(
            move |_| {
                let typed = typed.get();
                let fitting = all.iter().enumerate().filter(|(_, command)| fits(&command.text, &typed));
                let most = if typed.trim().is_empty() { usize::MAX } else { MOST_ACTIONS };
                let commands = fitting.map(|(at, _)| Line::Command(at)).take(most);
                commands.chain(in_run.get().into_iter().map(Line::Found)).collect::<Vec<Line>>()
            },
            |_, _| true,
        )
    };
    let close = move || {
        state.palette.set(false);
        browser::leave();
    };
    let act = {
        let all = all.clone();
        move |at: usize| {
            let Some(line) = listed.with_untracked(|lines| lines.get(at).cloned()) else { return };
            close();
            match line {
                // Run the command after closing, because it may move the focus.
                Line::Command(at) => {
                    if let Some(command) = all.get(at) {
                        keys::act(state, command.action);
                    }
                }
                Line::Found(found) => go_to(state, &found),
            }
        }
    };
    let on_key = {
        let act = act.clone();
        move |event: KeyboardEvent| {
            let (count, now) = (listed.with_untracked(Vec::len), chosen.get_untracked());
            let next = match event.key().as_str() {
                "ArrowDown" => {
                    if now + 1 < count {
                        now + 1
                    } else {
                        0
                    }
                }
                "ArrowUp" => now.checked_sub(1).unwrap_or(count.saturating_sub(1)),
                // The input field is the only element that can have the focus.
                "Tab" => now,
                "Enter" => {
                    // The element that gets the focus must not receive this key.
                    event.prevent_default();
                    return act(now);
                }
                "Escape" => {
                    event.stop_propagation();
                    return close();
                }
                _ => return,
            };
            event.prevent_default();
            chosen.set(next);
            request_animation_frame(|| browser::reveal("#palette [aria-selected=true]"));
        }
    };
    // Element ids distinguish the lines, so one handler serves all lines.
    let line_of = |event: &web_sys::Event| {
        let line = event.target()?.dyn_into::<web_sys::Element>().ok()?.closest("[role=option]").ok()??;
        line.id().strip_prefix("command-")?.parse::<usize>().ok()
    };
    let on_click = move |event: web_sys::MouseEvent| {
        if let Some(at) = line_of(&event) {
            act(at);
        }
    };
    let on_move = move |event: web_sys::PointerEvent| {
        if let Some(at) = line_of(&event) {
            chosen.set(at);
        }
    };
    let lines = move || {
        let (lines, now) = (listed.get(), chosen.get());
        if lines.is_empty() {
            return view! { <p class="empty">"No action with this name, and no match in this run."</p> }.into_any();
        }
        let line = |(at, line): (usize, Line)| {
            let (kind, text, more) = match line {
                Line::Command(number) => {
                    let command = all.get(number)?;
                    (None, command.text.clone(), view! { <kbd>{command.key}</kbd> }.into_any())
                }
                Line::Found(Found { kind, name, note, .. }) => {
                    (Some(kind.label()), bounded(&name), view! { <span class="quiet">{note}</span> }.into_any())
                }
            };
            let kind = kind.map(|kind| view! { <span class="kind">{kind}</span> });
            Some(view! {
                <li id=format!("command-{at}") role="option" aria-selected=(at == now).to_string()>
                    <span>{kind}<bdi>{text}</bdi></span>{more}
                </li>
            })
        };
        lines.into_iter().enumerate().filter_map(line).collect_view().into_any()
    };
    let on_input = move |event: web_sys::Event| {
        typed.set(event_target_value(&event));
        chosen.set(0);
        search(state, typed, in_run);
    };
    browser::enter("#palette input");
    view! {
        <div class="curtain high" on:click=move |_| close()>
            <section id="palette" class="dialog" role="dialog" aria-modal="true" aria-label="Commands" on:click=|event| event.stop_propagation()>
                <input type="text" role="combobox" aria-expanded="true" aria-controls="commands" aria-autocomplete="list" aria-label="Command"
                    aria-activedescendant=move || format!("command-{}", chosen.get()) placeholder="Search actions, ops, scopes and events" spellcheck="false" autocomplete="off"
                    on:input=on_input on:keydown=on_key />
                <ul id="commands" role="listbox" aria-label="Commands" on:click=on_click on:pointermove=on_move>{live(lines)}</ul>
            </section>
        </div>
    }
    .into_any()
}

#[cfg(test)]
mod tests {
    use super::fits;

    #[test]
    fn every_word_counts_and_case_does_not() {
        assert!(fits("View: Roofline", ""));
        assert!(fits("View: Roofline", "roof VIEW"));
        assert!(!fits("View: Roofline", "roof ops"));
    }
}
