//! Keyboard shortcuts. The shortcuts are inactive while the user types text.

use leptos::prelude::*;
use wasm_bindgen::JsCast;
use web_sys::{HtmlElement, KeyboardEvent};

use crate::boot::EXAMPLES;
use crate::components::drop_zone::open_example;
use crate::route::{Route, View};
use crate::state::State;
use crate::{browser, client, theme};

/// The effect of a key or command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Shows a view of the run.
    View(View),
    /// Shows the run that is this many places further down the rail, or further up if the number is negative.
    Run(i32),
    /// Focuses the filter of the table.
    Filter,
    /// Closes an open dialog or menu. If nothing is open, clears the filter.
    Clear,
    /// Switches between the light and the dark theme.
    Theme,
    /// Opens the start page.
    Open,
    /// Opens the comparison.
    Compare,
    /// Opens the list of keys.
    Help,
    /// Opens the command palette.
    Palette,
    /// Shows the run with this number.
    ToRun(u32),
    /// Loads the example with this index.
    Example(usize),
    /// Saves the unified profile.
    SaveProfile,
    /// Closes the run.
    CloseRun,
    /// Copies the URL of the page.
    CopyAddress,
    /// Clicks a button of the page.
    Press(Press),
}

/// A button of a table or figure, for example the button that saves the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Press {
    /// Selector of the element that contains the button.
    pub within: &'static str,
    /// Index of that element among all matches of the selector.
    pub at: usize,
    /// Value of the button's `data-save` attribute.
    pub button: &'static str,
}

/// Returns the action of a key. While the user types in a field, only Esc has an action.
pub fn action(key: &str, typing: bool) -> Option<Action> {
    if key == "Escape" {
        return Some(Action::Clear);
    }
    if typing {
        return None;
    }
    if let Ok(number) = key.parse::<usize>() {
        return View::of_a_run().nth(number.checked_sub(1)?).map(Action::View);
    }
    Some(match key {
        "[" => Action::Run(-1),
        "]" => Action::Run(1),
        "/" => Action::Filter,
        "d" | "D" => Action::Theme,
        "o" | "O" => Action::Open,
        "c" | "C" => Action::Compare,
        "?" => Action::Help,
        _ => return None,
    })
}

/// Listens for keyboard shortcuts.
pub fn listen(state: State) {
    window_event_listener(leptos::ev::keydown, move |event: KeyboardEvent| {
        let with_control = event.ctrl_key() || event.meta_key();
        if with_control && !event.alt_key() && !event.shift_key() && event.key().eq_ignore_ascii_case("k") {
            event.prevent_default();
            act(state, Action::Palette);
            return;
        }
        if with_control || event.alt_key() {
            return;
        }
        let target = event.target().and_then(|target| target.dyn_into::<HtmlElement>().ok());
        let typing =
            target.is_some_and(|element| matches!(element.tag_name().as_str(), "INPUT" | "TEXTAREA" | "SELECT"));
        if action(&event.key(), typing).is_some_and(|action| act(state, action)) {
            event.prevent_default();
        }
    });
}

/// Performs an action. Returns false if the action had no effect.
pub fn act(state: State, action: Action) -> bool {
    match action {
        Action::View(view) => {
            let Some(run) = untrack(|| state.run().filter(|run| run.has(view))) else { return false };
            browser::go(&untrack(|| state.route_to(view, run.id)));
        }
        Action::Run(by) => {
            let ids: Vec<u32> = state.runs.with_untracked(|runs| runs.iter().map(|run| run.id).collect());
            let here = untrack(|| state.run()).and_then(|run| ids.iter().position(|id| *id == run.id));
            let Some(next) = here.and_then(|here| here.checked_add_signed(by as isize)).and_then(|next| ids.get(next))
            else {
                return false;
            };
            return act(state, Action::ToRun(*next));
        }
        Action::ToRun(id) => {
            let view = state.route.with_untracked(|route| route.view);
            browser::go(&Route::of(if view == View::Start { View::OVERVIEW } else { view }, id));
        }
        Action::Filter => browser::focus(".table-filter"),
        Action::Clear => {
            if state.palette.get_untracked() || state.help.get_untracked() {
                state.palette.set(false);
                state.help.set(false);
                browser::leave();
            } else if !browser::close_menus() {
                state.filter(String::new());
            }
        }
        Action::Theme => theme::toggle(state.dark),
        Action::Open => browser::go(&Route::default()),
        Action::Compare => browser::go(&Route { view: View::Compare, ..Route::default() }),
        Action::Help => state.help.set(true),
        Action::Palette => state.palette.set(true),
        Action::Example(at) => {
            let Some(example) = EXAMPLES.get(at) else { return false };
            open_example(state, example.file);
        }
        Action::SaveProfile => {
            let Some(run) = untrack(|| state.run()) else { return false };
            let report = run.report.get_untracked();
            let name = format!("{}.crossprof.json", browser::file_stem(&untrack(|| state.name_of(run.id))));
            browser::download(&name, "application/json", browser::buffer(&report.document));
        }
        Action::CloseRun => {
            let Some(run) = untrack(|| state.run()) else { return false };
            client::close(state, &run);
        }
        Action::CopyAddress => state.copy(&browser::address(), "Address"),
        Action::Press(press) => browser::press(press.within, press.at, &format!("[data-save={}]", press.button)),
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_inactive_while_text_is_typed() {
        assert_eq!(action("1", false), Some(Action::View(View::OVERVIEW)));
        assert_eq!(action("4", false), Some(Action::View(View::TIMELINE)));
        assert_eq!(action("9", false), View::of_a_run().nth(8).map(Action::View));
        assert_eq!(action("0", false), None);
        assert_eq!(action("c", false), Some(Action::Compare));
        assert_eq!(action("1", true), None);
        assert_eq!(action("Escape", true), Some(Action::Clear));
        assert_eq!(action("x", false), None);
    }
}
