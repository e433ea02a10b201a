//! A small picture of the whole capture, shown above every view. The picture marks the window that all numbers cover.
//! Dragging over the picture selects another window, and a double click opens the timeline at that point.

use std::cell::Cell;
use std::rc::Rc;
use std::time::Duration;

use crossprof::session::{Settings, WindowChoice};
use leptos::html::{Canvas, Div};
use leptos::prelude::*;
use web_sys::PointerEvent;

use super::live::{follow, live, shown};
use crate::protocol::timeline::StripPicture;
use crate::route::{Route, View};
use crate::state::{Run, State};
use crate::timeline::put;
use crate::{ask, browser, client};

/// Height in CSS pixels.
const HEIGHT: f64 = 34.0;

/// Delay of the request for the picture. Even a delay of zero lets the view send its request first.
const AFTER_VIEW: Duration = Duration::ZERO;

/// A drag over fewer pixels than this is treated as a click.
const CLICK: f64 = 4.0;

/// The strip. The strip is empty for a run without events.
#[component]
pub fn Strip(
    /// The run to show.
    run: Run,
) -> impl IntoView {
    let report = run.report;
    let has_events = move || report.with(|report| report.profile.is_from_events());
    shown(has_events, move || view! { <Picture run=run.clone() /> })
}

#[component]
fn Picture(run: Run) -> impl IntoView {
    let state = State::get();
    let (canvas, frame) = (NodeRef::<Canvas>::new(), NodeRef::<Div>::new());
    let length_ps = RwSignal::new(0i64);
    let brush = RwSignal::new(None::<(f64, f64)>);
    let asked = run.clone();
    follow(move || {
        // New settings may change the steps.
        asked.report.track();
        let dark = state.dark.get();
        let Some(element) = frame.get() else { return };
        let (width, scale) = (f64::from(element.client_width()), window().device_pixel_ratio());
        let size = ((width * scale) as u32, (HEIGHT * scale) as u32);
        let heard = move |picture: Result<StripPicture, String>| {
            if let (Ok(StripPicture { bitmap, length_ps: length }), Some(canvas)) =
                (picture, canvas.try_get_untracked().flatten())
            {
                put(&canvas, &bitmap, width);
                length_ps.set(length);
            }
        };
        let asked = asked.clone();
        // Request the view first, because the user waits for it.
        set_timeout(move || ask::strip(&asked, size, dark, Box::new(heard)), AFTER_VIEW);
    });
    // Start and end of the window, as fractions of the width.
    let window_of = run.clone();
    let chosen = move || {
        let length_us = length_ps.get() as f64 / 1e6;
        let report = window_of.report.get();
        let window = report.profile.window.as_ref()?;
        (length_us > 0.0).then(|| (window.start_us / length_us, window.end_us / length_us))
    };
    let marked = move || brush.get().map(|(a, b)| (a.min(b), a.max(b))).or_else(&chosen);
    let overlay = move || {
        marked().map(|(from, to)| {
            let (left, width) = (format!("{:.4}%", 100.0 * from), format!("{:.4}%", (100.0 * (to - from)).max(0.2)));
            view! { <div class="strip-window" style:left=left style:width=width></div> }
        })
    };
    let share = move |event: &web_sys::MouseEvent| {
        let place = frame.get_untracked().map(|element| element.get_bounding_client_rect());
        place.map_or(0.0, |place| {
            ((f64::from(event.client_x()) - place.left()) / place.width().max(1.0)).clamp(0.0, 1.0)
        })
    };
    let from = Rc::new(Cell::new(None::<f64>));
    let (starts, moves) = (from.clone(), from.clone());
    let on_down = move |event: PointerEvent| {
        starts.set(Some(share(&event)));
        if let Some(element) = frame.get_untracked() {
            // Fails if the pointer no longer exists.
            let _ = element.set_pointer_capture(event.pointer_id());
        }
    };
    let on_move = move |event: PointerEvent| {
        if let Some(from) = moves.get() {
            brush.set(Some((from, share(&event))));
        }
    };
    let analysed = run.clone();
    let on_up = move |event: PointerEvent| {
        let (Some(from), to) = (from.take(), share(&event)) else { return };
        brush.set(None);
        let width = frame.get_untracked().map_or(0.0, |element| f64::from(element.client_width()));
        if (to - from).abs() * width < CLICK {
            return;
        }
        let length_us = length_ps.get_untracked() as f64 / 1e6;
        let us = |share: f64| (share * length_us * 1e3).trunc() / 1e3;
        let window = WindowChoice::Range { from_us: us(from.min(to)), to_us: us(from.max(to)) };
        client::analyse(state, &analysed, Settings { window, ..analysed.settings.get_untracked() });
    };
    let id = run.id;
    let on_double = move |event: web_sys::MouseEvent| {
        let (length, at) = (length_ps.get_untracked() as f64, share(&event));
        let ps = |share: f64| (length * share.clamp(0.0, 1.0)) as i64;
        let mut route = Route::of(View::TIMELINE, id);
        route.query.options.insert("range".to_owned(), format!("{}-{}", ps(at - 0.02), ps(at + 0.02)));
        browser::go(&route);
    };
    view! {
        <div class="strip" node_ref=frame title="The whole capture. Drag to measure a part of it. Double-click to open the timeline at that point."
            on:pointerdown=on_down on:pointermove=on_move on:pointerup=on_up on:dblclick=on_double>
            <canvas node_ref=canvas aria-hidden="true"></canvas>
            {live(overlay)}
        </div>
    }
}
