//! A choice: buttons side by side, one of which is pressed.

use crossprof::pages::Choice;
use leptos::prelude::*;

use crate::state::State;

/// The buttons; the chosen value goes into the address.
pub fn choice(choice: &Choice) -> AnyView {
    let state = State::get();
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
