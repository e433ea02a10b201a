//! Pan and zoom by keys that are held: they gather speed, and run out when they are let go.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use leptos::prelude::*;
use wasm_bindgen::JsCast;
use wasm_bindgen::prelude::Closure;

use super::surface::Surface;

/// Widths a second, and what is in sight times so much a second, at full speed.
const FULL_SPEED: (f64, f64) = (1.2, 2.5);

/// How fast the speed follows the keys, in shares a second.
const FOLLOW: f64 = 12.0;

/// A direction of pan (-1 earlier, 1 later) and of zoom (-1 nearer, 1 farther), and the speed.
#[derive(Default)]
pub struct Motion {
    held: RefCell<Vec<char>>,
    speed: Cell<(f64, f64)>,
    /// When the last picture was due, in milliseconds; none while nothing moves.
    last_ms: Cell<Option<f64>>,
    /// Where the pointer is, as a share of the width: zoom keeps the time below it.
    pub about: Cell<f64>,
}

impl Motion {
    /// A key goes down; true where it moves anything.
    pub fn press(self: &Rc<Motion>, surface: &Rc<Surface>, key: char) -> bool {
        if direction(key).is_none() {
            return false;
        }
        if !self.held.borrow().contains(&key) {
            self.held.borrow_mut().push(key);
        }
        if self.last_ms.get().is_none() {
            // The first press moves at once, however short it is.
            let (pan, zoom) = direction(key).unwrap_or_default();
            self.speed.set((pan * FULL_SPEED.0 / 2.0, zoom * FULL_SPEED.1 / 2.0));
            self.last_ms.set(Some(now_ms()));
            self.clone().next(surface.clone());
        }
        true
    }

    /// A key goes up.
    pub fn release(&self, key: char) {
        self.held.borrow_mut().retain(|held| *held != key);
    }

    /// All keys are up: the page does not hear of keys any more.
    pub fn stop(&self) {
        self.held.borrow_mut().clear();
    }

    fn next(self: Rc<Motion>, surface: Rc<Surface>) {
        let step = Closure::once_into_js(move |_: f64| self.step(surface));
        // Fails only in a page that is gone.
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

/// What a key moves.
fn direction(key: char) -> Option<(f64, f64)> {
    match key {
        'a' => Some((-1.0, 0.0)),
        'd' | 'e' => Some((1.0, 0.0)),
        'w' => Some((0.0, -1.0)),
        's' => Some((0.0, 1.0)),
        _ => None,
    }
}
