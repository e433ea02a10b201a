//! The menu that selects the visible columns.

use crossprof::document::ColumnBlock;
use crossprof::pages::columns_option;
use leptos::prelude::*;

use super::Shown;
use crate::components::live::live;
use crate::components::warnings::bounded;
use crate::state::State;

/// Tables with at most this many columns show all of them.
const MANY_COLUMNS: usize = 7;

/// Renders the menu. The menu is empty for a table with few columns.
pub(super) fn columns_menu(shown: Signal<Shown>) -> AnyView {
    let state = State::get();
    // Sorted by name, so that the menu keeps its order when the visible columns change.
    let all = Memo::new(move |_| {
        let columns = shown.with(|shown| shown.table().map(|table| table.columns.clone())).unwrap_or_default();
        let mut names: Vec<(String, String)> =
            columns.into_iter().map(|column| (bounded(&column.title), column.key)).collect();
        crossprof::text::sort::sort_by(&mut names, |a, b| a.cmp(b));
        names
    });
    let is_shown = move |key: &str| {
        shown.with(|shown| {
            shown.table()?.columns.iter().find(|column| column.key == key).map(|column| !column.is_folded)
        })
    };
    let change = move |key: String| {
        let shown = shown.get_untracked();
        let Some(table) = shown.table() else { return };
        let stays = |column: &&ColumnBlock| column.is_folded == (column.key == key);
        let keys: Vec<&str> = table.columns.iter().filter(stays).map(|column| column.key.as_str()).collect();
        state.choose(columns_option(table.table), keys.join(","));
    };
    let item = move |(title, key): (String, String)| {
        let (of, key) = (key.clone(), key);
        let checked = move || is_shown(&of) == Some(true);
        view! { <label><input type="checkbox" prop:checked=checked on:change=move |_| change(key.clone()) />{title}</label> }
    };
    let menu = move || {
        let names = all.get();
        (names.len() > MANY_COLUMNS).then(|| {
            view! { <details class="columns"><summary>"Columns"</summary><div class="menu">{names.into_iter().map(item).collect_view()}</div></details> }
        })
    };
    live(menu)
}
