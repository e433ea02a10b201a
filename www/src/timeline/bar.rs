//! The buttons above the picture. One function makes all buttons. Separate Leptos code for each button would exceed the
//! size limit of the page.

use std::rc::Rc;

use crossprof::pages::timeline::{Action, Keep, TrackChange};
use crossprof::timeline::Viewport;
use leptos::prelude::*;

use super::perfetto::Perfetto;
use super::surface::Surface;
use crate::browser;
use crate::components::live::live;
use crate::protocol::timeline::PictureForm;
use crate::state::State;

/// Output formats, each with its form, label, description, file name suffix and media type. The suffix and the media
/// type are empty for Perfetto, because that button saves no file.
const FORMS: [(PictureForm, &str, &str, &str, &str); 4] = [
    (PictureForm::Svg, "SVG", "Save as SVG", "timeline.svg", "image/svg+xml"),
    (PictureForm::Png, "PNG", "Save as PNG", "timeline.png", "image/png"),
    (
        PictureForm::Trace,
        "Trace",
        "Save the selected range or the visible range as a Chrome trace (trace.json.gz) for Perfetto and XProf",
        "trace.json.gz",
        "application/gzip",
    ),
    (
        PictureForm::Trace,
        "Open in Perfetto",
        "Open ui.perfetto.dev in another tab, and pass the selected range or the visible range to it. The data stays in this browser.",
        "",
        "",
    ),
];

/// Handle of a surface, which Leptos views can store.
type Held = StoredValue<Rc<Surface>, LocalStorage>;

/// Renders a button with the given label, description and action.
#[inline(never)]
pub fn button(label: &str, what: &'static str, does: Box<dyn Fn()>) -> AnyView {
    view! { <button class="plain" title=what on:click=move |_| does()>{label.to_owned()}</button> }.into_any()
}

fn acts(surface: Held, action: Action) -> Box<dyn Fn()> {
    Box::new(move || {
        surface.with_value(|surface| surface.act(action.clone()));
        browser::focus(".timeline-scroll");
    })
}

/// Renders the buttons that save the timeline, go to flags and bookmarked ranges, and show hidden tracks.
pub fn buttons(surface: &Rc<Surface>, run: u32) -> AnyView {
    let (state, said, surface) = (State::get(), surface.said, StoredValue::new_local(surface.clone()));
    live(move || {
        let (kept, hidden) =
            said.outcome.with(|outcome| outcome.as_ref().map(|it| it.kept.clone()).unwrap_or_default());
        let save = |at: usize| {
            let (_, label, what, ..) = FORMS[at];
            button(label, what, Box::new(move || surface.with_value(|surface| save(surface, state, run, at))))
        };
        let mut parts: Vec<AnyView> = (0..FORMS.len()).map(save).collect();
        for (label, at) in kept.iter().zip(0..) {
            parts.push(button(label, "Go there", acts(surface, Action::Keep(Keep::Show(at)))));
        }
        if hidden > 0 {
            let show = acts(surface, Action::Arrange(TrackChange::ShowHidden));
            parts.push(button(&format!("Show {hidden} hidden"), "Show the hidden tracks again", show));
        }
        let whole = move || surface.with_value(|surface| surface.change(|viewport| Viewport::new(viewport.all)));
        parts.push(button("Show all", "Show the whole capture", Box::new(whole)));
        parts
    })
}

/// Saves a part of the timeline, or passes it to Perfetto.
fn save(surface: &Rc<Surface>, state: State, run: u32, at: usize) {
    let (form, _, _, end, kind) = FORMS[at];
    let name = untrack(|| state.name_of(run));
    // Open the tab now, because browsers allow it only during the click.
    let perfetto = if end.is_empty() { Perfetto::open() } else { None };
    let title = name.clone();
    let take = Box::new(move |picture: crate::protocol::wire::Document| match perfetto {
        Some(perfetto) => perfetto.take(picture.buffer().clone(), &title),
        None => browser::download(&format!("{}.{end}", browser::file_stem(&title)), kind, picture.buffer()),
    });
    surface.picture(name, form, take);
}

/// Renders the name of the selected flag or bookmarked range. If the selected range is not bookmarked, renders a button
/// that bookmarks it.
pub fn naming(surface: &Rc<Surface>) -> AnyView {
    let (said, surface) = (surface.said, StoredValue::new_local(surface.clone()));
    live(move || {
        let name = said.outcome.with(|outcome| outcome.as_ref()?.bookmark.as_ref().map(|(_, name)| name.clone()));
        let mut parts: Vec<AnyView> = Vec::new();
        if let Some(name) = name {
            let rename = move |event| acts(surface, Action::Keep(Keep::Rename(event_target_value(&event))))();
            let field = view! { <input type="text" class="table-filter timeline-name" aria-label="Name of the flag or range" prop:value=name on:change=rename /> };
            parts.push(field.into_any());
            parts.push(button("Remove", "Remove this flag or range", acts(surface, Action::Keep(Keep::Remove))));
        } else if said.area.with(Option::is_some) {
            let keep = move || surface.with_value(|surface| surface.keep_area());
            parts.push(button("Keep this range", "Keep the selected range under a name", Box::new(keep)));
        }
        parts
    })
}
