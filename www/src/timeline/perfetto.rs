//! Passes a trace to the page of Perfetto, as that documents it: asked often enough, a page that is there answers, and then takes the trace.
//! It goes from tab to tab in the browser; no connection is made by this page.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::Duration;

use js_sys::{Array, ArrayBuffer, Object, Reflect};
use leptos::prelude::{IntervalHandle, set_interval_with_handle, window};
use wasm_bindgen::prelude::*;
use web_sys::{MessageEvent, Window};

const ORIGIN: &str = "https://ui.perfetto.dev";

/// How often Perfetto is asked whether it is there.
const PAUSE: Duration = Duration::from_millis(50);

/// A page that has not answered by then (two minutes) will not: the trace is given up.
const MOST_ASKED: u32 = 2_400;

/// The page of Perfetto in another tab.
pub struct Perfetto(Window);

/// Listener and timer that wait for Perfetto's answer.
type Waiting = Rc<RefCell<Option<(Closure<dyn FnMut(MessageEvent)>, IntervalHandle)>>>;

impl Perfetto {
    /// Opens Perfetto. A browser allows that only in answer to a click. Perfetto takes a trace from its opener alone, so that tie stays.
    pub fn open() -> Option<Perfetto> {
        window().open_with_url(ORIGIN).ok().flatten().map(Perfetto)
    }

    /// Passes Perfetto a trace as soon as it answers.
    pub fn take(self, trace: ArrayBuffer, title: &str) {
        let (content, message) = (Object::new(), Object::new());
        let fields = [
            (&content, "buffer", trace.as_ref()),
            (&content, "title", &JsValue::from_str(title)),
            (&content, "localOnly", &JsValue::TRUE),
            (&message, "perfetto", &content),
        ];
        for (object, key, value) in fields {
            // Fails for no new object.
            let _ = Reflect::set(object, &key.into(), value);
        }
        let waiting: Waiting = Rc::default();
        let (page, asking, asked) = (self.0.clone(), waiting.clone(), Cell::new(0));
        let ask = move || {
            asked.set(asked.get() + 1);
            if asked.get() > MOST_ASKED || page.closed().unwrap_or(true) {
                // Frees the trace.
                drop(end(&asking));
            } else {
                let _ = page.post_message(&JsValue::from_str("PING"), ORIGIN);
            }
        };
        let Ok(asking) = set_interval_with_handle(ask, PAUSE) else { return };
        let (page, answered) = (self.0, waiting.clone());
        let listener = Closure::<dyn FnMut(MessageEvent)>::new(move |event: MessageEvent| {
            let own: &JsValue = page.as_ref();
            let is_of_page = event.source().is_some_and(|source| *source == *own);
            if !is_of_page || event.origin() != ORIGIN || event.data() != "PONG" {
                return;
            }
            if let Some(listener) = end(&answered) {
                // Fails where that page was closed meanwhile.
                let _ = page.post_message_with_transfer(&message, ORIGIN, &Array::of1(&trace));
                // It runs just now.
                listener.forget();
            }
        });
        // Fails for no window that is there.
        let _ = window().add_event_listener_with_callback("message", listener.as_ref().unchecked_ref());
        waiting.replace(Some((listener, asking)));
    }
}

/// Ends the wait for an answer, and returns what listened for it.
fn end(waiting: &Waiting) -> Option<Closure<dyn FnMut(MessageEvent)>> {
    let (listener, asking) = waiting.take()?;
    asking.clear();
    let _ = window().remove_event_listener_with_callback("message", listener.as_ref().unchecked_ref());
    Some(listener)
}
