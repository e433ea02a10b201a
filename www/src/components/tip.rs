//! One tip for the whole page: the whole name, every digit, a definition. It shows on hover and on focus.

use leptos::prelude::*;
use wasm_bindgen::JsCast;
use web_sys::{Event, HtmlElement};

/// What the tip shows and where.
#[derive(Clone, Debug, PartialEq)]
pub struct Tip {
    /// The text; line breaks are kept.
    pub text: String,
    left_px: f64,
    top_px: f64,
    /// Whether the tip stands above the element, not below.
    above: bool,
}

/// The only tip of the page.
#[derive(Clone, Copy)]
pub struct Tips(RwSignal<Option<Tip>>);

/// Width that the tip may take; it never leaves the window.
const WIDTH_PX: f64 = 360.0;

impl Tips {
    /// Tips of which none is shown yet.
    pub fn new() -> Tips {
        Tips(RwSignal::new(None))
    }

    /// The tips that the application provides.
    pub fn get() -> Tips {
        expect_context::<Tips>()
    }

    /// Shows a text at the element that an event is about.
    pub fn show(self, event: &Event, text: String) {
        let target = event.current_target().or_else(|| event.target());
        if let Some(element) = target.and_then(|target| target.dyn_into::<HtmlElement>().ok()) {
            self.show_at(&element, text);
        }
    }

    /// Shows a text at an element.
    pub fn show_at(self, element: &web_sys::Element, text: String) {
        let place = element.get_bounding_client_rect();
        self.show_between(place.left(), place.top(), place.bottom(), text);
    }

    /// Shows a text below (or, low on the screen, above) something that begins at `left` and lies between `top` and
    /// `bottom` of the window, in pixels.
    pub fn show_between(self, left: f64, top: f64, bottom: f64, text: String) {
        let size = |value: Result<wasm_bindgen::JsValue, _>| value.ok().and_then(|value| value.as_f64()).unwrap_or(0.0);
        let (width, height) = (size(window().inner_width()), size(window().inner_height()));
        let above = bottom > height * 0.65;
        let left_px = left.min(width - WIDTH_PX - 8.0).max(8.0);
        let top_px = if above { height - top + 6.0 } else { bottom + 6.0 };
        self.0.set(Some(Tip { text, left_px, top_px, above }));
    }

    /// Hides the tip.
    pub fn hide(self) {
        self.0.set(None);
    }
}

impl Default for Tips {
    fn default() -> Tips {
        Tips::new()
    }
}

/// Where the tip is drawn.
#[component]
pub fn TipView() -> impl IntoView {
    let Tips(tip) = Tips::get();
    let text = move || tip.get().map(|tip| tip.text).unwrap_or_default();
    let px = |value: f64| format!("{value:.0}px");
    let left = move || tip.get().map(|tip| px(tip.left_px)).unwrap_or_default();
    let top = move || tip.get().filter(|tip| !tip.above).map_or("auto".to_owned(), |tip| px(tip.top_px));
    let bottom = move || tip.get().filter(|tip| tip.above).map_or("auto".to_owned(), |tip| px(tip.top_px));
    view! {
        <div id="tip" class="tip" role="tooltip" class:shown=move || tip.get().is_some()
            style:left=left style:top=top style:bottom=bottom>
            <bdi>{text}</bdi>
        </div>
    }
}

/// A word with what it means behind it: a link where it leads somewhere; else only the focus rests on it.
pub fn term(text: String, about: String, href: Option<String>) -> AnyView {
    let tips = Tips::get();
    let on_focus = about.clone();
    view! {
        <a class="term" href=href tabindex="0" aria-describedby="tip"
            on:mouseenter=move |event| tips.show(&event, about.clone())
            on:focus=move |event| tips.show(&event, on_focus.clone())
            on:mouseleave=move |_| tips.hide() on:blur=move |_| tips.hide()>{text}</a>
    }
    .into_any()
}

/// A text that may be long, from the trace: cut in the middle, whole in the tip, never markup.
#[component]
pub fn Name(
    /// Text as in the trace.
    #[prop(into)]
    text: String,
    /// Characters to show.
    #[prop(default = 48)]
    width: usize,
) -> impl IntoView {
    use crate::table::cell::WHOLE_CHARS;
    use crossprof::format::{printable, shorten};
    let tips = Tips::get();
    let whole = shorten(&printable(&shorten(&text, WHOLE_CHARS)), WHOLE_CHARS);
    let short = shorten(&whole, width);
    let is_cut = short != whole;
    let on_tap = whole.clone();
    view! {
        <bdi class="name" on:click=move |event| if is_cut { tips.show(&event, on_tap.clone()) }
            on:mouseenter=move |event| if is_cut { tips.show(&event, whole.clone()) }
            on:mouseleave=move |_| tips.hide()>
            {short}
        </bdi>
    }
}
