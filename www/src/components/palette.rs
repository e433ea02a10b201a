//! The command palette: every action of the page, found by typing. Arrows choose, Enter does it, Esc closes.

use std::sync::Arc;

use leptos::prelude::*;
use wasm_bindgen::JsCast;
use web_sys::KeyboardEvent;

use super::live::{live, shown};
use crate::boot::EXAMPLES;
use crate::browser;
use crate::keys::{self, Action, Press};
use crate::route::View;
use crate::state::State;

/// One line of the palette.
struct Command {
    text: String,
    /// The key that does the same.
    key: &'static str,
    action: Action,
}

/// All that can be done now: with a run in sight there is more.
fn commands(state: State) -> Vec<Command> {
    let mut all = Vec::new();
    let mut add = |text: &str, key: &'static str, action: Action| {
        all.push(Command { text: text.to_owned(), key, action });
    };
    if state.run().is_some() {
        for (index, view) in View::of_a_run().enumerate() {
            let key = "123456789".get(index..index + 1).unwrap_or("");
            add(&format!("View: {}", view.title()), key, Action::View(view));
        }
        for run in state.runs.get() {
            let name = crossprof::format::printable(&state.name_of(run.id));
            add(&format!("Run: {}", crossprof::format::shorten(&name, 60)), "", Action::ToRun(run.id));
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
    add("Copy the address of this view", "", Action::CopyAddress);
    add("Theme: light or dark", "D", Action::Theme);
    add("Help: all keys", "?", Action::Help);
    all
}

/// Whether a line holds every word that was typed.
fn fits(text: &str, typed: &str) -> bool {
    let text = text.to_ascii_lowercase();
    typed.to_ascii_lowercase().split_whitespace().all(|word| text.contains(word))
}

/// The dialog.
#[component]
pub fn Palette() -> impl IntoView {
    let state = State::get();
    shown(move || state.palette.get(), move || untrack(|| opened(state)))
}

fn opened(state: State) -> AnyView {
    let all: Arc<[Command]> = commands(state).into();
    let typed = RwSignal::new(String::new());
    let chosen = RwSignal::new(0usize);
    let found = {
        let all = all.clone();
        move |typed: &str| -> Vec<usize> {
            all.iter().enumerate().filter(|(_, command)| fits(&command.text, typed)).map(|(at, _)| at).collect()
        }
    };
    let close = move || {
        state.palette.set(false);
        browser::leave();
    };
    let act = {
        let (all, found) = (all.clone(), found.clone());
        move |at: usize| {
            let command =
                found(&typed.get_untracked()).get(at).and_then(|at| all.get(*at)).map(|command| command.action);
            if let Some(action) = command {
                close();
                // It may move the focus.
                keys::act(state, action);
            }
        }
    };
    let on_key = {
        let (found, act) = (found.clone(), act.clone());
        move |event: KeyboardEvent| {
            let (count, now) = (found(&typed.get_untracked()).len(), chosen.get_untracked());
            let next = match event.key().as_str() {
                "ArrowDown" => {
                    if now + 1 < count {
                        now + 1
                    } else {
                        0
                    }
                }
                "ArrowUp" => now.checked_sub(1).unwrap_or(count.saturating_sub(1)),
                // There is nothing else to go to.
                "Tab" => now,
                "Enter" => {
                    // What gets the focus next is not to hear of it.
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
    // Lines are distinguished by their number, so that one handler serves all.
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
        let (numbers, now) = (found(&typed.get()), chosen.get());
        if numbers.is_empty() {
            return view! { <p class="empty">"No action of that name."</p> }.into_any();
        }
        let lines = numbers.into_iter().filter_map(|number| all.get(number)).enumerate().map(|(at, command)| {
            view! {
                <li id=format!("command-{at}") role="option" aria-selected=(at == now).to_string()>
                    <bdi>{command.text.clone()}</bdi><kbd>{command.key}</kbd>
                </li>
            }
            .into_any()
        });
        lines.collect_view().into_any()
    };
    let on_input = move |event: web_sys::Event| {
        typed.set(event_target_value(&event));
        chosen.set(0);
    };
    browser::enter("#palette input");
    view! {
        <div class="curtain high" on:click=move |_| close()>
            <section id="palette" class="dialog" role="dialog" aria-modal="true" aria-label="Commands" on:click=|event| event.stop_propagation()>
                <input type="text" role="combobox" aria-expanded="true" aria-controls="commands" aria-autocomplete="list" aria-label="Command"
                    aria-activedescendant=move || format!("command-{}", chosen.get()) placeholder="What to do?" spellcheck="false" autocomplete="off"
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
