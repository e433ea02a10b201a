//! Light or dark: the system's choice, unless the user made another.

use leptos::prelude::*;

use crate::browser;

const KEY: &str = "crossprof-theme";

/// Applies the choice of an earlier visit.
pub fn restore() {
    if let Some(theme) = browser::remembered(KEY).filter(|theme| theme == "light" || theme == "dark") {
        apply(&theme);
    }
}

/// Changes from light to dark or back, and remembers it.
pub fn toggle() {
    let next = if is_dark() { "light" } else { "dark" };
    apply(next);
    browser::remember(KEY, next);
}

fn apply(theme: &str) {
    if let Some(root) = document().document_element() {
        // Fails only for a malformed attribute name.
        let _ = root.set_attribute("data-theme", theme);
    }
}

/// Whether the page is dark now.
pub fn is_dark() -> bool {
    let chosen = document().document_element().and_then(|root| root.get_attribute("data-theme"));
    match chosen.as_deref() {
        Some("dark") => true,
        Some("light") => false,
        _ => window().match_media("(prefers-color-scheme: dark)").ok().flatten().is_some_and(|query| query.matches()),
    }
}
