//! The few things the page asks of the browser: addresses, downloads, the clipboard, what it remembers.

use std::cell::RefCell;

use js_sys::{Array, ArrayBuffer, Uint8Array};
use leptos::prelude::*;
use wasm_bindgen::prelude::*;
use wasm_bindgen_futures::JsFuture;
use web_sys::{Blob, BlobPropertyBag, HtmlAnchorElement, HtmlElement, Storage, Url};

use crate::route::Route;

/// The address behind the page's own.
pub fn hash() -> String {
    window().location().hash().unwrap_or_default()
}

/// Goes to an address, as a link would.
pub fn go(route: &Route) {
    // The address of this page with another fragment is always allowed.
    let _ = window().location().set_hash(&route.href());
}

/// Changes the address without a step in the history.
pub fn replace(route: &Route) {
    if let Ok(history) = window().history() {
        let _ = history.replace_state_with_url(&JsValue::NULL, "", Some(&route.href()));
    }
}

/// Whether the window is as narrow as the style sheets' phones.
pub fn is_narrow() -> bool {
    window().inner_width().ok().and_then(|width| width.as_f64()).is_some_and(|width| width <= 600.0)
}

/// Saves a text, or a buffer with one, as a file.
pub fn download(name: &str, kind: &str, text: impl Into<JsValue>) {
    let options = BlobPropertyBag::new();
    options.set_type(kind);
    // Fails only where the browser has no room left; it says so itself.
    if let Ok(blob) = Blob::new_with_str_sequence_and_options(&Array::of1(&text.into()), &options) {
        download_blob(name, &blob);
    }
}

/// Bytes in a buffer of the browser's.
pub fn buffer(bytes: &[u8]) -> ArrayBuffer {
    Uint8Array::from(bytes).buffer()
}

/// Saves bytes as a file.
pub fn download_blob(name: &str, blob: &Blob) {
    // Fails only where the browser has no room left; it says so itself.
    let _ = try_download(name, blob);
}

fn try_download(name: &str, blob: &Blob) -> Result<(), JsValue> {
    let address = Url::create_object_url_with_blob(blob)?;
    let link: HtmlAnchorElement = document().create_element("a")?.unchecked_into();
    link.set_href(&address);
    link.set_download(name);
    link.click();
    // The browser still reads from the address after the click.
    set_timeout(move || drop(Url::revoke_object_url(&address)), std::time::Duration::from_secs(60));
    Ok(())
}

/// A file name made of a run's: letters, digits, `-`, `_` and `.`, of bounded length.
pub fn file_stem(name: &str) -> String {
    let safe = |c: char| if c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.') { c } else { '-' };
    let stem: String = name.chars().take(80).map(safe).collect();
    let stem = stem.trim_matches(['.', '-']);
    if stem.is_empty() { "profile".to_owned() } else { stem.to_owned() }
}

/// Copies a text; the browser may refuse.
pub fn copy(text: &str) -> JsFuture {
    window().navigator().clipboard().write_text(text).into()
}

/// Something remembered from an earlier visit.
pub fn remembered(key: &str) -> Option<String> {
    storage()?.get_item(key).ok()?
}

/// Remembers something; a private window may refuse, which harms nothing.
pub fn remember(key: &str, value: &str) {
    if let Some(storage) = storage() {
        let _ = storage.set_item(key, value);
    }
}

fn storage() -> Option<Storage> {
    window().local_storage().ok()?
}

/// Keeps the file of a run while the tab is open: a reload loses the run, and its address says which file to drop.
pub fn keep(run: u32, file: &str) {
    if let Ok(Some(storage)) = window().session_storage() {
        let _ = storage.set_item(&run.to_string(), file);
    }
}

/// The file that was kept for a run of this number.
pub fn kept(run: u32) -> Option<String> {
    window().session_storage().ok()??.get_item(&run.to_string()).ok()?
}

/// Tells the world (and the tests) that the page has everything it will ever fetch.
pub fn mark_ready() {
    if let Some(body) = document().body() {
        // Fails only for a malformed attribute name.
        let _ = body.set_attribute("data-ready", "");
    }
}

/// Moves the keyboard's focus to the first element that matches.
pub fn focus(selector: &str) {
    if let Ok(Some(element)) = document().query_selector(selector) {
        let _ = element.unchecked_into::<HtmlElement>().focus();
    }
}

/// Whether a part of the page is selected, to be copied.
pub fn selects_text() -> bool {
    let selection = window().get_selection().ok().flatten();
    selection.is_some_and(|selection| !selection.is_collapsed())
}

thread_local! {
    /// What had the focus before a dialog took it.
    static BEFORE: RefCell<Option<HtmlElement>> = const { RefCell::new(None) };
}

/// Moves the focus into a dialog that opens, once it is drawn.
pub fn enter(selector: &'static str) {
    BEFORE.set(document().active_element().and_then(|element| element.dyn_into().ok()));
    request_animation_frame(move || focus(selector));
}

/// Moves the focus back to where it was before the dialog that closes.
pub fn leave() {
    if let Some(element) = BEFORE.take() {
        // An element that is gone takes no focus.
        let _ = element.focus();
    }
}

/// Closes the menus that are open, with the focus on what opened them; false where there is none.
pub fn close_menus() -> bool {
    let open = document().query_selector("details.columns[open]").ok().flatten();
    open.is_some_and(|menu| {
        let _ = menu.remove_attribute("open");
        focus("details.columns summary");
        true
    })
}

/// Scrolls the first element that matches into sight, no further than needed.
pub fn reveal(selector: &str) {
    if let Ok(Some(element)) = document().query_selector(selector) {
        let options = web_sys::ScrollIntoViewOptions::new();
        options.set_block(web_sys::ScrollLogicalPosition::Nearest);
        element.scroll_into_view_with_scroll_into_view_options(&options);
    }
}

/// An attribute of each element that matches, in the order of the page.
pub fn attributes(selector: &str, name: &str) -> Vec<String> {
    let all = (0..).map_while(|at| nth(selector, at));
    all.map(|element| element.get_attribute(name).unwrap_or_default()).collect()
}

/// Presses the first button that matches within the element number `at` that matches `selector`.
pub fn press(selector: &str, at: usize, button: &str) {
    let found = nth(selector, at as u32).and_then(|element| element.query_selector(button).ok().flatten());
    if let Some(button) = found {
        button.unchecked_into::<HtmlElement>().click();
    }
}

fn nth(selector: &str, at: u32) -> Option<web_sys::Element> {
    document().query_selector_all(selector).ok()?.item(at)?.dyn_into().ok()
}

/// The page's whole address.
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
