//! The timeline picture of a run, with its input events and the details of the selected event.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

use crossprof::document::Block;
use crossprof::text::format;
use leptos::html::Div;
use leptos::prelude::*;
use wasm_bindgen::JsCast;
use wasm_bindgen::prelude::Closure;
use web_sys::{HtmlElement, ResizeObserver};

use super::bar::button;
use super::hand::Hand;
use super::surface::{AXIS_HEIGHT, Said, Surface};
use crate::blocks::blocks_view;
use crate::client;
use crate::components::live::{follow, live, says, shown};
use crate::components::tip::Tips;
use crate::state::{Run, State};

/// Renders the timeline picture of a run.
#[component]
pub fn Pane(
    /// Timeline of the run.
    surface: Rc<Surface>,
    /// True if the picture gets the keyboard focus when it appears.
    has_focus: bool,
) -> impl IntoView {
    let said = surface.said;
    let scroll = NodeRef::<Div>::new();
    let hand = StoredValue::new_local(None::<Hand>);
    let tips = Tips::get();
    let attached = surface.clone();
    follow(move || {
        if let Some(element) = scroll.get() {
            let element: HtmlElement = element.unchecked_into();
            hand.set_value(Some(Hand::new(&attached, &element, tips)));
            attached.attach(element.clone());
            watch_size(&attached, &element);
            if has_focus {
                // Fails only for an element that cannot have the focus.
                let _ = element.focus();
            }
        }
    });
    let (coloured, state) = (surface.clone(), State::get());
    follow(move || {
        state.dark.track();
        coloured.measure();
    });
    // Show the tooltip next to the pointer after the worker has found the event below the pointer.
    let last = RefCell::new(Vec::new());
    follow(move || {
        let tip = said.seen.with(|seen| seen.tip.clone());
        if *last.borrow() != tip {
            let (x, y) = hand.with_value(|hand| hand.as_ref().map_or((0.0, 0.0), |hand| hand.pointer.get()));
            let text = tip.join("\n");
            if text.is_empty() {
                tips.hide()
            } else {
                tips.show_between(x + 12.0, y - 6.0, y + 14.0, text)
            }
            last.replace(tip);
        }
    });
    let kept = StoredValue::new_local(surface);
    on_cleanup(move || kept.with_value(|surface| surface.detach()));
    view! {
        {live(move || said.failed.get().map(|reason| view! { <p class="banner" role="alert">{reason}</p> }))}
        <div class="timeline-scroll" node_ref=scroll tabindex="0" role="application" aria-label="Timeline. Arrow keys move between events; W, A, S and D zoom and pan; the question mark lists all keys.">
            <div class="timeline-space">
                <div class="timeline-picture">
                    <canvas class="timeline-names"></canvas>
                    <div class="timeline-window"><canvas class="timeline-events"></canvas><Selection said=said /></div>
                </div>
            </div>
        </div>
        <p class="visually-hidden" role="status">{says(move || said.outcome.with(|outcome| outcome.as_ref().map(|it| it.said.clone()).unwrap_or_default()))}</p>
    }
}

/// Renders the selected range on top of the picture.
#[component]
fn Selection(said: Said) -> impl IntoView {
    let place = move || {
        let area = said.area.get()?;
        let (start, end) = area.range_ps;
        let (from, to) = said.range_ps.get();
        let length = (to - from) as f64;
        let share = |ps: i64| (ps.saturating_sub(from)) as f64 / length;
        let scroll = said.seen.with(|seen| f64::from(seen.scroll));
        let rows =
            area.rows.map(|(top, bottom)| (f64::from(top) - scroll + AXIS_HEIGHT, f64::from(bottom - top).max(4.0)));
        Some((share(start).clamp(-0.1, 1.1), share(end).clamp(-0.1, 1.1), end - start, rows))
    };
    live(move || {
        place().map(|(left, right, length, rows)| {
            let (top, height) = rows.map_or(("0".to_owned(), "100%".to_owned()), |(top, height)| (format!("{top}px"), format!("{height}px")));
            let (left, width) = (format!("{:.4}%", 100.0 * left), format!("{:.4}%", 100.0 * (right - left)));
            view! { <div class="timeline-area" style:left=left style:width=width style:top=top style:height=height><span>{format::time_us(length as f64 / 1e6)}</span></div> }
        })
    })
}

/// Renders the details of the selected event.
#[component]
pub fn Details(
    /// The run to show.
    run: Run,
    /// Signals of the run's timeline.
    said: Said,
) -> impl IntoView {
    let blocks = said.blocks;
    let is_there = move || blocks.with(|blocks| !blocks.is_empty());
    shown(is_there, move || {
        let of = run.clone();
        let more = move || {
            let in_file = said.outcome.with(|outcome| outcome.as_ref()?.in_file.clone())?;
            let of = of.clone();
            let read = move || read_again(of.clone(), said, in_file.clone());
            Some(button(
                "All arguments in the file",
                "Read the file again to show all arguments of this event",
                Box::new(read),
            ))
        };
        view! { <section class="timeline-details blocks" aria-label="The selected event">{blocks_view(run.clone(), blocks)}{live(more)}</section> }
    })
}

/// Reads a run's file again and shows all arguments of the selected event.
fn read_again(run: Run, said: Said, in_file: (String, u32)) {
    let note = |text: &str| Arc::new(Block::Note { text: text.to_owned() });
    let reading = note("Reading the file again...");
    said.outcome.update(|outcome| outcome.iter_mut().for_each(|outcome| outcome.in_file = None));
    said.blocks.update(|blocks| blocks.push(reading.clone()));
    wasm_bindgen_futures::spawn_local(async move {
        let found = match client::arguments(&run, in_file).await {
            Ok(grid) => Arc::new(Block::Grid(grid)),
            Err(reason) => note(&reason),
        };
        // By now the user may have selected another event or left the view.
        said.blocks.try_update(|blocks| {
            blocks.iter_mut().filter(|block| Arc::ptr_eq(block, &reading)).for_each(|block| *block = found.clone());
        });
    });
}

/// Resizes the picture when its frame changes.
fn watch_size(surface: &Rc<Surface>, element: &HtmlElement) {
    let surface = surface.clone();
    let resized = Closure::<dyn FnMut()>::new(move || surface.measure());
    if let Ok(observer) = ResizeObserver::new(resized.as_ref().unchecked_ref()) {
        observer.observe(element);
        let kept = StoredValue::new_local((observer, resized));
        on_cleanup(move || kept.with_value(|(observer, _)| observer.disconnect()));
    }
}
