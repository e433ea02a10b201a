//! Controls above the picture: program, search, radius, groups, zoom and files.

use std::cell::Cell;
use std::rc::Rc;
use std::time::Duration;

use crossprof::document::Choice;
use crossprof::graph::{Format, Match};
use crossprof::text::format::{counted, printable, shorten, time_us};
use leptos::prelude::*;
use web_sys::KeyboardEvent;

use super::Explorer;
use super::address::{self, SHOWN, WHOLE};
use super::canvas::zoom;
use crate::blocks::choice::choice;
use crate::blocks::export::{Picture as Chart, save_png};
use crate::browser;
use crate::components::live::{live, says};
use crate::programs;

/// Time between the last typed letter and the search.
const PAUSE: Duration = Duration::from_millis(80);
/// Zoom factor of one click on a zoom button.
const FACTOR: f64 = 1.25;

/// Renders the controls.
#[component]
pub fn Bar(
    /// State of the view.
    explorer: Explorer,
) -> impl IntoView {
    let state = explorer.state;
    let programs = move || {
        let all = explorer.programs.with(|all| all.as_ref().map(|all| all.programs.clone()).unwrap_or_default());
        let open = explorer.program.get().map(|program| program.key);
        let options = all.into_iter().map(|program| {
            let time = program.time.map_or(String::new(), |time| format!(", {}", time_us(time.as_us())));
            let size = program.instructions.map(|size| format!(", {}", counted(size as u64, "instruction")));
            let name = shorten(&printable(&program.key), 48);
            let is_open = open.as_ref() == Some(&program.key);
            view! { <option value=program.key prop:selected=is_open>{format!("{name}{time}{}", size.unwrap_or_default())}</option> }
        });
        (
            explorer.program.with(Option::is_none).then(|| view! { <option selected=true></option> }),
            options.collect_view(),
        )
    };
    let choose_program = move |event: web_sys::Event| {
        let program = event_target_value(&event);
        explorer.go(|route| {
            let mut next = address::around(route, "");
            next.query.options.insert(address::PROGRAM.to_owned(), program);
            next
        });
    };
    let choices = move || {
        let query = state.route.with(|route| route.query.clone());
        let text = |key: &str| query.options.get(key).cloned().unwrap_or_default();
        let values = |all: &[(&str, &str)]| all.iter().map(|(key, name)| (key.to_string(), name.to_string())).collect();
        let around = address::op(&query).is_some().then(|| {
            let chosen = Some(text(address::RADIUS)).filter(|it| !it.is_empty()).unwrap_or_else(|| "1".to_owned());
            choice(&Choice {
                label: "Steps around the op".to_owned(),
                option: address::RADIUS.to_owned(),
                chosen,
                values: values(&[("1", "1"), ("2", "2"), ("3", "3"), ("5", "5"), (WHOLE, "All")]),
            })
        });
        let chosen = Some(text(address::GROUP)).filter(|it| !it.is_empty()).unwrap_or_else(|| "layers".to_owned());
        let groups = choice(&Choice {
            label: "Groups".to_owned(),
            option: address::GROUP.to_owned(),
            chosen,
            values: values(&[("layers", "Layers"), ("scopes", "Scopes"), ("computations", "None")]),
        });
        let shown = text(address::SHOW);
        let shows = SHOWN.into_iter().map(|(key, name)| {
            let switch = move |_| {
                let value = state.route.with_untracked(|route| address::switched(&route.query, key));
                state.choose_all(vec![(address::SHOW, value)]);
            };
            let is_shown = shown.split(',').any(|part| part == key);
            view! { <label><input type="checkbox" data-show=key prop:checked=is_shown on:change=switch />{name}</label> }
        });
        view! {
            {around}{groups}
            <details class="columns"><summary class="button">"Show"</summary><div class="menu">{shows.collect_view()}</div></details>
        }
    };
    let title = move || explorer.program.with(|program| program.as_ref().map(|it| it.name.clone()).unwrap_or_default());
    let save = move |format: Format, end: &'static str, kind: &'static str| {
        let look = state.route.with_untracked(|route| address::look(&route.query));
        let stem = browser::file_stem(&untrack(title));
        let size = explorer.picture.with_untracked(|picture| picture.as_ref().map(|it| it.size).unwrap_or_default());
        let heard = move |file: Result<crate::protocol::wire::Document, String>| match file {
            Ok(file) if end == "png" => save_png(state, format!("{stem}.png"), Chart::of(file.text(), size)),
            Ok(file) => browser::download(&format!("{stem}.{end}"), kind, file.buffer()),
            Err(reason) => state.say(reason),
        };
        programs::save(&explorer.run.get_value(), look, format, Box::new(heard));
    };
    let files = [
        ("SVG", Format::Svg, "svg", "image/svg+xml"),
        ("PNG", Format::Svg, "png", "image/png"),
        ("DOT", Format::Dot, "dot", "text/vnd.graphviz"),
        ("Model Explorer", Format::ModelExplorer, "json", "application/json"),
        ("HLO text", Format::Text, "hlo", "text/plain"),
    ];
    let files = files.into_iter().map(|(name, format, end, kind)| {
        view! { <button type="button" class="plain" data-save=end on:click=move |_| save(format, end, kind)>{name}</button> }
    });
    let near = move |factor: f64| {
        let now = explorer.zoom.get_untracked().unwrap_or(1.0);
        zoom(explorer, now * factor);
    };
    view! {
        <div class="graph-bar">
            <label class="choice"><span class="quiet">"Program"</span>
                <select class="graph-program" on:change=choose_program>{live(programs)}</select></label>
            <Search explorer=explorer />
            {live(choices)}
            <div class="choice" role="group" aria-label="Zoom">
                <button type="button" aria-label="Smaller" on:click=move |_| near(1.0 / FACTOR)>"−"</button>
                <button type="button" on:click=move |_| explorer.zoom.set(None)>"Fit"</button>
                <button type="button" aria-label="Larger" on:click=move |_| near(FACTOR)>"+"</button>
            </div>
            <details class="columns"><summary class="button">"Save"</summary><div class="menu">{files.collect_view()}</div></details>
        </div>
        <p class="graph-place">{live(move || place(explorer))}</p>
    }
}

fn place(explorer: Explorer) -> AnyView {
    let Some(picture) = explorer.picture.get() else { return ().into_any() };
    let kind = if picture.is_entry { "Entry computation " } else { "Computation " };
    let name = picture.computation.clone();
    let whole = explorer.next(|route| address::within(route, &name)).href();
    let callers = picture.callers.iter().take(3).map(|caller| {
        let href = explorer.next(|route| address::around(route, caller)).href();
        view! { ", called by "<a href=href>{shorten(&printable(caller), 40)}</a> }
    });
    let callers = callers.collect_view();
    let more = picture.callers.len().saturating_sub(3);
    let more = (more > 0).then(|| format!(" and {more} more"));
    let critical = picture.critical.map(|(path, total)| {
        format!(
            ". Critical path (outlined): {} of {} of op time on all devices",
            time_us(path.as_us()),
            time_us(total.as_us())
        )
    });
    let missing = picture.missing.as_ref().map(|name| {
        view! { <strong>{format!("No instruction of this program is named {}. ", shorten(&printable(name), 60))}</strong> }
    });
    view! { {missing}{kind}<a href=whole>{shorten(&printable(&picture.computation), 60)}</a>{callers}{more}{critical} }
        .into_any()
}

/// Field in which the user searches for an instruction by name or scope.
#[component]
fn Search(explorer: Explorer) -> impl IntoView {
    let state = explorer.state;
    let typed = RwSignal::new(None::<String>);
    let found = RwSignal::new(Vec::<Match>::new());
    let chosen = RwSignal::new(0usize);
    let latest = Rc::new(Cell::new(0u32));
    let shown = move || {
        let op = state.route.with(|route| address::op(&route.query)).unwrap_or_default();
        typed.get().unwrap_or(op)
    };
    let on_input = move |event: web_sys::Event| {
        let text = event_target_value(&event);
        typed.set(Some(text.clone()));
        latest.set(latest.get().wrapping_add(1));
        let (this, latest) = (latest.get(), latest.clone());
        let ask = move || {
            if latest.get() != this || found.is_disposed() {
                return;
            }
            let heard = move |all: Result<Vec<Match>, String>| {
                if !found.is_disposed() {
                    chosen.set(0);
                    found.set(all.unwrap_or_default());
                }
            };
            programs::search(&explorer.run.get_value(), text, Box::new(heard));
        };
        set_timeout(ask, PAUSE);
    };
    let close = move || {
        typed.set(None);
        found.set(Vec::new());
    };
    let go = move |at: usize| {
        let name = found.with_untracked(|found| found.get(at).map(|it| it.name.clone()));
        let is_empty = typed.get_untracked().is_some_and(|text| text.trim().is_empty());
        close();
        match name {
            Some(name) => explorer.go(|route| address::around(route, &name)),
            None if is_empty => explorer.go(|route| address::around(route, "")),
            None => {}
        }
    };
    let on_key = move |event: KeyboardEvent| {
        let (count, now) = (found.with_untracked(Vec::len), chosen.get_untracked());
        match event.key().as_str() {
            "ArrowDown" if count > 0 => chosen.set((now + 1) % count),
            "ArrowUp" if count > 0 => chosen.set((now + count - 1) % count),
            "Enter" => go(now),
            "Escape" if typed.get_untracked().is_some() => {
                close();
                event.stop_propagation();
            }
            _ => return,
        }
        event.prevent_default();
    };
    let list = move || {
        let rows = found.get().into_iter().enumerate().map(|(at, it)| {
            let is_chosen = move || (chosen.get() == at).to_string();
            // The field loses the focus before a click ends.
            view! {
                <li role="option" id=format!("graph-match-{at}") aria-selected=is_chosen on:mousedown=move |event| { event.prevent_default(); go(at) }>
                    <code>{shorten(&printable(&it.name), 60)}</code><span class="quiet">{shorten(&it.note, 80)}</span>
                </li>
            }
        });
        let rows: Vec<_> = rows.collect();
        (!rows.is_empty())
            .then(|| view! { <ul id="graph-matches" role="listbox" aria-label="Instructions">{rows}</ul> })
    };
    let active = move || found.with(|found| (!found.is_empty()).then(|| format!("graph-match-{}", chosen.get())));
    let expanded = move || (!found.with(Vec::is_empty)).to_string();
    view! {
        <div class="graph-search">
            <input type="search" class="filter" placeholder="Find an op or a scope" aria-label="Find an op or a scope" role="combobox"
                aria-controls="graph-matches" aria-expanded=expanded aria-activedescendant=active autocomplete="off" spellcheck="false"
                prop:value=shown on:input=on_input on:keydown=on_key on:blur=move |_| close() />
            {live(list)}
            <span class="visually-hidden" role="status">{says(move || found.with(|found| if found.is_empty() { String::new() } else { counted(found.len() as u64, "match") }))}</span>
        </div>
    }
}
