//! The help dialog with a list of all keys.

use leptos::prelude::*;

use super::live::shown;
use crate::browser;
use crate::state::State;

/// Keys and their actions. Two spaces separate the gestures in a row, and each gesture is rendered as a separate `<kbd>`.
const KEYS: [(&str, &str); 12] = [
    ("1 … 9", "views of the run"),
    ("[  ]", "previous and next run"),
    ("Ctrl K  ⌘ K", "all commands"),
    ("/", "filter the table"),
    ("Esc", "clear the filter, close this"),
    ("D", "light or dark"),
    ("O", "open a profile"),
    ("C", "compare runs"),
    ("← → ↑ ↓", "move through the focused chart or table"),
    ("Enter", "filter by the selected mark, or follow its link"),
    ("T", "show the row of the table in the timeline"),
    ("?", "this help"),
];

const TIMELINE_KEYS: [(&str, &str); 18] = [
    ("W S  Ctrl wheel", "zoom around the pointer"),
    ("A D  Shift wheel", "move earlier or later (also: drag with Shift)"),
    ("drag", "select a range that snaps to events (with Alt: any range)"),
    ("← →  , .", "previous and next event of the lane"),
    ("↑ ↓", "event above and below"),
    ("[  ]", "cause and effect of the selected event"),
    ("click on a name  L", "switch between low and normal lanes"),
    ("Shift click on a name  T", "pin the track at the top, or unpin it"),
    ("H  Shift H", "hide the track; show all hidden tracks"),
    ("Alt ↑ ↓  drag a name", "move the track up or down"),
    ("Ctrl click  ⌘ click  G", "set a flag"),
    ("B", "keep the selected range"),
    ("J K  Delete", "next and previous flag or kept range; remove it"),
    ("F  double click", "zoom to the selection"),
    ("Z 0", "show all"),
    ("/  Enter  Shift Enter", "find; next and previous match"),
    ("M  Shift M", "select the time range of the event; also keep it"),
    ("Esc", "clear the selection"),
];

/// Renders the dialog.
#[component]
pub fn Help() -> impl IntoView {
    let state = State::get();
    let close = move |_| {
        state.help.set(false);
        browser::leave();
    };
    let rows = |keys: &'static [(&'static str, &'static str)]| {
        keys.iter().map(|(key, what)| view! { <dt>{gestures(key)}</dt><dd>{*what}</dd> }).collect_view()
    };
    Effect::new(move |_| {
        if state.help.get() {
            browser::enter("#help .plain");
        }
    });
    shown(
        move || state.help.get(),
        move || {
            view! {
                    <div class="curtain" on:click=close>
                        <section id="help" class="dialog" role="dialog" aria-modal="true" aria-label="Keys" on:click=|event| event.stop_propagation()>
                            <header><h2>"Keys"</h2><span class="spring"></span><button class="plain" on:click=close>"Close"</button></header>
                            <dl class="keys">{rows(&KEYS)}</dl>
                            <h3>"In the timeline"</h3>
                            <dl class="keys">{rows(&TIMELINE_KEYS)}</dl>
                            <p class="quiet">"To see a definition, point at a title or column heading, or move to it with Tab. To see all digits of a number, point at it."</p>
                        </section>
                    </div>
            }
        },
    )
}

fn gestures(row: &'static str) -> AnyView {
    row.split("  ").map(|gesture| view! { <kbd>{gesture}</kbd> }.into_any()).collect_view().into_any()
}
