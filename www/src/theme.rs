//! The light or dark theme. The page follows the system's theme unless the user chooses one.

use leptos::prelude::*;
use wasm_bindgen::JsCast;
use wasm_bindgen::prelude::Closure;

use crate::browser;

const KEY: &str = "crossprof-theme";
const SYSTEM_IS_DARK: &str = "(prefers-color-scheme: dark)";

/// Applies the theme that the user chose on an earlier visit.
pub fn restore() {
    if let Some(theme) = browser::remembered(KEY).filter(|theme| theme == "light" || theme == "dark") {
        apply(&theme);
    }
}

/// Updates `dark` when the system changes its theme.
pub fn watch(dark: RwSignal<bool>) {
    let changed = Closure::<dyn FnMut()>::new(move || dark.set(is_dark()));
    if let Ok(Some(query)) = window().match_media(SYSTEM_IS_DARK) {
        query.set_onchange(Some(changed.as_ref().unchecked_ref()));
        // Both must live as long as the page.
        std::mem::forget((query, changed));
    }
}

/// Toggles between light and dark, and stores the choice.
pub fn toggle(dark: RwSignal<bool>) {
    let next = if is_dark() { "light" } else { "dark" };
    apply(next);
    browser::remember(KEY, next);
    dark.set(is_dark());
}

fn apply(theme: &str) {
    if let Some(root) = document().document_element() {
        // Fails only for a malformed attribute name.
        let _ = root.set_attribute("data-theme", theme);
    }
}

/// Returns true if the page uses the dark theme.
pub fn is_dark() -> bool {
    let chosen = document().document_element().and_then(|root| root.get_attribute("data-theme"));
    match chosen.as_deref() {
        Some("dark") => true,
        Some("light") => false,
        _ => window().match_media(SYSTEM_IS_DARK).ok().flatten().is_some_and(|query| query.matches()),
    }
}
