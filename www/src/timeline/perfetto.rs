//! Passes a trace to ui.perfetto.dev in another tab. Perfetto documents the protocol. crossprof's page sends pings
//! until Perfetto's page answers, and then sends the trace. The data moves between tabs in the browser, and crossprof's
//! page opens no connection.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::Duration;

use js_sys::{Array, ArrayBuffer, Object, Reflect};
use leptos::prelude::{IntervalHandle, set_interval_with_handle, window};
use wasm_bindgen::prelude::*;
use web_sys::{MessageEvent, Window};

const ORIGIN: &str = "https://ui.perfetto.dev";

/// Interval between pings.
const PAUSE: Duration = Duration::from_millis(50);

/// Maximum number of pings, which take two minutes. If Perfetto does not answer within that time, the trace is dropped.
const MOST_ASKED: u32 = 2_400;

/// The Perfetto page in another tab.
pub(super) struct Perfetto(Window);

/// Listener and timer that wait for Perfetto's answer.
type Waiting = Rc<RefCell<Option<(Closure<dyn FnMut(MessageEvent)>, IntervalHandle)>>>;

impl Perfetto {
    /// Opens Perfetto. Browsers let a page open a tab only during a click. Perfetto accepts traces only from its
    /// opener, so `noopener` must not be set.
    pub(super) fn open() -> Option<Perfetto> {
        window().open_with_url(ORIGIN).ok().flatten().map(Perfetto)
    }

    /// Sends a trace to Perfetto as soon as Perfetto answers a ping.
    pub(super) fn take(self, trace: ArrayBuffer, title: &str) {
        let (content, message) = (Object::new(), Object::new());
        let fields = [
            (&content, "buffer", trace.as_ref()),
            (&content, "title", &JsValue::from_str(title)),
            (&content, "localOnly", &JsValue::TRUE),
            (&message, "perfetto", &content),
        ];
        for (object, key, value) in fields {
            // Setting a field of a new object cannot fail.
            let _ = Reflect::set(object, &key.into(), value);
        }
        let waiting: Waiting = Rc::default();
        let (page, asking, asked) = (self.0.clone(), waiting.clone(), Cell::new(0));
        let ask = move || {
            asked.set(asked.get() + 1);
            if asked.get() > MOST_ASKED || page.closed().unwrap_or(true) {
                // Free the trace.
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
                // Fails if the page was closed in the meantime.
                let _ = page.post_message_with_transfer(&message, ORIGIN, &Array::of1(&trace));
                // This closure is running, so it must not be dropped here.
                listener.forget();
            }
        });
        // Adding a listener to the window cannot fail.
        let _ = window().add_event_listener_with_callback("message", listener.as_ref().unchecked_ref());
        waiting.replace(Some((listener, asking)));
    }
}

/// Stops waiting for Perfetto's answer, and returns the listener.
fn end(waiting: &Waiting) -> Option<Closure<dyn FnMut(MessageEvent)>> {
    let (listener, asking) = waiting.take()?;
    asking.clear();
    let _ = window().remove_event_listener_with_callback("message", listener.as_ref().unchecked_ref());
    Some(listener)
}
