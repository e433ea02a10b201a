//! Mouse, pen and touch input. A click selects an event, and a drag selects a range. A drag with Shift, with the middle
//! button or with one finger pans. Two fingers zoom.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use crossprof::pages::timeline::{Action, Keep, TrackChange};
use crossprof::timeline::Viewport;
use leptos::prelude::*;
use web_sys::{PointerEvent, WheelEvent};

use super::motion::Motion;
use super::surface::{Dragged, Surface};

/// A movement of fewer pixels than this is treated as a click.
const CLICK: f64 = 4.0;

/// A pressed pointer.
#[derive(Clone, Copy)]
struct Down {
    id: i32,
    x: f64,
    y: f64,
}

/// The action that the pressed pointers currently perform.
#[derive(Clone, Copy, Default, PartialEq)]
enum Drag {
    #[default]
    Nothing,
    /// The pointer is pressed and has not moved far yet. If `moves` is true, a drag will pan.
    Pressed { x: f64, y: f64, moves: bool },
    /// Moves a track whose name the user drags.
    Name { x: f64, y: f64 },
    /// Selects a range that begins at this time.
    Area { from_ps: i64, from_y: f64 },
    /// Pans.
    Pan,
    /// Zooms with two fingers.
    Pinch,
}

/// The state of the mouse, pen or fingers on one timeline.
#[derive(Default)]
pub(super) struct Pointers {
    down: RefCell<Vec<Down>>,
    drag: Cell<Drag>,
}

impl Pointers {
    /// Handles a pressed pointer.
    pub(super) fn down(&self, surface: &Rc<Surface>, event: &PointerEvent, at: (f64, f64)) {
        // Makes the worker look up the lane at this point, which a dragged range needs.
        surface.update(|sight| sight.pointer = Some(at));
        self.down.borrow_mut().push(Down { id: event.pointer_id(), x: at.0, y: at.1 });
        let moves = event.pointer_type() == "touch" || event.shift_key() || event.button() == 1;
        self.drag.set(match self.down.borrow().len() {
            1 => Drag::Pressed { x: at.0, y: at.1, moves },
            _ => Drag::Pinch,
        });
    }

    /// Handles a moved pointer.
    pub(super) fn moved(&self, surface: &Rc<Surface>, motion: &Motion, event: &PointerEvent, at: (f64, f64)) {
        motion.about.set((at.0 / surface.width()).clamp(0.0, 1.0));
        let before = self.down.borrow().iter().find(|down| down.id == event.pointer_id()).copied();
        let Some(before) = before else {
            surface.update(|sight| sight.pointer = Some(at));
            return;
        };
        if let Drag::Pressed { x, y, moves } = self.drag.get()
            && (at.0 - x).abs().max((at.1 - y).abs()) > CLICK
        {
            let from_ps = surface.edge_at(x, event.alt_key());
            self.drag.set(match moves {
                true => Drag::Pan,
                false if x < 0.0 => Drag::Name { x, y },
                false => Drag::Area { from_ps, from_y: y },
            });
        }
        let by = (at.0 - before.x, at.1 - before.y);
        match self.drag.get() {
            Drag::Pan => {
                surface.change(|viewport| viewport.pan(-by.0 / surface.width()));
                surface.scroll_by(-by.1);
            }
            Drag::Pinch => self.pinch(surface, before, at),
            Drag::Area { from_ps, from_y } => {
                surface.drag(Dragged { from_ps, from_y, at, is_free: event.alt_key() });
            }
            Drag::Pressed { .. } | Drag::Name { .. } | Drag::Nothing => return,
        }
        for down in self.down.borrow_mut().iter_mut().filter(|down| down.id == event.pointer_id()) {
            (down.x, down.y) = at;
        }
    }

    /// Zooms so that the time below each of the two fingers stays the same.
    fn pinch(&self, surface: &Rc<Surface>, before: Down, at: (f64, f64)) {
        let other = self.down.borrow().iter().find(|down| down.id != before.id).copied();
        let Some(other) = other else { return };
        let (apart_before, apart) = ((before.x - other.x).abs().max(8.0), (at.0 - other.x).abs().max(8.0));
        let about = (at.0 + other.x) / 2.0 / surface.width();
        let pan = (before.x - at.0) / 2.0 / surface.width();
        surface.change(|viewport| viewport.zoom(about, apart_before / apart).pan(pan * apart_before / apart));
    }

    /// Handles a released pointer.
    pub(super) fn up(&self, surface: &Rc<Surface>, event: &PointerEvent, at: (f64, f64)) {
        self.down.borrow_mut().retain(|down| down.id != event.pointer_id());
        match self.drag.replace(Drag::Nothing) {
            Drag::Pressed { .. } => {
                surface.update(|sight| sight.pointer = Some(at));
                if at.0 >= 0.0 && (event.ctrl_key() || event.meta_key()) {
                    surface.act(Action::Keep(Keep::Flag));
                } else {
                    surface.said.area.set(None);
                    surface.act(Action::Pick { pins: event.shift_key() });
                }
            }
            Drag::Name { x, y } => {
                surface.update(|sight| sight.pointer = Some((x, at.1)));
                surface.act(Action::Arrange(TrackChange::Move { from: (x, y) }));
            }
            Drag::Area { .. } => surface.let_go(),
            Drag::Pan | Drag::Pinch | Drag::Nothing => {}
        }
    }

    /// Called when the browser cancels all pointers.
    pub(super) fn cancel(&self, surface: &Rc<Surface>) {
        surface.let_go();
        self.down.borrow_mut().clear();
        self.drag.set(Drag::Nothing);
    }
}

/// Handles the wheel. With Ctrl, the wheel zooms around the pointer. A horizontal wheel, or the wheel with Shift, pans.
/// Returns false if the rows should scroll instead.
pub(super) fn wheel(surface: &Rc<Surface>, event: &WheelEvent, x: f64) -> bool {
    // Pixels per line or page, for browsers that report the movement in lines or pages.
    let unit = [1.0, 16.0, 400.0].get(event.delta_mode() as usize).copied().unwrap_or(1.0);
    let (dx, dy) = (event.delta_x() * unit, event.delta_y() * unit);
    let (share, width) = ((x / surface.width()).clamp(0.0, 1.0), surface.width());
    let change: Box<dyn FnOnce(Viewport) -> Viewport> = if event.ctrl_key() || event.meta_key() {
        Box::new(move |viewport| viewport.zoom(share, (1.0 + dy / 240.0).clamp(0.5, 2.0)))
    } else if event.shift_key() && dx == 0.0 {
        Box::new(move |viewport| viewport.pan(dy / width))
    } else if dx.abs() > dy.abs() {
        Box::new(move |viewport| viewport.pan(dx / width))
    } else {
        return false;
    };
    surface.change(change);
    true
}
