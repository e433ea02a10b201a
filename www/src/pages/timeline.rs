//! The timeline of a run: the picture, the selection, and the filter. All views share the filter.

use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;

use crossprof::pages::timeline::{Action, EVENT};
use crossprof::text::format;
use crossprof::timeline::{EventRef, Sight};
use leptos::prelude::*;
use web_sys::KeyboardEvent;

use crate::browser;
use crate::components::live::{follow, says};
use crate::route::View;
use crate::state::{Run, State};
use crate::timeline::{Area, Beside, Details, Pane, Said, Surface, bar, interval};

/// Time from the last movement until the URL is updated.
const REST: Duration = Duration::from_millis(400);

/// URL keys for the visible range, and for the selected range with its rows.
const RANGE: &str = "range";
const SELECTION: &str = "selection";

/// The event and range that this page last read from the URL or wrote to it. If the URL contains another event, the user
/// followed a link.
#[derive(Clone, Debug, Default)]
struct Noted {
    event: Option<String>,
    range: Option<String>,
}

/// URL keys for the flags and bookmarked ranges, and for the arrangement of tracks. The library parses both values.
const BOOKMARKS: &str = "flags";
const ARRANGEMENT: &str = "tracks";

/// Renders the page.
#[component]
pub fn Timeline(
    /// The run to show.
    run: Run,
) -> impl IntoView {
    let state = State::get();
    let option = |key: &str| state.route.with_untracked(|route| route.query.options.get(key).cloned());
    let sight = Sight {
        range_ps: option(RANGE).as_deref().and_then(range_of),
        selected: option(EVENT).as_deref().and_then(EventRef::from_key),
        filter: state.route.with_untracked(|route| route.query.filter.clone()),
        arrangement: option(ARRANGEMENT).unwrap_or_default(),
        bookmarks: option(BOOKMARKS).unwrap_or_default(),
        ..Sight::default()
    };
    let surface = Surface::new(state, run.clone(), sight);
    let said = surface.said;
    said.area.set(option(SELECTION).as_deref().and_then(area_of));
    let noted = StoredValue::new(Noted { event: option(EVENT), range: option(RANGE) });
    follow_address(state, &surface, noted);
    // New settings may change steps and bands.
    let measured = surface.clone();
    let report = run.report;
    follow(move || {
        report.track();
        measured.refresh();
    });
    keep_address(state, &surface, noted);
    view! {
        <div class="timeline">
            <div class="timeline-bar">
                <Find surface=surface.clone() />
                <span class="timeline-range">{says(move || range_text(said))}</span>
                {bar::buttons(&surface, run.id)}
                {bar::naming(&surface)}
            </div>
            <Pane surface=surface.clone() has_focus=true />
            <Details run=run.clone() said=said />
            <Beside run=run upper=surface />
        </div>
    }
}

/// The search field. The field contains the filter of all views. Enter goes to the next matching event.
#[component]
fn Find(surface: Rc<Surface>) -> impl IntoView {
    let state = State::get();
    let said = surface.said;
    let filter = move || state.route.with(|route| route.query.filter.clone());
    let count = move || {
        let passing = said.outcome.with(|outcome| outcome.as_ref().and_then(|outcome| outcome.passing));
        passing.map(|count| format::counted(count, "event"))
    };
    let next = surface.clone();
    let step = move |forward: bool| {
        let surface = surface.clone();
        Box::new(move || surface.act(Action::Find { forward }))
    };
    let on_key = move |event: KeyboardEvent| match event.key().as_str() {
        "Enter" => {
            event.prevent_default();
            next.act(Action::Find { forward: !event.shift_key() });
        }
        "Escape" => browser::focus(".timeline-scroll"),
        _ => {}
    };
    view! {
        <input class="table-filter timeline-filter" type="search" autocomplete="off" placeholder="Find events: words, -words" aria-label="Find events"
            prop:value=filter on:input=move |event| state.filter(event_target_value(&event)) on:keydown=on_key />
        {bar::button("Previous", "Previous match (Shift Enter)", step(false))}
        {bar::button("Next", "Next match (Enter)", step(true))}
        <span class="quiet" role="status">{says(move || count().unwrap_or_default())}</span>
    }
}

fn range_text(said: Said) -> String {
    let (start, end) = said.range_ps.get();
    let us = |ps: i64| ps as f64 / 1e6;
    if end <= start {
        String::new()
    } else {
        format!("{} from {}", format::time_us(us(end - start)), format::si_of_digits(us(start) / 1e6, "s", 7))
    }
}

/// Parses `start-end` in picoseconds. If another run is shown below this run, the start can be negative.
fn range_of(text: &str) -> Option<(i64, i64)> {
    let (start, end) = text.rsplit_once('-')?;
    let (start, end) = (start.parse().ok()?, end.parse().ok()?);
    (start < end).then_some((start, end))
}

/// Formats a selection as `start-end` in picoseconds. If the selection does not cover all rows, `@top-bottom` follows.
fn area_text(Area { range_ps: (start, end), rows }: Area) -> String {
    let rows = rows.map_or(String::new(), |(top, bottom)| format!("@{top}-{bottom}"));
    format!("{start}-{end}{rows}")
}

fn area_of(text: &str) -> Option<Area> {
    let (range, rows) = text.split_once('@').map_or((text, None), |(range, rows)| (range, Some(rows)));
    let rows = rows.and_then(|rows| rows.split_once('-'));
    let rows = rows.and_then(|(top, bottom)| Some((top.parse().ok()?, bottom.parse().ok()?)));
    Some(Area { range_ps: range_of(range)?, rows })
}

/// Applies the filter, sorting, grouping and event in the URL.
fn follow_address(state: State, surface: &Rc<Surface>, noted: StoredValue<Noted>) {
    let surface = surface.clone();
    let known = RefCell::new(None);
    follow(move || {
        let query = state.route.with(|route| route.query.clone());
        let tables = (query.sorts, query.options.get("area").cloned());
        let event = query.options.get(EVENT).cloned();
        let before = known.replace(Some((query.filter.clone(), tables.clone())));
        let chosen = event.as_deref().and_then(EventRef::from_key);
        if chosen.is_some() && before.is_some() && noted.with_value(|noted| noted.event != event) {
            let range = query.options.get(RANGE).cloned();
            let is_new = noted.with_value(|noted| noted.range != range);
            noted.set_value(Noted { event, range: range.clone() });
            surface.update(|sight| sight.selected = chosen);
            if let Some(range) = range.as_deref().and_then(range_of).filter(|_| is_new) {
                surface.change(|viewport| viewport.show(interval(range)));
            }
            surface.act(Action::Show);
        }
        if before.as_ref().is_none_or(|(filter, _)| *filter != query.filter) {
            let (is_first, is_filtered) = (before.is_none(), !query.filter.is_empty());
            surface.update(|sight| sight.filter = query.filter);
            // If the user followed a link from a table row, show the first event of the row.
            if is_first && is_filtered && surface.selected().is_none() {
                surface.act(Action::Find { forward: true });
            } else if !is_first || is_filtered || surface.selected().is_some() || surface.kept() != [None, None] {
                surface.act(Action::Show);
            }
        }
        if before.is_none_or(|(_, before)| before != tables) {
            surface.measure_area();
        }
    });
}

/// Writes the visible range and the selection to the URL, after a delay.
fn keep_address(state: State, surface: &Rc<Surface>, noted: StoredValue<Noted>) {
    let (surface, said) = (surface.clone(), surface.said);
    let latest = StoredValue::new(0u32);
    follow(move || {
        let (start, end) = said.range_ps.get();
        let all = said.seen.with_untracked(|seen| seen.all_ps);
        let event = said.outcome.with(|outcome| outcome.as_ref().and_then(|outcome| outcome.event));
        let area = said.area.get();
        let surface = surface.clone();
        let this = latest.get_value().wrapping_add(1);
        latest.set_value(this);
        let note = move || {
            let is_here = state.route.with_untracked(|route| route.view == View::TIMELINE);
            if !is_here || latest.try_get_value() != Some(this) || end <= start {
                return;
            }
            let mut route = state.route.get_untracked();
            let options = &mut route.query.options;
            let range = ((start, end) != all).then(|| format!("{start}-{end}"));
            let event = event.map(EventRef::key);
            noted.set_value(Noted { event: event.clone(), range: range.clone() });
            let [bookmarks, arrangement] = surface.kept();
            let parts = [
                (RANGE, range),
                (EVENT, event),
                (SELECTION, area.map(area_text)),
                (BOOKMARKS, bookmarks),
                (ARRANGEMENT, arrangement),
            ];
            for (key, value) in parts {
                match value {
                    Some(value) => drop(options.insert(key.to_owned(), value)),
                    None => drop(options.remove(key)),
                }
            }
            browser::replace(&route);
            state.route.update_untracked(|known| *known = route);
        };
        set_timeout(note, REST);
    });
}
