//! The HLO text of the drawn computation, with times in the margin. Only the visible lines are in the page's document.

use crossprof::graph::{Listing, Row};
use crossprof::text::format::printable;
use leptos::html::Div;
use leptos::prelude::*;

use super::{Explorer, address};
use crate::components::live::{follow, live, says};
use crate::programs;
use crate::protocol::graph::ListingRequest;
use crate::table::window::window;

/// Height of a line in pixels. The style sheet uses the same value.
const LINE_PX: f64 = 18.0;
/// Number of lines that one request returns.
const LINES: u32 = 300;
/// Number of lines in a request that are above the visible lines.
const ABOVE: u32 = 100;

/// Renders the text.
#[component]
pub fn ListingView(
    /// State of the view.
    explorer: Explorer,
) -> impl IntoView {
    let frame = NodeRef::<Div>::new();
    let listing = RwSignal::new(None::<(String, Listing)>);
    let scrolled = RwSignal::new(0.0);
    let computation = Memo::new(move |_| explorer.picture.with(|it| it.as_ref().map(|it| it.computation.clone())));
    let ask = move |computation: String, first: u32, centre: Option<String>| {
        let of = computation.clone();
        let reveals = centre.is_some();
        let heard = move |found: Result<Listing, String>| {
            let Ok(found) = found else { return };
            if listing.is_disposed() {
                return;
            }
            let line = found.centre;
            listing.set(Some((of, found)));
            if let (true, Some(line), Some(frame)) = (reveals, line, frame.get_untracked()) {
                request_animation_frame(move || {
                    let (top, room) = (f64::from(frame.scroll_top()), f64::from(frame.client_height()));
                    let line = f64::from(line) * LINE_PX;
                    if line < top || line + LINE_PX > top + room {
                        frame.set_scroll_top((line - room / 3.0).max(0.0) as i32);
                    }
                });
            }
        };
        let request = ListingRequest { computation, centre, first, lines: LINES };
        programs::listing(&explorer.run.get_value(), request, Box::new(heard));
    };
    // When the computation or the op changes, find its line.
    follow(move || {
        explorer.program.track();
        let Some(computation) = computation.get() else { return };
        let centre = explorer.selected_name();
        let is_known = listing.with_untracked(|listing| listing.as_ref().is_some_and(|(of, _)| *of == computation));
        if !is_known && let Some(frame) = frame.get_untracked() {
            frame.set_scroll_top(0);
            scrolled.set(0.0);
        }
        ask(computation, first_of(scrolled.get_untracked()), centre);
    });
    // The visible lines.
    let visible = Memo::new(move |_| {
        let height = frame.get().map_or(400.0, |frame| f64::from(frame.client_height()));
        let all = listing.with(|listing| listing.as_ref().map_or(0, |(_, listing)| listing.lines));
        let window = window(all as usize, LINE_PX, scrolled.get(), height);
        (window.first, window.end)
    });
    follow(move || {
        let (first, end) = visible.get();
        let missing = listing.with_untracked(|listing| {
            let (of, listing) = listing.as_ref()?;
            let (start, stop) = (listing.first as usize, listing.first as usize + listing.rows.len());
            (first < start || end > stop).then(|| of.clone())
        });
        if let Some(computation) = missing {
            ask(computation, first_of(scrolled.get_untracked()), None);
        }
    });
    let rows = move || {
        let (first, end) = visible.get();
        listing.with(|listing| {
            let (_, listing) = listing.as_ref()?;
            let has_times = listing.rows.iter().any(|row| !row.time.is_empty());
            let rows = (listing.first..).zip(&listing.rows).filter(|(at, _)| (first..end).contains(&(*at as usize)));
            let rows: Vec<AnyView> = rows.map(|(at, it)| row(explorer, at, it, has_times)).collect();
            let height = format!("{}px", f64::from(listing.lines) * LINE_PX);
            Some(view! { <div class="lines" style:height=height>{rows}</div> })
        })
    };
    let title = move || {
        let name = computation.get().unwrap_or_default();
        let lines = listing.with(|listing| listing.as_ref().map_or(0, |(_, listing)| listing.lines));
        format!("{} · {}", printable(&name), crossprof::text::format::counted(lines.into(), "line"))
    };
    view! {
        <section class="graph-text panel">
            <h2>"HLO "<span class="quiet">{says(title)}</span></h2>
            <div class="listing" node_ref=frame tabindex="0" role="region" aria-label="HLO text of the computation"
                on:scroll=move |_| {
                    if let Some(frame) = frame.get_untracked() {
                        scrolled.set(f64::from(frame.scroll_top()));
                    }
                }>
                {live(rows)}
            </div>
        </section>
    }
}

fn first_of(scrolled: f64) -> u32 {
    ((scrolled / LINE_PX) as u32).saturating_sub(ABOVE)
}

fn row(explorer: Explorer, at: u32, row: &Row, has_times: bool) -> AnyView {
    let name = row.name.clone();
    let of_row = name.clone();
    let is_selected = move || of_row.is_some() && explorer.selected_name() == of_row;
    let select = move |_| {
        let Some(name) = &name else { return };
        let node = explorer
            .picture
            .with_untracked(|picture| picture.as_ref()?.nodes.iter().position(|node| node.name.as_ref() == Some(name)));
        match node {
            _ if crate::browser::selects_text() => {}
            Some(node) => explorer.select(Some(node)),
            None => explorer.go(|route| address::around(route, name)),
        }
    };
    let mut parts: Vec<AnyView> = Vec::new();
    let mut end = 0;
    for link in &row.links {
        let (start, stop) = (link.start as usize, link.end as usize);
        let (Some(before), Some(text)) = (row.text.get(end..start), row.text.get(start..stop)) else { continue };
        parts.push(printable(before).into_any());
        let (name, is_computation) = (link.name.clone(), link.is_computation);
        let href = explorer.next(|route| match is_computation {
            true => address::within(route, &name),
            false => address::around(route, &name),
        });
        parts.push(
            view! { <a href=href.href() on:click=|event| event.stop_propagation()>{printable(text)}</a> }.into_any(),
        );
        end = stop;
    }
    parts.push(printable(row.text.get(end..).unwrap_or_default()).into_any());
    let top = format!("{}px", f64::from(at) * LINE_PX);
    let time = has_times.then(|| view! { <span class="time">{row.time.clone()}</span> });
    view! {
        <div class="line" class:selected=is_selected class:op=row.name.is_some() style:top=top on:click=select>
            {time}<code>{parts}</code>
        </div>
    }
    .into_any()
}
