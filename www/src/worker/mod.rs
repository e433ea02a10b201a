//! The workers. Two programs: one reads files (looks at them, unpacks, decodes), the other analyses what was decoded. A load
//! has two of the first, joined by a channel, and one of the second; the first order says which role a worker has.

pub mod analyst;
pub mod fallback;
pub mod groups;
pub mod inflate;
pub mod look;
pub mod pipe;
pub mod scan;
pub mod stream;

use crate::protocol::{BUILD_ID, News, Order};
use crate::wire;
use js_sys::{Array, Date};
use wasm_bindgen::prelude::*;
use web_sys::{DedicatedWorkerGlobalScope, MessageEvent};

/// Tells the page something. A page that is gone needs no answer.
pub fn tell(scope: &DedicatedWorkerGlobalScope, news: &News) {
    let _ = scope.post_message(&wire::pack(news, &[]));
}

/// Tells the page something that comes with a long text.
pub fn tell_text(scope: &DedicatedWorkerGlobalScope, news: &News, text: &str) {
    let _ = scope.post_message(&wire::pack(news, &[JsValue::from_str(text)]));
}

/// How often the page hears of progress: it draws what it hears.
#[derive(Default)]
pub struct Pace {
    told_at_ms: f64,
}

impl Pace {
    const EVERY_MS: f64 = 150.0;

    /// True where it was long ago, which is then now.
    pub fn is_due(&mut self) -> bool {
        let now_ms = Date::now();
        let due = now_ms - self.told_at_ms > Pace::EVERY_MS;
        if due {
            self.told_at_ms = now_ms;
        }
        due
    }
}

/// Says which build this is, and obeys from then on. An order comes with its extras, from index 1 on.
pub fn serve(mut obey: impl FnMut(&DedicatedWorkerGlobalScope, Order, &Array) + 'static) {
    console_error_panic_hook::set_once();
    let scope: DedicatedWorkerGlobalScope = js_sys::global().unchecked_into();
    let port = scope.clone();
    let on_message = Closure::<dyn FnMut(MessageEvent)>::new(move |event: MessageEvent| {
        if let Some((order, extras)) = wire::unpack(event.data()) {
            obey(&port, order, &extras);
        }
    });
    scope.set_onmessage(Some(on_message.as_ref().unchecked_ref()));
    on_message.forget();
    tell(&scope, &News::Ready { build: BUILD_ID.to_owned() });
}
