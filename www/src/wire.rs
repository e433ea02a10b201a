//! Messages as JavaScript values: `[message, extra...]`, where an extra is a port, a list of files or a buffer.

use js_sys::Array;
use serde::{Serialize, de::DeserializeOwned};
use wasm_bindgen::{JsCast, JsValue};

/// A message and what travels with it.
pub fn pack(message: &impl Serialize, extras: &[JsValue]) -> JsValue {
    // Messages hold nothing that could fail: no maps with odd keys, no number beyond 2^53.
    let out = Array::of1(&serde_wasm_bindgen::to_value(message).unwrap_or_default());
    for extra in extras {
        out.push(extra);
    }
    out.into()
}

/// The message, and the whole array (extras start at index 1); nothing for a foreign message.
pub fn unpack<T: DeserializeOwned>(data: JsValue) -> Option<(T, Array)> {
    let parts: Array = data.dyn_into().ok()?;
    let message = serde_wasm_bindgen::from_value(parts.get(0)).ok()?;
    Some((message, parts))
}
