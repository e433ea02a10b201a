//! A choice between values: a row of buttons, or a drop-down list if there are many values.

use crossprof::document::Choice;
use leptos::prelude::*;

use crate::state::State;

/// Maximum number of buttons. A choice between more values becomes a drop-down list.
const MAX_BUTTONS: usize = 6;

/// Renders the choice. The URL stores the selected value.
pub fn choice(choice: &Choice) -> AnyView {
    let state = State::get();
    if choice.values.len() > MAX_BUTTONS {
        let option = choice.option.clone();
        let on_change = move |event: web_sys::Event| state.choose(option.clone(), event_target_value(&event));
        let values = choice.values.iter().map(|(value, name)| {
            view! { <option value=value.clone() selected=*value == choice.chosen>{name.clone()}</option> }
        });
        return view! {
            <label class="choice" data-option=choice.option.clone()>
                <span class="quiet">{choice.label.clone()}</span><select on:change=on_change>{values.collect_view()}</select>
            </label>
        }
        .into_any();
    }
    let buttons = choice.values.iter().map(|(value, name)| {
        let (option, value) = (choice.option.clone(), value.clone());
        let is_chosen = value == choice.chosen;
        view! {
            <button type="button" aria-pressed=is_chosen.to_string() data-value=value.clone()
                on:click=move |_| state.choose(option.clone(), value.clone())>{name.clone()}</button>
        }
    });
    view! {
        <div class="choice" role="group" aria-label=choice.label.clone() data-option=choice.option.clone()>
            <span class="quiet">{choice.label.clone()}</span>{buttons.collect_view()}
        </div>
    }
    .into_any()
}
