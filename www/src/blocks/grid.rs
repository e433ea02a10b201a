//! A small table. A cell contains a value and may have a note, a bar, and a mark that says better or worse.

use crossprof::document::{CellStatus, Grid, GridCell};
use leptos::prelude::*;

use crate::components::warnings::bounded;
use crate::state::State;

/// Renders the table. The first cell of each row is its heading.
pub(super) fn grid(grid: &Grid) -> AnyView {
    let title = bounded(&grid.title);
    // Screen readers need a name for each table. Without a title, the columns serve as the name.
    let name = if title.is_empty() { bounded(&grid.columns.join(", ")) } else { title.clone() };
    let title = (!title.is_empty()).then(|| view! { <h2>{title}</h2> });
    let heads =
        grid.columns.iter().map(|name| view! { <th scope="col"><bdi>{bounded(name)}</bdi></th> }).collect_view();
    let rows = grid.rows.iter().map(|cells| {
        let cells = cells.iter().enumerate().map(|(at, it)| if at == 0 { first(it) } else { cell(it) });
        view! { <tr>{cells.collect_view()}</tr> }
    });
    view! {
        <section class="panel grid-box">
            {title}
            <div class="grid-scroll" tabindex="0" role="region" aria-label=name>
                <table><thead><tr>{heads}</tr></thead><tbody>{rows.collect_view()}</tbody></table>
            </div>
        </section>
    }
    .into_any()
}

fn first(it: &GridCell) -> AnyView {
    view! { <th scope="row">{inner(it)}</th> }.into_any()
}

fn cell(it: &GridCell) -> AnyView {
    view! { <td class=it.status.map_or("", CellStatus::word)>{inner(it)}</td> }.into_any()
}

fn inner(it: &GridCell) -> AnyView {
    let bar = it.bar.map(|share| {
        let width = format!("{:.2}%", (100.0 * share).clamp(0.0, 100.0));
        view! { <span class="grid-bar"><i style:width=width></i></span> }
    });
    let note = (!it.note.is_empty()).then(|| view! { <small><bdi>{bounded(&it.note)}</bdi></small> });
    let text = match it.choice.clone() {
        Some((option, value)) => {
            let state = State::get();
            let choose = move |_| state.choose(option.clone(), value.clone());
            view! { <button class="plain" on:click=choose><bdi>{bounded(&it.text)}</bdi></button> }.into_any()
        }
        None => view! { <bdi>{bounded(&it.text)}</bdi> }.into_any(),
    };
    view! { {text}{bar}{note} }.into_any()
}
