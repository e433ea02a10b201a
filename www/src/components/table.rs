//! The one table: sorts, filters, copies, downloads; draws only the rows in sight.

use crossprof::export::csv;
use crossprof::export::tables::{Cell, Column, Table, Unit};
use crossprof::metrics::categories::family_of;
use leptos::html;
use leptos::prelude::*;
use web_sys::{Element, KeyboardEvent};

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
    /// Characters of a text in a cell; longer ones are cut in the middle.
    #[prop(default = 46)]
    name_chars: usize,
) -> impl IntoView {
    let state = State::get();
    let order = RwSignal::new(None::<Order>);
    let scroll = RwSignal::new(0.0);
    let active = RwSignal::new(None::<usize>);
    let scroller = NodeRef::<html::Div>::new();
    let rows = Memo::new(move |_| table.with(|table| select(table, &filter.get(), order.get())));
    let look = Memo::new(move |_| table.with(|table| Look::of(table, hidden, name_chars)));
    let total = move || table.with(|table| table.rows.len());
    let selected = move || Table {
        name: table.with_untracked(|table| table.name),
        columns: table.with_untracked(|table| table.columns.clone()),
        rows: rows.get_untracked(),
    };
    let counted = move || {
        let (some, all) = (rows.with(Vec::len), total());
        let word = if all == 1 { "row" } else { "rows" };
        if some == all { format!("{all} {word}") } else { format!("{some} of {all} {word}") }
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
        let texts = rows.with_untracked(|rows| rows.get(next).map(|row| row_text(row, &look.get_untracked())));
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
                        <tr>{move || look.get().columns.into_iter().map(|(index, column, _)| heading(column, index, path, order)).collect_view()}</tr>
                    </thead>
                    <tbody>
                        <tr class="pad" aria-hidden="true" style:height=move || format!("{}px", part.get().above_px)></tr>
                        {move || {
                            let part = part.get();
                            rows.with(|rows| {
                                let drawn = rows.get(part.first..part.end).unwrap_or_default();
                                drawn.iter().enumerate().map(|(offset, row)| {
                                    row_view(row, part.first + offset, &look.get(), active)
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
    // A device's gaps are a section of their own.
    let fields = [format!("{path}{}", column.key), format!("{path}gaps.{}", column.key)];
    let field = fields.into_iter().find(|field| crate::glossary::definition(field).is_some()).unwrap_or_default();
    let about = match crate::glossary::definition(&field) {
        Some(text) => format!("{text}\n{field}"),
        None => column.title.to_owned(),
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

/// How rows are drawn.
#[derive(Clone, PartialEq)]
struct Look {
    /// Each column in sight, with its index and the largest of its numbers.
    columns: Vec<(usize, Column, f64)>,
    name_chars: usize,
}

impl Look {
    fn of(table: &Table, hidden: &[&str], name_chars: usize) -> Look {
        let largest = |index: usize| {
            let numbers = table.rows.iter().filter_map(|row| match row.get(index) {
                Some(Cell::Float(value)) => Some(*value),
                _ => None,
            });
            numbers.fold(0.0, f64::max)
        };
        let columns = visible(table, hidden).into_iter();
        let columns = columns.filter_map(|index| Some((index, *table.columns.get(index)?, largest(index)))).collect();
        Look { columns, name_chars }
    }
}

fn row_view(row: &[Cell], index: usize, look: &Look, active: RwSignal<Option<usize>>) -> AnyView {
    let cell = |(at, column, largest): &(usize, Column, f64)| {
        Some(cell_view(row.get(*at)?, *column, *largest, look.name_chars))
    };
    let cells = look.columns.iter().filter_map(cell).collect_view();
    view! { <tr aria-rowindex=index + 2 class:active=move || active.get() == Some(index)>{cells}</tr> }.into_any()
}

fn cell_view(value: &Cell, column: Column, largest: f64, name_chars: usize) -> AnyView {
    let tips = Tips::get();
    let unit = column.unit;
    let short = cell::short(value, unit, name_chars);
    let whole = cell::whole(value, unit, name_chars);
    // The longest bar fills its cell: what is compared is the rows.
    let bar = match (value, unit) {
        (Cell::Float(share), Unit::Percent) if largest > 0.0 => {
            let width = format!("{:.2}%", (100.0 * share / largest).clamp(0.0, 100.0));
            Some(view! { <i class="share" style:width=width></i> })
        }
        _ => None,
    };
    let swatch = match value {
        Cell::Text(category) if column.key == "category" => {
            Some(view! { <i class=format!("swatch {}", family_of(category).label())></i> })
        }
        _ => None,
    };
    let show = move |event: web_sys::MouseEvent| {
        if let Some(whole) = &whole {
            tips.show(&event, whole.clone());
        }
    };
    let text = if unit == Unit::Text { view! { <bdi>{short}</bdi> }.into_any() } else { short.into_any() };
    view! {
        <td class:number=cell::is_number(unit) on:mouseenter=show on:mouseleave=move |_| tips.hide()>
            {bar}
            {swatch}
            {text}
        </td>
    }
    .into_any()
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
fn row_text(row: &[Cell], look: &Look) -> String {
    let line = |(index, column, _): &(usize, Column, f64)| {
        let value = row.get(*index)?;
        let short = cell::short(value, column.unit, cell::WHOLE_CHARS);
        let text = cell::whole(value, column.unit, cell::WHOLE_CHARS).unwrap_or(short);
        Some(format!("{}: {text}", column.title))
    };
    look.columns.iter().filter_map(line).collect::<Vec<_>>().join("\n")
}
