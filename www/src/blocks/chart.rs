//! Behaviour that all charts share. The pointer or the arrow keys select a mark, a tooltip describes the mark, and a
//! click or Enter follows the link of the mark.

use std::sync::Arc;

use leptos::html;
use leptos::prelude::*;
use web_sys::{KeyboardEvent, MouseEvent};

use crate::components::live::says;
use crate::components::tip::Tips;

/// A position or a size: first the horizontal number, then the vertical number, which grows downwards.
pub(super) type Pair = (f64, f64);

/// Function that returns the mark to which a key moves the selection. The first argument is the index of the current
/// mark, if there is one.
pub(super) type Step = dyn Fn(Option<usize>, &str) -> Option<usize> + Send + Sync;

/// The marks of a chart. A mark is identified by its index.
pub(super) struct Marks {
    /// Description of the chart for screen readers.
    pub label: String,
    /// Returns the mark at a pointer position. The arguments are the position and the size of the chart, in pixels.
    pub find: Box<dyn Fn(Pair, Pair) -> Option<usize> + Send + Sync>,
    /// Returns the mark to which a key moves the selection.
    pub step: Box<Step>,
    /// Returns the box around a mark: its upper left corner, then its width and height. All four numbers are fractions
    /// of the chart's size.
    pub place: Box<dyn Fn(usize) -> (Pair, Pair) + Send + Sync>,
    /// Describes a mark, one fact per line.
    pub describe: Box<dyn Fn(usize) -> String + Send + Sync>,
    /// Performs the action of a click on a mark.
    pub act: Box<dyn Fn(usize) + Send + Sync>,
}

/// Renders a drawing with selectable marks.
pub(super) fn chart(marks: Marks, class: &'static str, drawing: AnyView) -> AnyView {
    let tips = Tips::get();
    let marks = Arc::new(marks);
    let chosen = RwSignal::new(None::<usize>);
    let canvas = NodeRef::<html::Div>::new();
    let choose = {
        let marks = marks.clone();
        move |next: Option<usize>| {
            // A removed chart loses the focus when its signals no longer exist.
            if chosen.try_get_untracked().is_none_or(|now| now == next) {
                return;
            }
            chosen.set(next);
            let (Some(mark), Some(element)) = (next, canvas.get_untracked()) else { return tips.hide() };
            let outer = element.get_bounding_client_rect();
            let ((left, top), (_, height)) = (marks.place)(mark);
            let y = |share: f64| outer.top() + share * outer.height();
            tips.show_between(outer.left() + left * outer.width(), y(top), y(top + height), (marks.describe)(mark));
        }
    };
    let found = {
        let marks = marks.clone();
        move |event: &MouseEvent| {
            let outer = canvas.get_untracked()?.get_bounding_client_rect();
            let at = (f64::from(event.client_x()) - outer.left(), f64::from(event.client_y()) - outer.top());
            (marks.find)(at, (outer.width(), outer.height()))
        }
    };
    let on_move = {
        let (choose, found) = (choose.clone(), found.clone());
        move |event: web_sys::PointerEvent| choose(found(&event))
    };
    let on_click = {
        let marks = marks.clone();
        move |event: MouseEvent| {
            if let Some(mark) = found(&event) {
                tips.hide();
                (marks.act)(mark);
            }
        }
    };
    let on_key = {
        let (choose, marks) = (choose.clone(), marks.clone());
        move |event: KeyboardEvent| {
            let (key, now) = (event.key(), chosen.get_untracked());
            match (key.as_str(), now) {
                ("Enter" | " ", Some(mark)) => {
                    event.prevent_default();
                    tips.hide();
                    (marks.act)(mark);
                }
                _ => {
                    if let Some(next) = (marks.step)(now, &key).filter(|_| is_walk(&key)) {
                        event.prevent_default();
                        choose(Some(next));
                    }
                }
            }
        }
    };
    let leave = {
        let choose = choose.clone();
        move |_: web_sys::PointerEvent| choose(None)
    };
    let blur = move |_: web_sys::FocusEvent| choose(None);
    let placed = marks.clone();
    let outline = Memo::new(move |_| chosen.get().map(|mark| (placed.place)(mark)));
    let part = move |of: fn((Pair, Pair)) -> f64| {
        move || outline.get().map(|place| format!("{:.3}%", 100.0 * of(place))).unwrap_or_default()
    };
    let (label, said) = (marks.label.clone(), marks);
    let said = move || chosen.get().map(|mark| (said.describe)(mark)).unwrap_or_default();
    view! {
        <div class=format!("chart {class}") node_ref=canvas tabindex="0" role="group" aria-roledescription="chart"
            aria-label=format!("{label}. Arrow keys select a mark, and Enter follows its link.")
            on:pointermove=on_move on:pointerleave=leave on:click=on_click on:keydown=on_key on:blur=blur>
            {drawing}
            <i class="chosen-mark" class:shown=move || outline.get().is_some()
                style:left=part(|place| place.0.0) style:top=part(|place| place.0.1)
                style:width=part(|place| place.1.0) style:height=part(|place| place.1.1)></i>
            <span class="visually-hidden" aria-live="polite">{says(said)}</span>
        </div>
    }
    .into_any()
}

fn is_walk(key: &str) -> bool {
    key.starts_with("Arrow") || matches!(key, "Home" | "End")
}

/// Returns the mark to which a key moves the selection, in a sequence of `count` marks. The up and down keys move by
/// `by` marks.
pub(super) fn walk(now: Option<usize>, key: &str, count: usize, by: usize) -> Option<usize> {
    let last = count.checked_sub(1)?;
    Some(match (key, now) {
        ("End", _) => last,
        ("Home", _) | (_, None) => 0,
        ("ArrowRight", Some(now)) => (now + 1).min(last),
        ("ArrowLeft", Some(now)) => now.saturating_sub(1),
        ("ArrowDown", Some(now)) if now + by <= last => now + by,
        ("ArrowUp", Some(now)) if now >= by => now - by,
        (_, Some(now)) => now,
    })
}

#[cfg(test)]
mod tests {
    use super::walk;

    #[test]
    fn keys_stay_among_the_marks() {
        assert_eq!(walk(None, "ArrowRight", 6, 3), Some(0));
        assert_eq!(walk(Some(5), "ArrowRight", 6, 3), Some(5));
        assert_eq!(walk(Some(1), "ArrowDown", 6, 3), Some(4));
        assert_eq!(walk(Some(4), "ArrowDown", 6, 3), Some(4));
        assert_eq!(walk(Some(4), "ArrowUp", 6, 3), Some(1));
        assert_eq!(walk(Some(0), "End", 0, 3), None);
    }
}
