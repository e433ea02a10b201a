//! The table component. A worker sorts and filters the rows, and the page draws only the visible rows. Copied and
//! downloaded tables contain all rows that pass the filter.

mod columns;
mod filter_field;
mod open_row;

use std::sync::Arc;

use crossprof::document::{Block, ColourClass, ColumnBlock, TableBlock};
use crossprof::pages::timeline::link_to_row;
use crossprof::table::{Cell, Query, Sort, Unit};
use crossprof::text::{fields, format};
use leptos::html;
use leptos::prelude::*;
use wasm_bindgen::JsCast;
use web_sys::{Element, KeyboardEvent, MouseEvent};

use super::figure::stem;
use super::{Blocks, blocks_view, href};
use crate::components::icons::ViewIcon;
use crate::components::live::{live, says, shown as shown_while};
use crate::components::tip::Tips;
use crate::components::warnings::bounded;
use crate::protocol::analyst::TextFormat;
use crate::protocol::wire::Document;
use crate::route::View;
use crate::state::{Run, State};
use crate::table::window::window;
use crate::table::{cell, order, terms};
use crate::{ask, browser};

/// Height of a row in pixels. The style sheet has the same value.
const ROW_PX: f64 = 26.0;
/// Maximum height of the scrolling area, in pixels.
const VIEW_PX: f64 = 520.0;
/// Maximum length of a row's name, in characters, on wide and on narrow screens. Longer names are cut in the middle.
const NAME_CHARS: usize = 46;
const NARROW_CHARS: usize = 22;
/// Maximum length of other text, in characters. Longer text is cut.
const TEXT_CHARS: usize = 30;

/// A table of a page.
#[component]
pub fn TableView(
    /// The run that the table describes.
    run: Run,
    /// The table block to draw.
    block: Memo<Option<Arc<Block>>>,
) -> impl IntoView {
    // An imported report has no events to link to.
    let traced = run.report.with_untracked(|report| report.profile.is_from_events()).then_some(run.id);
    let state = State::get();
    let tips = Tips::get();
    let scroll = RwSignal::new(0.0);
    let active = RwSignal::new(None::<usize>);
    // Cells of the row whose details are open. They identify the row even after sorting, and distinguish rows with the
    // same name.
    let chosen = RwSignal::new(None::<Vec<Cell>>);
    let details: Blocks = RwSignal::new(Vec::new());
    let scroller = NodeRef::<html::Div>::new();
    let shown = Signal::derive(move || Shown(block.get()));
    let look = Memo::new(move |_| Look::of(shown.get().table(), chosen.with(Option::is_some)));
    let count = Memo::new(move |_| shown.get().table().map_or(0, |table| table.rows.len()));
    let title = Memo::new(move |_| shown.get().table().map(|table| bounded(&table.title)).unwrap_or_default());
    let counted = move || shown.get().table().map(counted).unwrap_or_default();
    let (of, of_pane) = (run.clone(), run.clone());
    // Requests all rows that pass the filter, in the current order, as text.
    let whole = move |format: TextFormat, done: fn(State, &str, Document)| {
        let shown = shown.get_untracked();
        let Some(table) = shown.table() else { return };
        let query = Query { filter: table.filter.clone(), sort: table.sort.clone(), top: None };
        let name = table.table;
        let heard = move |text| match text {
            Ok(text) => done(state, name.key(), text),
            Err(reason) => state.say(reason),
        };
        ask::table(&run, table, query, format, Box::new(heard));
    };
    let (copy_of, csv_of) = (whole.clone(), whole);
    let copy = move |_| copy_of(TextFormat::Tsv, |state, _, text| state.copy(&text.text(), "Table"));
    let download = move |_| {
        csv_of(TextFormat::Csv, |state, name, text| {
            browser::download(&format!("{}.{name}.csv", stem(state)), "text/csv", text.buffer());
        });
    };
    let on_scroll = move |_| {
        if let Some(element) = scroller.get_untracked() {
            scroll.set(f64::from(element.scroll_top()));
            tips.hide();
        }
    };
    let follow = move |row: Option<usize>| {
        let shown = shown.get_untracked();
        let Some((table, row)) = shown.table().zip(row) else { return };
        tips.hide();
        if let Some(link) = table.links.get(row).and_then(Option::as_ref) {
            return state.follow(link);
        }
        // In the table of a timeline selection, a click sets a filter, because the pane of the timeline shows the details.
        if table.area.is_some() {
            return filter_by(state, table, row);
        }
        let is_open = chosen.with_untracked(|chosen| chosen.as_ref() == table.rows.get(row));
        state.open_row(table.table, open_row::key_of(table, row).filter(|_| !is_open));
    };
    let follow = StoredValue::new_local(follow);
    let follow = move |row: Option<usize>| follow.with_value(|follow| follow(row));
    open_row::follow_address(of, shown, chosen, details);
    let on_click = move |event: MouseEvent| {
        // Ignore the click if the user selected text of a cell.
        if browser::selects_text() {
            return;
        }
        let target = event.target().and_then(|target| target.dyn_into::<Element>().ok());
        if target.as_ref().is_some_and(|target| matches!(target.closest("a"), Ok(Some(_)))) {
            return;
        }
        let row = target.and_then(|cell| cell.closest("tr[data-row]").ok().flatten());
        follow(row.and_then(|row| row.get_attribute("data-row")?.parse().ok()));
    };
    let on_key = move |event: KeyboardEvent| {
        if event.key() == "Enter" && active.get_untracked().is_some() {
            event.prevent_default();
            return follow(active.get_untracked());
        }
        if let ("t" | "T", Some(row), Some(_)) = (event.key().as_str(), active.get_untracked(), traced) {
            event.prevent_default();
            tips.hide();
            let place = shown.with_untracked(|shown| shown.table().and_then(|table| link_to_row(table, row)));
            return place.iter().for_each(|link| state.follow(link));
        }
        let Some(next) = moved(active.get_untracked(), &event.key(), count.get_untracked()) else { return };
        event.prevent_default();
        active.set(Some(next));
        let Some(element) = scroller.get_untracked() else { return };
        reveal(&element, next);
        let shown = shown.get_untracked();
        let row = shown.table().and_then(|table| table.rows.get(next));
        tips.show_at(&element, row.map(|row| row_text(row, &look.get_untracked())).unwrap_or_default());
    };
    let part = Memo::new(move |_| window(count.get(), ROW_PX, scroll.get(), VIEW_PX));
    let heads = move || {
        let look = look.get();
        let fixed = look.fixed;
        look.columns.into_iter().map(|(at, column, _)| heading(column, at == fixed, shown)).collect_view()
    };
    let rows = move || {
        let (part, shown, look) = (part.get(), shown.get(), look.get());
        let row = |table: &TableBlock, at: usize| {
            let row = table.rows.get(at)?;
            Some(row_view(
                row,
                at,
                &look,
                (active, chosen),
                traced.and_then(|run| href(run, link_to_row(table, at).as_ref())),
            ))
        };
        shown.table().map(|table| (part.first..part.end).map(|at| row(table, at)).collect_view())
    };
    let empty = move || {
        let has_rows = shown.with(|shown| shown.table().is_some_and(|table| table.total_rows > 0));
        let filtered = has_rows && shown.with(|shown| shown.table().is_some_and(|table| !table.filter.is_empty()));
        let why = shown.with(|shown| shown.table().map(|table| bounded(&table.why_none)).unwrap_or_default());
        let text = if has_rows { format!("{why} ") } else { "This table has no rows.".to_owned() };
        let clear = move |_| state.filter(String::new());
        let button = filtered.then(|| view! { <button class="plain" on:click=clear>"Clear the filter"</button> });
        (count.get() == 0).then(|| view! { <p class="empty">{text}{button}</p> })
    };
    let pane = move || {
        let of = chosen.get_untracked();
        let at = shown.with_untracked(|shown| shown.table()?.rows.iter().position(|row| Some(row) == of.as_ref()));
        let block = shown.get_untracked();
        let links = (|| {
            let (table, at) = block.table().zip(at)?;
            let only = term(table, at).map(|_| {
                let filter = move |_| {
                    shown
                        .with_untracked(|shown| shown.table().into_iter().for_each(|table| filter_by(state, table, at)))
                };
                view! { <button class="plain" on:click=filter>"Filter by it"</button> }
            });
            let place = traced.zip(link_to_row(table, at)).and_then(|(run, link)| {
                let href = href(run, Some(&link))?;
                Some(view! { <a class="plain" href=href>{bounded(&link.title())}</a> })
            });
            Some(view! { {only}{place} })
        })();
        let close = move |_| {
            shown.with_untracked(|shown| shown.table().into_iter().for_each(|table| state.open_row(table.table, None)));
            // Return the focus to the table.
            scroller.get_untracked().into_iter().for_each(|table| drop(table.focus()));
        };
        view! {
            <aside class="row-details" aria-label="Details of the selected row" tabindex="0">
                <p class="row-actions">{links}<span class="spring"></span><button class="plain" aria-label="Close the details" on:click=close>"Close"</button></p>
                <div class="blocks">{blocks_view(of_pane.clone(), details)}</div>
            </aside>
        }
    };
    view! {
        <section class="table-box" class:sentences=move || shown.with(|shown| shown.table().is_some_and(TableBlock::is_of_sentences))>
            <header class="table-head">
                <h2>{says(move || title.get())}</h2>
                <span class="quiet" aria-live="polite">{says(counted)}</span>
                <span class="spring"></span>
                {columns::columns_menu(shown)}
                {filter_field::filter_field(shown, title)}
                <button class="plain" on:click=copy>"Copy"</button>
                <button class="plain" on:click=download>"CSV"</button>
            </header>
            <div class="table-body">
            <div class="table-scroll" node_ref=scroller tabindex="0" role="region" aria-label=move || title.get()
                on:scroll=on_scroll on:keydown=on_key on:click=on_click on:blur=move |_| { tips.hide(); active.set(None); }>
                <table aria-rowcount=move || count.get() + 1>
                    <thead><tr>{live(heads)}</tr></thead>
                    <tbody>
                        <tr class="pad" aria-hidden="true" style:height=move || format!("{}px", part.get().above_px)></tr>
                        {live(rows)}
                        <tr class="pad" aria-hidden="true" style:height=move || format!("{}px", part.get().below_px)></tr>
                    </tbody>
                </table>
                {live(empty)}
            </div>
            {shown_while(move || chosen.with(Option::is_some), pane)}
            </div>
        </section>
    }
}

/// Adds a filter for the subject of a row to all views, or removes that filter.
fn filter_by(state: State, table: &TableBlock, row: usize) {
    if let Some((key, term)) = term(table, row) {
        state.filter(terms::toggled(&state.route.with_untracked(|route| route.query.filter.clone()), &key, &term));
    }
}

/// A block of the page, which may be a table.
#[derive(Clone)]
struct Shown(Option<Arc<Block>>);

impl Shown {
    fn table(&self) -> Option<&TableBlock> {
        match self.0.as_deref() {
            Some(Block::Table(table)) => Some(table),
            _ => None,
        }
    }
}

fn counted(table: &TableBlock) -> String {
    let rows = count_of(table);
    if table.lacking.is_empty() {
        return rows;
    }
    format!("{rows}, not filtered by {}, which this table does not have", bounded(&table.lacking.join(" and ")))
}

fn count_of(table: &TableBlock) -> String {
    let (here, matched, all) = (table.rows.len() as u64, table.matched_rows, table.total_rows);
    let count = format::count;
    let word = if all == 1 { "row" } else { "rows" };
    match (here == matched, matched == all) {
        (true, true) => format!("{} {word}", count(all)),
        (true, false) => format!("{} of {} {word}", count(matched), count(all)),
        (false, true) => format!("the first {} of {} {word}", count(here), count(all)),
        (false, false) => {
            format!("the first {} of {} that match, of {} {word}", count(here), count(matched), count(all))
        }
    }
}

/// Returns the key and the term of the filter that a click on a row sets. Returns `None` if the row has no name, or
/// the name contains quotes.
fn term(table: &TableBlock, row: usize) -> Option<(String, String)> {
    let (name, row) = (table.row_name.as_ref()?, table.rows.get(row)?);
    let value = name.columns.iter().find_map(|key| {
        let at = table.columns.iter().position(|column| column.key == *key)?;
        row.get(at).map(cell::raw).filter(|value| !value.is_empty())
    })?;
    (!value.contains('"')).then(|| (name.key.clone(), format!("{}=\"{value}\"", name.key)))
}

fn heading(column: ColumnBlock, fixed: bool, shown: Signal<Shown>) -> AnyView {
    let tips = Tips::get();
    let state = State::get();
    let definition = if column.definition.is_empty() { &column.title } else { &column.definition };
    let about = fields::plain(definition);
    let about = match &column.empty {
        Some(reason) => format!("Empty: {reason}\n{about}"),
        None => about,
    };
    let on_focus = about.clone();
    let key = column.key.clone();
    let current = move || shown.get().table().and_then(|table| table.sort.clone()).filter(|sort| sort.column == key);
    let of_mark = current.clone();
    let sorted = move || match current() {
        Some(sort) if sort.descending => "descending",
        Some(_) => "ascending",
        None => "none",
    };
    let mark = move || match of_mark() {
        Some(sort) if sort.descending => "↓",
        Some(_) => "↑",
        None => "",
    };
    let (title, number, empty) = (bounded(&column.title), cell::is_number(column.unit), column.empty.is_some());
    let click = move |_| {
        let shown = shown.get_untracked();
        if let Some(table) = shown.table() {
            let next: Option<Sort> = order::clicked(table.sort.as_ref(), &column);
            state.sort(table.table, next);
        }
    };
    view! {
        <th scope="col" class:fixed=fixed class:number=number class:without=empty aria-sort=sorted>
            <button class="sort" aria-describedby="tip" on:click=click
                on:mouseenter=move |event| tips.show(&event, about.clone())
                on:focus=move |event| tips.show(&event, on_focus.clone())
                on:mouseleave=move |_| tips.hide()
                on:blur=move |_| tips.hide()>
                {title}<span class="mark" aria-hidden="true">{mark}</span>
            </button>
        </th>
    }
    .into_any()
}

/// Appearance of the rows.
#[derive(Clone, Default, PartialEq)]
struct Look {
    /// Each visible column, with its index and the value at which the column's bars are full. A bar is full at 100, or
    /// at the largest value of the column if the largest value exceeds 100.
    columns: Vec<(usize, ColumnBlock, f64)>,
    /// Index of the column that stays visible while the user scrolls. The column contains the names of the rows. If no
    /// column does, this is the first column.
    fixed: usize,
    /// See [`TableBlock::classes`].
    classes: Vec<(String, ColourClass)>,
    /// True on a narrow screen.
    narrow: bool,
    /// True if text is not cut.
    whole: bool,
}

impl Look {
    /// Selects the visible columns. Hides each column that has no value in any row, unless the column gives a reason
    /// for that. While the details of a row are open, also hides the columns that only give a reason.
    fn of(table: Option<&TableBlock>, has_details: bool) -> Look {
        let Some(table) = table else { return Look::default() };
        let has_value = |index: usize| {
            table.rows.iter().any(|row| !matches!(row.get(index), None | Some(Cell::Absent | Cell::Flag(false))))
        };
        let largest = |index: usize| {
            let numbers = table.rows.iter().filter_map(|row| cell::number(row.get(index)?));
            // A percentage is drawn as a share of 100.
            numbers.fold(100.0, f64::max)
        };
        let in_sight = |(index, column): &(usize, &ColumnBlock)| {
            !column.is_folded
                && (table.rows.is_empty() || (column.empty.is_some() && !has_details) || has_value(*index))
        };
        let names = |column: &ColumnBlock| {
            !column.is_folded && table.row_name.as_ref().is_some_and(|name| name.columns.contains(&column.key))
        };
        let fixed = table.columns.iter().position(names).unwrap_or(0);
        let columns = table.columns.iter().enumerate().filter(in_sight);
        Look {
            fixed,
            classes: table.classes.clone(),
            narrow: browser::is_narrow(),
            whole: table.is_of_sentences(),
            columns: columns.map(|(index, column)| (index, column.clone(), largest(index))).collect(),
        }
    }
}

fn row_view(
    row: &[Cell],
    index: usize,
    look: &Look,
    (active, chosen): (RwSignal<Option<usize>>, RwSignal<Option<Vec<Cell>>>),
    in_timeline: Option<String>,
) -> AnyView {
    let cell = |(at, column, largest): &(usize, ColumnBlock, f64)| {
        let link = in_timeline.as_ref().filter(|_| *at == look.fixed);
        Some(cell_view(row.get(*at)?, column, *at == look.fixed, *largest, look, link))
    };
    let cells = look.columns.iter().filter_map(cell).collect_view();
    let own = row.to_vec();
    let is_chosen = move || chosen.with(|chosen| chosen.as_ref() == Some(&own));
    view! { <tr aria-rowindex=index + 2 data-row=index class:active=move || active.get() == Some(index) class:chosen=is_chosen>{cells}</tr> }
        .into_any()
}

fn cell_view(
    value: &Cell,
    column: &ColumnBlock,
    fixed: bool,
    largest: f64,
    look: &Look,
    in_timeline: Option<&String>,
) -> AnyView {
    let tips = Tips::get();
    let unit = column.unit;
    let chars = match (fixed, look.narrow) {
        _ if look.whole => cell::WHOLE_CHARS,
        (true, true) => NARROW_CHARS,
        (true, false) => NAME_CHARS,
        (false, _) => TEXT_CHARS,
    };
    let short = cell::short(value, unit, chars);
    let whole = cell::whole(value, unit, chars);
    let bar = match (cell::number(value), unit) {
        (Some(share), Unit::Percent) => {
            let width = format!("{:.2}%", (100.0 * share / largest).clamp(0.0, 100.0));
            Some(view! { <i class="share" style:width=width></i> })
        }
        _ => None,
    };
    let swatch = match value {
        Cell::Text(category) if column.key == "category" => {
            let class = look.classes.iter().find(|(known, _)| known == category);
            class.map(|(_, class)| view! { <i class=format!("swatch {}", class.name())></i> })
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
        <td class:fixed=fixed class:number=cell::is_number(unit) on:mouseenter=show on:mouseleave=move |_| tips.hide()>
            {bar}
            {swatch}
            {text}
            {in_timeline.map(|href| view! { <a class="in-timeline" tabindex="-1" href=href.clone() title="Show its events on the timeline (T)"><ViewIcon of=View::TIMELINE /></a> })}
        </td>
    }
    .into_any()
}

/// Returns the row to which a key moves the selection.
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

/// Scrolls a row into view, below the sticky heading.
fn reveal(scroller: &Element, row: usize) {
    let (top, height) = (f64::from(scroller.scroll_top()), f64::from(scroller.client_height()));
    let at = row as f64 * ROW_PX;
    if at < top {
        scroller.set_scroll_top(at as i32);
    } else if at + 3.0 * ROW_PX > top + height {
        scroller.set_scroll_top((at + 3.0 * ROW_PX - height) as i32);
    }
}

/// Returns the tooltip of a row, with the heading and value of one column per line.
fn row_text(row: &[Cell], look: &Look) -> String {
    let line = |(index, column, _): &(usize, ColumnBlock, f64)| {
        let value = row.get(*index)?;
        let short = cell::short(value, column.unit, cell::WHOLE_CHARS);
        let text = cell::whole(value, column.unit, cell::WHOLE_CHARS).unwrap_or(short);
        Some(format!("{}: {text}", column.title))
    };
    look.columns.iter().filter_map(line).collect::<Vec<_>>().join("\n")
}
