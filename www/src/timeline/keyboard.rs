//! The keys of the timeline: the union of those that people know from Perfetto and from XProf.

use std::rc::Rc;

use crossprof::pages::timeline::Action;
use crossprof::timeline::{Step, Viewport};
use leptos::prelude::*;
use web_sys::KeyboardEvent;

use super::motion::Motion;
use super::surface::{Area, Surface};
use crate::browser;

/// Does what a key says; true where it says anything. Letters mean what they say without regard to their case.
pub fn on_key(surface: &Rc<Surface>, motion: &Rc<Motion>, event: &KeyboardEvent) -> bool {
    if event.ctrl_key() || event.meta_key() || event.alt_key() {
        return false;
    }
    let key = event.key();
    let mut letters = key.chars();
    if let (Some(letter), None) = (letters.next(), letters.next())
        && motion.press(surface, letter.to_ascii_lowercase())
    {
        return true;
    }
    match key.as_str() {
        "ArrowRight" | "." => surface.act(Action::Step(Step::Next)),
        "ArrowLeft" | "," => surface.act(Action::Step(Step::Previous)),
        "ArrowUp" => surface.act(Action::Step(Step::Up)),
        "ArrowDown" => surface.act(Action::Step(Step::Down)),
        "[" if surface.selected().is_some() => surface.act(Action::Step(Step::Cause)),
        "]" if surface.selected().is_some() => surface.act(Action::Step(Step::Effect)),
        "f" | "F" => surface.focus(),
        "z" | "Z" | "0" => surface.change(|viewport| Viewport::new(viewport.all)),
        "m" | "M" => mark(surface),
        "Enter" | "n" | "N" => surface.act(Action::Find { forward: !event.shift_key() }),
        "/" => browser::focus(".timeline-filter"),
        "Escape" if surface.selected().is_some() || surface.said.area.with_untracked(Option::is_some) => {
            surface.clear()
        }
        _ => return false,
    }
    true
}

/// The time of the selected event becomes the selected range.
fn mark(surface: &Rc<Surface>) {
    use leptos::prelude::*;
    let range = surface.said.outcome.with_untracked(|outcome| outcome.as_ref().and_then(|outcome| outcome.range_ps));
    surface.said.area.set(range.map(|range_ps| Area { range_ps, rows: None }));
    surface.measure_area();
}
