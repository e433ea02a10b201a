//! Keyboard shortcuts of the timeline. The shortcuts of Perfetto and of XProf also work here.

use std::rc::Rc;

use crossprof::pages::timeline::{Action, Keep, TrackChange};
use crossprof::timeline::{Step, Viewport};
use web_sys::KeyboardEvent;

use super::motion::Motion;
use super::surface::{Area, Surface};
use crate::browser;

/// Handles a key. Returns true if the key has an action. Most letters have the same action in upper and lower case.
pub(super) fn on_key(surface: &Rc<Surface>, motion: &Rc<Motion>, event: &KeyboardEvent) -> bool {
    let key = event.key();
    let is_alt = event.alt_key() && !event.ctrl_key() && !event.meta_key();
    if !is_alt && (event.ctrl_key() || event.meta_key() || event.alt_key()) {
        return false;
    }
    let mut letters = key.chars();
    if let (Some(letter), None, false) = (letters.next(), letters.next(), is_alt)
        && motion.press(surface, letter.to_ascii_lowercase())
    {
        return true;
    }
    let action = match key.as_str() {
        "ArrowUp" if is_alt => Action::Arrange(TrackChange::Up),
        "ArrowDown" if is_alt => Action::Arrange(TrackChange::Down),
        _ if is_alt => return false,
        "ArrowRight" | "." => Action::Step(Step::Next),
        "ArrowLeft" | "," => Action::Step(Step::Previous),
        "ArrowUp" => Action::Step(Step::Up),
        "ArrowDown" => Action::Step(Step::Down),
        "[" if surface.selected().is_some() => Action::Step(Step::Cause),
        "]" if surface.selected().is_some() => Action::Step(Step::Effect),
        "g" | "G" => Action::Keep(Keep::Flag),
        "j" | "J" => Action::Keep(Keep::Next { forward: true }),
        "k" | "K" => Action::Keep(Keep::Next { forward: false }),
        "Delete" => Action::Keep(Keep::Remove),
        "h" => Action::Arrange(TrackChange::Hide),
        "H" => Action::Arrange(TrackChange::ShowHidden),
        "t" | "T" => Action::Arrange(TrackChange::Pin),
        "l" | "L" => Action::Arrange(TrackChange::Narrow),
        "Enter" | "n" | "N" => Action::Find { forward: !event.shift_key() },
        key => return shows(surface, key),
    };
    surface.act(action);
    true
}

/// Handles the keys for which the page sends no request to the worker.
fn shows(surface: &Rc<Surface>, key: &str) -> bool {
    match key {
        "f" | "F" => surface.focus(),
        "z" | "Z" | "0" => surface.change(|viewport| Viewport::new(viewport.all)),
        "m" => mark(surface),
        "M" => {
            mark(surface);
            surface.keep_area();
        }
        "b" | "B" => surface.keep_area(),
        "/" => browser::focus(".timeline-filter"),
        "Escape" if surface.has_selection() => surface.clear(),
        _ => return false,
    }
    true
}

fn mark(surface: &Rc<Surface>) {
    use leptos::prelude::*;
    let range = surface.said.outcome.with_untracked(|outcome| outcome.as_ref().and_then(|outcome| outcome.range_ps));
    surface.said.area.set(range.map(|range_ps| Area { range_ps, rows: None }));
    surface.measure_area();
}
