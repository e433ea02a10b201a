//! The one table: sorts, filters, copies, downloads; draws only the rows in sight.

use crossprof::export::csv;
use crossprof::export::tables::{Cell, Column, Table, Unit};
use crossprof::metrics::categories::family_of;
use leptos::html;
use leptos::prelude::*;
use wasm_bindgen::JsCast;
use web_sys::{Element, Event, KeyboardEvent};

use super::tip::Tips;
use crate::browser;
use crate::state::State;
use crate::table::sort::Order;
use crate::table::window::window;
use crate::table::{cell, select};

/// Height of a row, the same as in the style sheet.
const ROW_PX: f64 = 26.0;
/// Height of the part that scrolls, unless there are fewer rows.
const VIEW_PX: f64 = 520.0;

/// A table of a report.
#[component]
pub fn TableView(
    /// What to show.
    #[prop(into)]
    table: Signal<Table>,
    /// The heading above it.
    title: &'static str,
    /// Where its columns are defined: the path that stands before their keys in docs/metrics.md.
    path: &'static str,
    /// The filter's text.
    filter: RwSignal<String>,
    /// What to say where there are no rows.
    #[prop(into)]
    empty: Signal<String>,
    /// Columns that are left out of sight (exports have them).
    #[prop(optional)]
    hidden: &'static [&'static str],
) -> impl IntoView {
    let state = State::get();
    let order = RwSignal::new(None::<Order>);
    let scroll = RwSignal::new(0.0);
    let active = RwSignal::new(None::<usize>);
    let scroller = NodeRef::<html::Div>::new();
    let rows = Memo::new(move |_| table.with(|table| select(table, &filter.get(), order.get())));
    let columns = Memo::new(move |_| table.with(|table| table.columns.clone()));
    let shown = Memo::new(move |_| table.with(|table| visible(table, hidden)));
    let total = move || table.with(|table| table.rows.len());
    let selected = move || Table {
        name: table.with_untracked(|table| table.name),
        columns: columns.get_untracked(),
        rows: rows.get_untracked(),
    };
    let counted = move || {
        let (some, all) = (rows.with(Vec::len), total());
        if some == all { format!("{all} rows") } else { format!("{some} of {all} rows") }
    };
    let copy = move |_| {
        let table = selected();
        browser::copy(state, cell::tsv(&table.columns, &table.rows), "Table");
    };
    let download = move |_| {
        let table = selected();
        browser::download(&format!("{}.csv", table.name), "text/csv", &csv::to_csv(&table));
    };
    let tips = Tips::get();
    let on_scroll = move |_| {
        if let Some(element) = scroller.get_untracked() {
            scroll.set(f64::from(element.scroll_top()));
            tips.hide();
        }
    };
    let on_key = move |event: KeyboardEvent| {
        let count = rows.with_untracked(Vec::len);
        let Some(next) = moved(active.get_untracked(), &event.key(), count) else { return };
        event.prevent_default();
        active.set(Some(next));
        let Some(element) = scroller.get_untracked() else { return };
        reveal(&element, next);
        let texts = rows.with_untracked(|rows| {
            rows.get(next).map(|row| row_text(row, &columns.get_untracked(), &shown.get_untracked()))
        });
        tips.show_at(&element, texts.unwrap_or_default());
    };
    let part = Memo::new(move |_| window(rows.with(Vec::len), ROW_PX, scroll.get(), VIEW_PX));
    view! {
        <section class="table-box">
            <header class="table-head">
                <h2>{title}</h2>
                <span class="quiet" aria-live="polite">{counted}</span>
                <span class="spring"></span>
                <input class="table-filter" type="search" placeholder="Filter: words, -exclude" spellcheck="false" autocomplete="off"
                    aria-label=format!("Filter {title}")
                    prop:value=move || filter.get()
                    on:input=move |event| filter.set(event_target_value(&event)) />
                <button class="plain" on:click=copy>"Copy"</button>
                <button class="plain" on:click=download>"CSV"</button>
            </header>
            <div class="table-scroll" node_ref=scroller tabindex="0" role="region" aria-label=title
                on:scroll=on_scroll on:keydown=on_key on:blur=move |_| { tips.hide(); active.set(None); }>
                <table aria-rowcount=move || rows.with(Vec::len) + 1>
                    <thead>
                        <tr>{move || shown.get().into_iter().map(|index| heading(columns.get()[index], index, path, order)).collect_view()}</tr>
                    </thead>
                    <tbody>
                        <tr class="pad" aria-hidden="true" style:height=move || format!("{}px", part.get().above_px)></tr>
                        {move || {
                            let part = part.get();
                            let (columns, shown) = (columns.get(), shown.get());
                            rows.with(|rows| {
                                let drawn = rows.get(part.first..part.end).unwrap_or_default();
                                drawn.iter().enumerate().map(|(offset, row)| {
                                    row_view(row, part.first + offset, &columns, &shown, active)
                                }).collect_view()
                            })
                        }}
                        <tr class="pad" aria-hidden="true" style:height=move || format!("{}px", part.get().below_px)></tr>
                    </tbody>
                </table>
                <Show when=move || rows.with(Vec::is_empty)>
                    <p class="empty">{move || if total() == 0 { empty.get() } else { "No row passes the filter.".to_owned() }}</p>
                </Show>
            </div>
        </section>
    }
}

/// Columns in sight: all but the hidden ones and those without a single value.
fn visible(table: &Table, hidden: &[&str]) -> Vec<usize> {
    let has_value = |index: usize| {
        table.rows.iter().any(|row| !matches!(row.get(index), None | Some(Cell::Absent | Cell::Flag(false))))
    };
    let all = table.columns.iter().enumerate();
    all.filter(|(index, column)| !hidden.contains(&column.key) && (table.rows.is_empty() || has_value(*index)))
        .map(|(index, _)| index)
        .collect()
}

fn heading(column: Column, index: usize, path: &'static str, order: RwSignal<Option<Order>>) -> impl IntoView {
    let tips = Tips::get();
    let field = format!("{path}{}", column.key);
    let about = match crate::glossary::definition(&field) {
        Some(text) => format!("{text}\n{field}"),
        None => field,
    };
    let on_focus = about.clone();
    let current = move || order.get().filter(|order| order.column == index);
    let sorted = move || match current() {
        Some(order) if order.descending => "descending",
        Some(_) => "ascending",
        None => "none",
    };
    let mark = move || match current() {
        Some(order) if order.descending => "↓",
        Some(_) => "↑",
        None => "",
    };
    view! {
        <th scope="col" class:number=cell::is_number(column.unit) aria-sort=sorted>
            <button class="sort" aria-describedby="tip"
                on:click=move |_| order.update(|order| *order = Order::clicked(*order, index, &column))
                on:mouseenter=move |event| tips.show(&event, about.clone())
                on:focus=move |event| tips.show(&event, on_focus.clone())
                on:mouseleave=move |_| tips.hide()
                on:blur=move |_| tips.hide()>
                {column.title}<span class="mark" aria-hidden="true">{mark}</span>
            </button>
        </th>
    }
}

fn row_view(
    row: &[Cell],
    index: usize,
    columns: &[Column],
    shown: &[usize],
    active: RwSignal<Option<usize>>,
) -> impl IntoView + use<> {
    let cells =
        shown.iter().filter_map(|column| Some(cell_view(row.get(*column)?, *columns.get(*column)?))).collect_view();
    view! { <tr aria-rowindex=index + 2 class:active=move || active.get() == Some(index)>{cells}</tr> }
}

fn cell_view(value: &Cell, column: Column) -> impl IntoView + use<> {
    let tips = Tips::get();
    let unit = column.unit;
    let short = cell::short(value, unit);
    let whole = cell::whole(value, unit);
    let share = match (value, unit) {
        (Cell::Float(share), Unit::Percent) => Some(format!("{:.2}%", share.clamp(0.0, 100.0))),
        _ => None,
    };
    let bar = share.map(|width| view! { <i class="share" style:width=width></i> });
    let swatch = match value {
        Cell::Text(category) if column.key == "category" => {
            Some(view! { <i class=format!("swatch {}", family_of(category).label())></i> })
        }
        _ => None,
    };
    let show = move |event: Event| {
        if let Some(whole) = &whole {
            tips.show(&event, whole.clone());
        }
    };
    let on_enter = move |event: web_sys::MouseEvent| show(event.unchecked_into());
    let text = if unit == Unit::Text { view! { <bdi>{short}</bdi> }.into_any() } else { short.into_any() };
    view! {
        <td class:number=cell::is_number(unit) on:mouseenter=on_enter on:mouseleave=move |_| tips.hide()>{bar}{swatch}{text}</td>
    }
}

/// The row that a key leads to.
fn moved(active: Option<usize>, key: &str, count: usize) -> Option<usize> {
    let last = count.checked_sub(1)?;
    let page = (VIEW_PX / ROW_PX) as usize;
    Some(match (key, active) {
        ("Home", _) | ("ArrowDown" | "PageDown", None) => 0,
        ("End", _) | ("ArrowUp" | "PageUp", None) => last,
        ("ArrowDown", Some(row)) => (row + 1).min(last),
        ("ArrowUp", Some(row)) => row.saturating_sub(1),
        ("PageDown", Some(row)) => (row + page).min(last),
        ("PageUp", Some(row)) => row.saturating_sub(page),
        _ => return None,
    })
}

/// Scrolls a row into sight, below the sticky heading.
fn reveal(scroller: &Element, row: usize) {
    let (top, height) = (f64::from(scroller.scroll_top()), f64::from(scroller.client_height()));
    let at = row as f64 * ROW_PX;
    if at < top {
        scroller.set_scroll_top(at as i32);
    } else if at + 3.0 * ROW_PX > top + height {
        scroller.set_scroll_top((at + 3.0 * ROW_PX - height) as i32);
    }
}

/// A row as a person reads it aloud: heading and value, line by line.
fn row_text(row: &[Cell], columns: &[Column], shown: &[usize]) -> String {
    let line = |index: &usize| {
        let (value, column) = (row.get(*index)?, columns.get(*index)?);
        let text = cell::whole(value, column.unit).unwrap_or_else(|| cell::short(value, column.unit));
        Some(format!("{}: {text}", column.title))
    };
    shown.iter().filter_map(line).collect::<Vec<_>>().join("\n")
}
