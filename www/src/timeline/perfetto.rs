//! Passes a trace to the page of Perfetto, as that documents it: asked often enough, a page that is there answers, and then takes the trace.
//! It goes from tab to tab in the browser; no connection is made by this page.

use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;

use js_sys::{Array, ArrayBuffer, Object, Reflect};
use leptos::prelude::{IntervalHandle, set_interval_with_handle, window};
use wasm_bindgen::prelude::*;
use web_sys::{MessageEvent, Window};

const ORIGIN: &str = "https://ui.perfetto.dev";

/// How often Perfetto is asked whether it is there.
const PAUSE: Duration = Duration::from_millis(50);

/// The page of Perfetto in another tab.
pub struct Perfetto(Window);

type Listener = (Closure<dyn FnMut(MessageEvent)>, IntervalHandle);

impl Perfetto {
    /// Opens Perfetto. A browser allows that only in answer to a click.
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
        let (page, asked) = (self.0.clone(), self.0);
        let ask = move || drop(asked.post_message(&JsValue::from_str("PING"), ORIGIN));
        let Ok(asking) = set_interval_with_handle(ask, PAUSE) else { return };
        let kept: Rc<RefCell<Option<Listener>>> = Rc::default();
        let known = kept.clone();
        let listener = Closure::<dyn FnMut(MessageEvent)>::new(move |event: MessageEvent| {
            if event.origin() != ORIGIN || event.data() != "PONG" {
                return;
            }
            if let Some((listener, asking)) = known.take() {
                asking.clear();
                // Fails where that page was closed meanwhile.
                let _ = page.post_message_with_transfer(&message, ORIGIN, &Array::of1(&trace));
                let _ = window().remove_event_listener_with_callback("message", listener.as_ref().unchecked_ref());
                // It runs just now.
                listener.forget();
            }
        });
        // Fails for no window that is there.
        let _ = window().add_event_listener_with_callback("message", listener.as_ref().unchecked_ref());
        kept.replace(Some((listener, asking)));
    }
}
