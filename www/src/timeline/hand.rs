//! Input events of the timeline. One listener handles all these events.

use std::cell::Cell;
use std::rc::Rc;

use wasm_bindgen::JsCast;
use wasm_bindgen::prelude::Closure;
use web_sys::{Event, HtmlElement, KeyboardEvent, MouseEvent, PointerEvent, WheelEvent};

use super::keyboard::on_key;
use super::motion::Motion;
use super::pointer::{Pointers, wheel};
use super::surface::Surface;
use crate::components::tip::Tips;

/// Browser events that the listener handles.
const HEARD: [&str; 11] = [
    "pointerdown",
    "pointermove",
    "pointerup",
    "pointercancel",
    "pointerleave",
    "wheel",
    "keydown",
    "keyup",
    "dblclick",
    "scroll",
    "blur",
];

/// Handles input until the value is dropped.
pub(super) struct Hand {
    element: HtmlElement,
    listener: Closure<dyn FnMut(Event)>,
    /// Position of the pointer in the window.
    pub pointer: Rc<Cell<(f64, f64)>>,
}

impl Hand {
    /// Listens for input on the element that shows the timeline.
    pub(super) fn new(surface: &Rc<Surface>, element: &HtmlElement, tips: Tips) -> Hand {
        let pointer = Rc::new(Cell::new((0.0, 0.0)));
        let (motion, pointers) = (Rc::new(Motion::default()), Pointers::default());
        let (surface, shown, place) = (surface.clone(), element.clone(), pointer.clone());
        let listener = Closure::<dyn FnMut(Event)>::new(move |event: Event| {
            let at = |event: &MouseEvent| {
                let frame = shown.get_bounding_client_rect();
                let x = f64::from(event.client_x()) - frame.left() - surface.names_width();
                (x, f64::from(event.client_y()) - frame.top())
            };
            let name = event.type_();
            if let Some(event) = event.dyn_ref::<KeyboardEvent>() {
                if name == "keyup" {
                    event.key().chars().for_each(|letter| motion.release(letter.to_ascii_lowercase()));
                } else if on_key(&surface, &motion, event) {
                    event.prevent_default();
                    event.stop_propagation();
                }
            } else if let Some(event) = event.dyn_ref::<WheelEvent>() {
                if wheel(&surface, event, at(event).0) {
                    event.prevent_default();
                }
            } else if let Some(event) = event.dyn_ref::<PointerEvent>() {
                let here = at(event);
                match name.as_str() {
                    "pointerdown" => {
                        pointers.down(&surface, event, here);
                        // Fails if the pointer no longer exists.
                        let _ = shown.set_pointer_capture(event.pointer_id());
                    }
                    "pointermove" => {
                        place.set((f64::from(event.client_x()), f64::from(event.client_y())));
                        pointers.moved(&surface, &motion, event, here);
                    }
                    "pointerup" => pointers.up(&surface, event, here),
                    "pointercancel" => pointers.cancel(&surface),
                    _ => {
                        surface.update(|sight| sight.pointer = None);
                        tips.hide();
                    }
                }
            } else {
                match name.as_str() {
                    "dblclick" => surface.focus(),
                    "scroll" => surface.scrolled(),
                    _ => motion.stop(),
                }
            }
        });
        for name in HEARD {
            // Adding a listener to an existing element cannot fail.
            let _ = element.add_event_listener_with_callback(name, listener.as_ref().unchecked_ref());
        }
        Hand { element: element.clone(), listener, pointer }
    }
}

/// Removes the listener. Without this, an element that leaves the document would send an event, because the element
/// loses the focus.
impl Drop for Hand {
    fn drop(&mut self) {
        for name in HEARD {
            let listener = self.listener.as_ref().unchecked_ref();
            // Removing a listener from an existing element cannot fail.
            let _ = self.element.remove_event_listener_with_callback(name, listener);
        }
    }
}
