//! The row whose details are open. The URL names this row, so that the back button returns to it.

use std::cell::RefCell;
use std::sync::Arc;

use crossprof::document::{Page, TableBlock};
use crossprof::table::{Cell, Query};
use leptos::prelude::*;

use super::super::Blocks;
use super::Shown;
use crate::ask;
use crate::components::live::follow;
use crate::route::RowKey;
use crate::state::{Run, State};

/// Returns the key that identifies a row in the URL, made from the row's first text cell.
pub(super) fn key_of(table: &TableBlock, index: usize) -> Option<RowKey> {
    let first = |cell: &Cell| if let Cell::Text(text) = cell { Some(RowKey::new(index, text)) } else { None };
    Some(table.rows.get(index)?.iter().find_map(first).unwrap_or_else(|| RowKey::new(index, "")))
}

/// Shows the details of the row that the URL names. Closes the details if the URL names no row.
pub(super) fn follow_address(run: Run, shown: Signal<Shown>, chosen: RwSignal<Option<Vec<Cell>>>, details: Blocks) {
    let state = State::get();
    let table = shown.with_untracked(|shown| shown.table().map_or("", |table| table.table.key()));
    let wanted = Memo::new(move |_| state.route.with(|route| route.rows.get(table).cloned()));
    let known = RefCell::new(None);
    follow(move || {
        let (wanted, shown) = (wanted.get(), shown.get());
        let Some(table) = shown.table() else { return };
        let Some(wanted) = wanted else {
            known.replace(None);
            return if chosen.with_untracked(Option::is_some) {
                chosen.set(None)
            };
        };
        // The row is already open. The row may have moved, or a filter may hide it.
        if known.borrow().as_ref() == Some(&wanted) {
            return;
        }
        let is_it = |row: &usize| key_of(table, *row).is_some_and(|key| key.name == wanted.name);
        let found = Some(wanted.index).filter(is_it).or_else(|| (0..table.rows.len()).find(is_it));
        let Some(row) = found else { return };
        let cells = table.rows.get(row).cloned();
        known.replace(Some(wanted));
        chosen.set(cells.clone());
        let query = Query { filter: table.filter.clone(), sort: table.sort.clone(), top: None };
        let heard = move |page: Result<Page, String>| {
            // By now the user may have selected another row or left the view.
            if chosen.try_get_untracked() == Some(cells) {
                match page {
                    Ok(page) => details.set(page.blocks.into_iter().map(Arc::new).collect()),
                    Err(reason) => state.say(reason),
                }
            }
        };
        ask::row(&run, table, query, row as u32, Box::new(heard));
    });
}
