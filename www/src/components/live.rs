//! Parts of the page that are redrawn when a signal changes. Leptos compiles several kilobytes of code for each closure
//! type. The functions in this module box their closures, which avoids these copies.

use leptos::prelude::*;

/// Renders a part of the page, and redraws it when a signal that it reads changes.
pub fn live<V: IntoAny>(draw: impl Fn() -> V + Send + 'static) -> AnyView {
    boxed(Box::new(move || draw().into_any()))
}

#[inline(never)]
fn boxed(draw: Box<dyn FnMut() -> AnyView + Send>) -> AnyView {
    draw.into_any()
}

/// Runs a function now, and again when a signal that it reads changes.
pub fn follow(work: impl FnMut() + 'static) {
    followed(Box::new(work));
}

#[inline(never)]
fn followed(mut work: Box<dyn FnMut()>) {
    Effect::new(move |_| work());
}

/// Renders text, and updates it when a signal that it reads changes.
pub fn says(text: impl Fn() -> String + Send + 'static) -> AnyView {
    said(Box::new(text))
}

#[inline(never)]
fn said(text: Box<dyn FnMut() -> String + Send>) -> AnyView {
    text.into_any()
}

/// Renders a part of the page while a condition is true.
pub fn shown<V: IntoAny>(
    when: impl Fn() -> bool + Send + Sync + 'static,
    draw: impl Fn() -> V + Send + 'static,
) -> AnyView {
    let when = memo(Box::new(when));
    live(move || if when.get() { draw().into_any() } else { ().into_any() })
}

#[inline(never)]
fn memo(when: Box<dyn Fn() -> bool + Send + Sync>) -> Memo<bool> {
    Memo::new(move |_| when())
}
