//! The picture, in which nodes and edges are SVG elements. The user can zoom, drag, and use the keyboard.

use crossprof::graph::{Drawn, Picture, PictureNode};
use crossprof::text::format::printable;
use leptos::html::Div;
use leptos::prelude::*;
use wasm_bindgen::JsCast;
use web_sys::{Element, KeyboardEvent, MouseEvent, PointerEvent, WheelEvent};

use super::Explorer;
use super::walk::{Step, step};
use crate::components::live::{follow, live};

/// Minimum and maximum scale of the picture.
const ZOOM: (f64, f64) = (0.1, 3.0);
/// Smallest scale at which text is legible. If the picture does not fit at this scale, the user must scroll.
const LEGIBLE: f64 = 0.8;
/// Factor by which one zoom step changes the scale.
const FACTOR: f64 = 1.25;
/// Height of a line of text, and the first baseline of a node, in pixels of the picture.
const LINE: f64 = 15.0;
const BASELINE: f64 = 17.0;

/// Width of the button that opens or closes a node, in pixels of the picture.
const SWITCH: f64 = 16.0;

/// Position of the pointer and of the scrolled picture when a drag began.
type Grip = (f64, f64, f64, f64);

/// Renders the picture.
#[component]
pub fn Canvas(
    /// State of the view.
    explorer: Explorer,
) -> impl IntoView {
    let frame = NodeRef::<Div>::new();
    let grip = RwSignal::new(None::<Grip>);
    let scale = move || {
        let room = frame.get().map(|frame| f64::from(frame.client_width()));
        explorer.zoom.get().unwrap_or_else(|| explorer.picture.with(|picture| fitting(picture.as_ref(), room)))
    };
    // Scroll to the selected node when another picture is shown.
    follow(move || {
        explorer.picture.track();
        let Some(frame) = frame.get() else { return };
        request_animation_frame(move || reveal(explorer, &frame));
    });
    let on_click = move |event: MouseEvent| {
        if let Some((node, is_toggle)) = node_of(&event) {
            explorer.select(Some(node));
            if is_toggle {
                explorer.activate(node);
            }
        }
    };
    let on_double = move |event: MouseEvent| {
        if let Some((node, false)) = node_of(&event) {
            explorer.activate(node);
        }
    };
    let on_key = move |event: KeyboardEvent| {
        if event.ctrl_key() || event.meta_key() || event.alt_key() {
            return;
        }
        let to = match event.key().as_str() {
            "ArrowUp" => Some(Step::Up),
            "ArrowDown" => Some(Step::Down),
            "ArrowLeft" => Some(Step::Left),
            "ArrowRight" => Some(Step::Right),
            _ => None,
        };
        let scale = untrack(scale);
        let from = explorer.selected.get_untracked();
        match (to, event.key().as_str()) {
            (Some(to), _) => {
                let next = explorer.picture.with_untracked(|picture| step(picture.as_ref()?, from, to));
                if next.is_some() {
                    explorer.select(next);
                }
            }
            (None, "Enter") => from.into_iter().for_each(|node| explorer.activate(node)),
            (None, "+" | "=") => zoom(explorer, scale * FACTOR),
            (None, "-") => zoom(explorer, scale / FACTOR),
            (None, "0") => explorer.zoom.set(None),
            _ => return,
        }
        event.prevent_default();
        event.stop_propagation();
        if let Some(frame) = frame.get_untracked() {
            request_animation_frame(move || reveal(explorer, &frame));
        }
    };
    let on_wheel = move |event: WheelEvent| {
        if event.ctrl_key() || event.meta_key() {
            event.prevent_default();
            let scale = untrack(scale);
            zoom(explorer, if event.delta_y() < 0.0 { scale * FACTOR } else { scale / FACTOR });
        }
    };
    let on_down = move |event: PointerEvent| {
        // For touch, the browser itself scrolls the picture.
        if let (0, "mouse", Some(frame)) = (event.button(), event.pointer_type().as_str(), frame.get_untracked()) {
            let (x, y) = (f64::from(event.client_x()), f64::from(event.client_y()));
            grip.set(Some((x, y, f64::from(frame.scroll_left()), f64::from(frame.scroll_top()))));
        }
    };
    let on_move = move |event: PointerEvent| {
        let (Some((x, y, left, top)), Some(frame)) = (grip.get_untracked(), frame.get_untracked()) else { return };
        if event.buttons() & 1 == 0 {
            return grip.set(None);
        }
        frame.set_scroll_left((left + x - f64::from(event.client_x())) as i32);
        frame.set_scroll_top((top + y - f64::from(event.client_y())) as i32);
    };
    let drawing =
        move || explorer.picture.with(|picture| picture.as_ref().map(|picture| drawing(explorer, picture, scale)));
    view! {
        <div class="graph-canvas" node_ref=frame tabindex="0" role="application" class:dragged=move || grip.get().is_some()
            aria-label="Graph. Arrow keys go from op to op, Enter opens a group or centres the op, and plus and minus zoom."
            on:click=on_click on:dblclick=on_double on:keydown=on_key on:wheel=on_wheel
            on:pointerdown=on_down on:pointermove=on_move on:pointerup=move |_| grip.set(None) on:pointerleave=move |_| grip.set(None)>
            {live(drawing)}
        </div>
    }
}

/// Sets the scale.
pub fn zoom(explorer: Explorer, scale: f64) {
    explorer.zoom.set(Some(scale.clamp(ZOOM.0, ZOOM.1)));
}

/// Returns the scale at which the picture is `room_px` wide, but at least the smallest scale at which text is legible.
fn fitting(picture: Option<&Picture>, room_px: Option<f64>) -> f64 {
    let width = picture.map_or(1.0, |picture| picture.size.0.max(1.0));
    room_px.map_or(1.0, |room| ((room - 4.0) / width).clamp(LEGIBLE, 1.0))
}

/// Scrolls the selected node into view. Does nothing if no node is selected, or if the user has left the view.
fn reveal(explorer: Explorer, frame: &Element) {
    let Some(at) = explorer.selected.try_get_untracked().flatten() else { return };
    let zoom = explorer.zoom.try_get_untracked().flatten();
    let place = explorer.picture.try_with_untracked(|picture| {
        let room = f64::from(frame.client_width());
        let scale = zoom.unwrap_or_else(|| fitting(picture.as_ref(), Some(room)));
        let node = picture.as_ref()?.nodes.get(at)?;
        let Drawn { x, y, width, height, .. } = node.drawn;
        Some((x * scale, y * scale, width * scale, height * scale))
    });
    let Some(Some((x, y, width, height))) = place else { return };
    let along = |start: f64, length: f64, now: i32, room: i32| {
        let (now, room) = (f64::from(now), f64::from(room));
        let is_seen = start >= now && start + length <= now + room;
        (!is_seen).then_some((start + length / 2.0 - room / 2.0) as i32)
    };
    if let Some(left) = along(x, width, frame.scroll_left(), frame.client_width()) {
        frame.set_scroll_left(left);
    }
    if let Some(top) = along(y, height, frame.scroll_top(), frame.client_height()) {
        frame.set_scroll_top(top);
    }
}

/// Returns the index of the node below the pointer, and true if the pointer is on the button that opens or closes the
/// node.
fn node_of(event: &MouseEvent) -> Option<(usize, bool)> {
    let target: Element = event.target()?.dyn_into().ok()?;
    let node = target.closest("[data-node]").ok()??.get_attribute("data-node")?.parse().ok()?;
    Some((node, target.closest(".switch").ok()?.is_some()))
}

fn drawing(explorer: Explorer, picture: &Picture, scale: impl Fn() -> f64 + Copy + Send + Sync + 'static) -> AnyView {
    let (width, height) = picture.size;
    let frames = picture.nodes.iter().enumerate().filter(|(_, node)| node.is_open);
    let frames: Vec<AnyView> = frames.map(|(at, it)| node(explorer, at, it)).collect();
    let nodes = picture.nodes.iter().enumerate().filter(|(_, node)| !node.is_open);
    let nodes: Vec<AnyView> = nodes.map(|(at, it)| node(explorer, at, it)).collect();
    let edges: Vec<AnyView> = picture.edges.iter().map(|edge| {
        let (from, to) = (edge.from as usize, edge.to as usize);
        let is_near = move || explorer.selected.get().is_some_and(|selected| selected == from || selected == to);
        let count = (edge.count > 1).then(|| {
            view! { <text class="count" x=edge.label.0 + 4.0 y=edge.label.1>{edge.count}</text> }
        });
        view! { <g class="edge" class:near=is_near><path d=edge.path.clone() marker-end="url(#arrow)" />{count}</g> }.into_any()
    }).collect();
    view! {
        <svg width=move || (width * scale()).ceil() height=move || (height * scale()).ceil() viewBox=format!("0 0 {width} {height}")>
            <defs><marker id="arrow" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto"><path d="M0 0L8 4L0 8z" /></marker></defs>
            {frames}{edges}{nodes}
        </svg>
    }
    .into_any()
}

fn node(explorer: Explorer, at: usize, node: &PictureNode) -> AnyView {
    let Drawn { x: left, y: top, width, height, ref lines, class } = node.drawn;
    let is_selected = move || explorer.selected.get() == Some(at);
    let mut class = format!("node {}", class.name());
    for (is, name) in
        [(node.is_open, " open"), (node.is_centre, " centre"), (node.is_root, " root"), (node.is_critical, " critical")]
    {
        class.push_str(if is { name } else { "" });
    }
    let (x, anchor) = match node.is_open {
        true => (left + 26.0, "start"),
        // The switch is on the left.
        false => (left + width / 2.0 + if node.opens { SWITCH / 2.0 } else { 0.0 }, "middle"),
    };
    let lines = lines.iter().enumerate().map(|(number, line)| {
        let y = top + BASELINE + number as f64 * LINE;
        view! { <text x=x y=y text-anchor=anchor class:first={number == 0}>{printable(line)}</text> }
    });
    let switch = node.opens.then(|| {
        let (x, y) = (left + 5.0, top + 5.0);
        let sign = if node.is_open { "M3 7h8" } else { "M3 7h8M7 3v8" };
        view! {
            <g class="switch" transform=format!("translate({x} {y})")>
                <title>{if node.is_open { "Close" } else { "Open" }}</title>
                <rect width="14" height="14" rx="3" /><path d=sign />
            </g>
        }
    });
    view! {
        <g class=class class:selected=is_selected data-node=at data-name=node.name.clone()>
            <title>{printable(&node.id)}</title>
            <rect x=left y=top width=width height=height rx="5" />
            {lines.collect_view()}
            {switch}
        </g>
    }
    .into_any()
}
