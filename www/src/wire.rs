//! Messages as JavaScript values: `[JSON of the message, extra...]`, where an extra is a port, a list of files, a buffer or a
//! long text. JSON, because profiles and pages cross as JSON anyway: one reader of data is code enough.

use js_sys::Array;
use serde::{Serialize, de::DeserializeOwned};
use wasm_bindgen::{JsCast, JsValue};

/// A message and what travels with it.
pub fn pack(message: &impl Serialize, extras: &[JsValue]) -> JsValue {
    // Messages hold nothing that JSON has no word for.
    let out = Array::of1(&JsValue::from_str(&serde_json::to_string(message).unwrap_or_default()));
    for extra in extras {
        out.push(extra);
    }
    out.into()
}

/// The message, and the whole array (extras start at index 1); nothing for a foreign message.
pub fn unpack<T: DeserializeOwned>(data: JsValue) -> Option<(T, Array)> {
    let parts: Array = data.dyn_into().ok()?;
    let message = crossprof::json::from_str(&parts.get(0).as_string()?).ok()?;
    Some((message, parts))
}
