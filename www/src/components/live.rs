//! Parts of the page that are drawn anew when a signal changes. Leptos compiles its machinery once for every closure, a few
//! kilobytes each; through a pointer there is one copy for all.

use leptos::prelude::*;

/// A part that changes with the signals it reads.
pub fn live<V: IntoAny>(draw: impl Fn() -> V + Send + 'static) -> AnyView {
    boxed(Box::new(move || draw().into_any()))
}

#[inline(never)]
fn boxed(draw: Box<dyn FnMut() -> AnyView + Send>) -> AnyView {
    draw.into_any()
}

/// Does something now, and again when a signal changes that it reads.
pub fn follow(work: impl FnMut() + 'static) {
    followed(Box::new(work));
}

#[inline(never)]
fn followed(mut work: Box<dyn FnMut()>) {
    Effect::new(move |_| work());
}

/// A text that changes with the signals it reads.
pub fn says(text: impl Fn() -> String + Send + 'static) -> AnyView {
    said(Box::new(text))
}

#[inline(never)]
fn said(text: Box<dyn FnMut() -> String + Send>) -> AnyView {
    text.into_any()
}

/// A part that is there while something holds.
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
