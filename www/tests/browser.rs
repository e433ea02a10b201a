//! Runs in a browser: the pieces that need a document.

#![cfg(target_arch = "wasm32")]

use wasm_bindgen_test::{wasm_bindgen_test, wasm_bindgen_test_configure};

wasm_bindgen_test_configure!(run_in_browser);

#[wasm_bindgen_test]
fn a_document_is_there() {
    let document = web_sys::window().and_then(|window| window.document());
    assert!(document.is_some());
}
