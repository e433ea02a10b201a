//! The worker's entry: says which build it is, then answers the page's messages.

use wasm_bindgen::prelude::*;
use web_sys::{DedicatedWorkerGlobalScope, MessageEvent};

/// Which build this is; the page compares it with its own.
const BUILD_ID: &str = match option_env!("CROSSPROF_BUILD_ID") {
    Some(id) => id,
    None => "dev",
};

fn main() {
    console_error_panic_hook::set_once();
    let scope: DedicatedWorkerGlobalScope = js_sys::global().unchecked_into();
    let port = scope.clone();
    let on_message = Closure::<dyn FnMut(MessageEvent)>::new(move |event: MessageEvent| {
        // A channel that is closed has nobody left to tell.
        let _ = port.post_message(&event.data());
    });
    scope.set_onmessage(Some(on_message.as_ref().unchecked_ref()));
    on_message.forget();
    let _ = scope.post_message(&JsValue::from_str(BUILD_ID));
}
