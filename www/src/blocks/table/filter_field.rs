//! The filter field of a table, with completions for the last word. Arrow keys select a completion, Enter and Tab
//! accept it, and Escape closes the list.

use leptos::prelude::*;
use web_sys::KeyboardEvent;

use super::Shown;
use crate::browser;
use crate::components::live::live;
use crate::components::warnings::bounded;
use crate::state::State;
use crate::table::completion::{Completion, completions};

/// State of the completion list: whether it is open, and the index of the selected line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Open {
    is_open: bool,
    chosen: Option<usize>,
}

/// Renders the field with its completion list.
pub(super) fn filter_field(shown: Signal<Shown>, title: Memo<String>) -> AnyView {
    let state = State::get();
    let open = RwSignal::new(Open::default());
    let key = shown.with_untracked(|shown| shown.table().map_or("", |table| table.table.key()));
    let list = format!("completions-{key}");
    let typed = move || state.route.with(|route| route.query.filter.clone());
    // The first letters of a value may match no row, and a table without rows offers no values. Therefore, keep the
    // last table that had rows.
    let with_rows = StoredValue::new(shown.get_untracked());
    // When the list is opened on an empty field, it offers all columns.
    let all = Memo::new(move |_| {
        let typed = typed();
        let now = shown.get();
        if now.table().is_some_and(|table| !table.rows.is_empty()) {
            with_rows.set_value(now);
        }
        with_rows.with_value(|shown| shown.table().map(|table| completions(table, &typed))).unwrap_or_default()
    });
    let is_shown = move || open.get().is_open && all.with(|all| !all.is_empty());
    let take = move |at: usize| {
        if let Some(Completion { filter, is_whole, .. }) = all.with_untracked(|all| all.get(at).cloned()) {
            state.filter(filter);
            // Keep the list open after `category=`, to offer values.
            open.set(Open { is_open: !is_whole, chosen: None });
        }
    };
    let on_key = move |event: KeyboardEvent| {
        let Open { is_open, chosen } = open.get_untracked();
        let count = all.with_untracked(Vec::len);
        let is_listed = is_open && count > 0;
        match event.key().as_str() {
            "ArrowDown" if count > 0 => {
                let next = chosen.filter(|_| is_open).map_or(0, |at| (at + 1) % count);
                open.set(Open { is_open: true, chosen: Some(next) });
            }
            "ArrowUp" if is_listed => {
                let last = chosen.and_then(|at| at.checked_sub(1)).unwrap_or(count - 1);
                open.set(Open { is_open: true, chosen: Some(last) });
            }
            "Enter" if is_listed && chosen.is_some() => chosen.into_iter().for_each(take),
            "Tab" if is_listed && !event.shift_key() => take(chosen.unwrap_or(0)),
            "Escape" if is_listed => {
                // Keep the filter. Otherwise, the page would clear it.
                event.stop_propagation();
                open.set(Open::default());
            }
            _ => return,
        }
        event.prevent_default();
        request_animation_frame(|| browser::reveal(".completions [aria-selected=true]"));
    };
    let line = list.clone();
    let lines = move || {
        let Open { chosen, .. } = open.get();
        let lines = all.get().into_iter().enumerate().map(|(at, completion)| {
            // Keep the focus in the field.
            let press = move |event: web_sys::PointerEvent| {
                event.prevent_default();
                take(at);
            };
            let is_chosen = (chosen == Some(at)).to_string();
            view! {
                <li id=format!("{line}-{at}") role="option" aria-selected=is_chosen on:pointerdown=press>
                    <bdi>{bounded(&completion.label)}</bdi><span class="quiet">{bounded(&completion.note)}</span>
                </li>
            }
        });
        lines.collect_view()
    };
    let active = list.clone();
    let active = move || {
        let chosen = open.get().chosen.filter(|_| is_shown());
        chosen.map(|at| format!("{active}-{at}"))
    };
    view! {
        <span class="filter-field">
            <input class="table-filter" type="search" placeholder="Filter: word -not column>1" spellcheck="false" autocomplete="off"
                role="combobox" aria-autocomplete="list" aria-controls=list.clone() aria-expanded=move || is_shown().to_string()
                aria-activedescendant=active aria-label=move || format!("Filter {}", title.get())
                prop:value=typed on:keydown=on_key on:blur=move |_| open.set(Open::default())
                on:input=move |event| {
                    state.filter(event_target_value(&event));
                    open.set(Open { is_open: true, chosen: None });
                } />
            <ul id=list class="completions" role="listbox" aria-label="Columns and values" hidden=move || !is_shown()>{live(lines)}</ul>
        </span>
    }
    .into_any()
}
