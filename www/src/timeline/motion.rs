//! Panning and zooming with held keys. Movement speeds up while a key is held, and slows down after the key is released.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use leptos::prelude::*;
use wasm_bindgen::JsCast;
use wasm_bindgen::prelude::Closure;

use super::surface::Surface;

/// Maximum speeds of panning and zooming. The speed of panning is in visible widths per second. The speed of zooming is
/// the factor by which the visible range changes per second.
const FULL_SPEED: (f64, f64) = (1.2, 2.5);

/// Rate at which the speed approaches its target, per second.
const FOLLOW: f64 = 12.0;

/// Panning and zooming that held keys cause. Negative numbers pan to earlier times and zoom in. Positive numbers pan to
/// later times and zoom out.
#[derive(Default)]
pub(super) struct Motion {
    held: RefCell<Vec<char>>,
    speed: Cell<(f64, f64)>,
    /// Time of the last frame, in milliseconds. `None` while nothing moves.
    last_ms: Cell<Option<f64>>,
    /// Position of the pointer as a fraction of the width. Zooming does not move the time at this position.
    pub about: Cell<f64>,
}

impl Motion {
    /// Handles a pressed key. Returns true if the key causes movement.
    pub(super) fn press(self: &Rc<Motion>, surface: &Rc<Surface>, key: char) -> bool {
        if direction(key).is_none() {
            return false;
        }
        if !self.held.borrow().contains(&key) {
            self.held.borrow_mut().push(key);
        }
        if self.last_ms.get().is_none() {
            // Start with some speed, so that a short press also moves.
            let (pan, zoom) = direction(key).unwrap_or_default();
            self.speed.set((pan * FULL_SPEED.0 / 2.0, zoom * FULL_SPEED.1 / 2.0));
            self.last_ms.set(Some(now_ms()));
            self.clone().next(surface.clone());
        }
        true
    }

    /// Handles a released key.
    pub(super) fn release(&self, key: char) {
        self.held.borrow_mut().retain(|held| *held != key);
    }

    /// Treats all keys as released, for a page that no longer receives key events.
    pub(super) fn stop(&self) {
        self.held.borrow_mut().clear();
    }

    fn next(self: Rc<Motion>, surface: Rc<Surface>) {
        let step = Closure::once_into_js(move |_: f64| self.step(surface));
        // Fails only if the page no longer exists.
        let _ = window().request_animation_frame(step.unchecked_ref());
    }

    fn step(self: Rc<Motion>, surface: Rc<Surface>) {
        let now = now_ms();
        let seconds = (now - self.last_ms.get().unwrap_or(now)).clamp(0.0, 100.0) / 1000.0;
        self.last_ms.set(Some(now));
        let wanted = self
            .held
            .borrow()
            .iter()
            .filter_map(|key| direction(*key))
            .fold((0.0, 0.0), |sum, of| (sum.0 + of.0 * FULL_SPEED.0, sum.1 + of.1 * FULL_SPEED.1));
        let (pan, zoom) = self.speed.get();
        let follow = (FOLLOW * seconds).min(1.0);
        let (pan, zoom) = (pan + (wanted.0 - pan) * follow, zoom + (wanted.1 - zoom) * follow);
        self.speed.set((pan, zoom));
        let about = self.about.get();
        surface.change(|viewport| {
            let viewport = if pan == 0.0 { viewport } else { viewport.pan(pan * seconds) };
            if zoom == 0.0 { viewport } else { viewport.zoom(about, (1.0 + zoom * seconds).max(0.2)) }
        });
        if self.held.borrow().is_empty() && pan.abs() < 0.02 && zoom.abs() < 0.02 {
            self.speed.set((0.0, 0.0));
            self.last_ms.set(None);
        } else {
            self.next(surface);
        }
    }
}

fn now_ms() -> f64 {
    window().performance().map_or(0.0, |performance| performance.now())
}

/// Returns the directions in which a key pans and zooms.
fn direction(key: char) -> Option<(f64, f64)> {
    match key {
        'a' => Some((-1.0, 0.0)),
        'd' | 'e' => Some((1.0, 0.0)),
        'w' => Some((0.0, -1.0)),
        's' => Some((0.0, 1.0)),
        _ => None,
    }
}
