//! Wrappers of browser functions: URLs, downloads, the clipboard and local storage.

use std::cell::RefCell;

use js_sys::{Array, ArrayBuffer, Uint8Array};
use leptos::prelude::*;
use wasm_bindgen::prelude::*;
use wasm_bindgen_futures::JsFuture;
use web_sys::{Blob, BlobPropertyBag, HtmlAnchorElement, HtmlElement, Storage, Url};

use crate::route::Route;

/// Returns the fragment of the page's URL, with its `#`.
pub fn hash() -> String {
    window().location().hash().unwrap_or_default()
}

/// Navigates to a route, like a click on a link.
pub fn go(route: &Route) {
    // A change of the fragment alone is always allowed.
    let _ = window().location().set_hash(&route.href());
}

/// Changes the URL without adding an entry to the history.
pub fn replace(route: &Route) {
    if let Ok(history) = window().history() {
        let _ = history.replace_state_with_url(&JsValue::NULL, "", Some(&route.href()));
    }
}

/// Returns true if the window is as narrow as a phone. The style sheets use the same limit.
pub fn is_narrow() -> bool {
    window().inner_width().ok().and_then(|width| width.as_f64()).is_some_and(|width| width <= 600.0)
}

/// Saves text, or a buffer that contains text, as a file.
pub fn download(name: &str, kind: &str, text: impl Into<JsValue>) {
    let options = BlobPropertyBag::new();
    options.set_type(kind);
    // Fails only if the browser is out of space, which the browser itself reports.
    if let Ok(blob) = Blob::new_with_str_sequence_and_options(&Array::of1(&text.into()), &options) {
        download_blob(name, &blob);
    }
}

/// Copies bytes into a JavaScript buffer.
pub fn buffer(bytes: &[u8]) -> ArrayBuffer {
    Uint8Array::from(bytes).buffer()
}

/// Saves a blob as a file.
pub fn download_blob(name: &str, blob: &Blob) {
    // Fails only if the browser is out of space, which the browser itself reports.
    let _ = try_download(name, blob);
}

fn try_download(name: &str, blob: &Blob) -> Result<(), JsValue> {
    let address = Url::create_object_url_with_blob(blob)?;
    let link: HtmlAnchorElement = document().create_element("a")?.unchecked_into();
    link.set_href(&address);
    link.set_download(name);
    link.click();
    // The browser may still read from the URL after the click, so revoke it later.
    set_timeout(move || drop(Url::revoke_object_url(&address)), std::time::Duration::from_secs(60));
    Ok(())
}

/// Converts the name of a run to a safe file name. The file name consists of at most 80 letters, digits, `-`, `_` and
/// `.`.
pub fn file_stem(name: &str) -> String {
    let safe = |c: char| if c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.') { c } else { '-' };
    let stem: String = name.chars().take(80).map(safe).collect();
    let stem = stem.trim_matches(['.', '-']);
    if stem.is_empty() { "profile".to_owned() } else { stem.to_owned() }
}

/// Copies text to the clipboard. The browser may refuse access to the clipboard.
pub fn copy(text: &str) -> JsFuture {
    window().navigator().clipboard().write_text(text).into()
}

/// Reads a value that an earlier visit stored.
pub fn remembered(key: &str) -> Option<String> {
    storage()?.get_item(key).ok()?
}

/// Stores a value for later visits. A private window may refuse to store the value, but the page then still works.
pub fn remember(key: &str, value: &str) {
    if let Some(storage) = storage() {
        let _ = storage.set_item(key, value);
    }
}

fn storage() -> Option<Storage> {
    window().local_storage().ok()?
}

/// Stores the file name of a run while the tab is open. After a reload, the page has lost the run, but can name the
/// file that the user must open again.
pub fn keep(run: u32, file: &str) {
    if let Ok(Some(storage)) = window().session_storage() {
        let _ = storage.set_item(&run.to_string(), file);
    }
}

/// Returns the file name that [`keep`] stored for a run.
pub fn kept(run: u32) -> Option<String> {
    window().session_storage().ok()??.get_item(&run.to_string()).ok()?
}

/// Marks the page as fully loaded. From then on, the page fetches no files. The browser tests wait for this mark.
pub fn mark_ready() {
    if let Some(body) = document().body() {
        // Fails only for a malformed attribute name.
        let _ = body.set_attribute("data-ready", "");
    }
}

/// Moves the keyboard focus to the first element that matches the selector.
pub fn focus(selector: &str) {
    if let Ok(Some(element)) = document().query_selector(selector) {
        let _ = element.unchecked_into::<HtmlElement>().focus();
    }
}

/// Returns true if the user has selected text on the page.
pub fn selects_text() -> bool {
    let selection = window().get_selection().ok().flatten();
    selection.is_some_and(|selection| !selection.is_collapsed())
}

thread_local! {
    /// Element that had the focus before the dialog was opened.
    static BEFORE: RefCell<Option<HtmlElement>> = const { RefCell::new(None) };
}

/// Moves the focus into a dialog as soon as the browser has drawn the dialog.
pub fn enter(selector: &'static str) {
    BEFORE.set(document().active_element().and_then(|element| element.dyn_into().ok()));
    request_animation_frame(move || focus(selector));
}

/// Moves the focus back to the element that had the focus before the dialog was opened.
pub fn leave() {
    if let Some(element) = BEFORE.take() {
        // An element that is no longer on the page cannot take the focus.
        let _ = element.focus();
    }
}

/// Closes the open menu and focuses its button. Returns false if no menu is open.
pub fn close_menus() -> bool {
    let open = document().query_selector("details.columns[open]").ok().flatten();
    open.is_some_and(|menu| {
        let _ = menu.remove_attribute("open");
        focus("details.columns summary");
        true
    })
}

/// Scrolls the first matching element into view, no further than needed.
pub fn reveal(selector: &str) {
    if let Ok(Some(element)) = document().query_selector(selector) {
        let options = web_sys::ScrollIntoViewOptions::new();
        options.set_block(web_sys::ScrollLogicalPosition::Nearest);
        element.scroll_into_view_with_scroll_into_view_options(&options);
    }
}

/// Returns an attribute of each matching element, in page order.
pub fn attributes(selector: &str, name: &str) -> Vec<String> {
    let all = (0..).map_while(|at| nth(selector, at));
    all.map(|element| element.get_attribute(name).unwrap_or_default()).collect()
}

/// Among the elements that match `selector`, finds the element with index `at`. Inside that element, clicks the first
/// match of `button`.
pub fn press(selector: &str, at: usize, button: &str) {
    let found = nth(selector, at as u32).and_then(|element| element.query_selector(button).ok().flatten());
    if let Some(button) = found {
        button.unchecked_into::<HtmlElement>().click();
    }
}

fn nth(selector: &str, at: u32) -> Option<web_sys::Element> {
    document().query_selector_all(selector).ok()?.item(at)?.dyn_into().ok()
}

/// Returns the full URL of the page.
pub fn address() -> String {
    window().location().href().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::file_stem;

    #[test]
    fn names_of_downloads_are_harmless() {
        assert_eq!(file_stem("plugins/profile/run-a"), "plugins-profile-run-a");
        assert_eq!(file_stem("<img onerror=x>"), "img-onerror-x");
        assert_eq!(file_stem("../.."), "profile");
        assert_eq!(file_stem(&"x".repeat(1 << 20)).len(), 80);
    }
}
