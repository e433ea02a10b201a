//! The page's tooltip. The tooltip that shows a full name, all digits or a definition when the user points at an
//! element or focuses it.

use leptos::prelude::*;
use wasm_bindgen::JsCast;
use web_sys::{Event, HtmlElement};

/// Text and position of the tooltip.
#[derive(Clone, Debug, PartialEq)]
pub struct Tip {
    /// Text of the tooltip. Line breaks are kept.
    pub text: String,
    left_px: f64,
    top_px: f64,
    /// True if the tooltip is above the element instead of below it.
    above: bool,
}

/// Handle of the page's tooltip.
#[derive(Clone, Copy)]
pub struct Tips(RwSignal<Option<Tip>>);

/// Maximum width of the tooltip in pixels. The tooltip stays inside the window.
const WIDTH_PX: f64 = 360.0;

impl Tips {
    /// Creates the handle. At first, no tooltip is visible.
    pub fn new() -> Tips {
        Tips(RwSignal::new(None))
    }

    /// Returns the handle that the application provides.
    pub fn get() -> Tips {
        expect_context::<Tips>()
    }

    /// Shows text next to the element on which an event occurred.
    pub fn show(self, event: &Event, text: String) {
        let target = event.current_target().or_else(|| event.target());
        if let Some(element) = target.and_then(|target| target.dyn_into::<HtmlElement>().ok()) {
            self.show_at(&element, text);
        }
    }

    /// Shows text next to an element.
    pub fn show_at(self, element: &web_sys::Element, text: String) {
        let place = element.get_bounding_client_rect();
        self.show_between(place.left(), place.top(), place.bottom(), text);
    }

    /// Shows text below a box, or above the box if the box is low on the screen. The box begins at `left` and extends
    /// from `top` to `bottom`, in pixels of the window.
    pub fn show_between(self, left: f64, top: f64, bottom: f64, text: String) {
        let size = |value: Result<wasm_bindgen::JsValue, _>| value.ok().and_then(|value| value.as_f64()).unwrap_or(0.0);
        let (width, height) = (size(window().inner_width()), size(window().inner_height()));
        let above = bottom > height * 0.65;
        let left_px = left.min(width - WIDTH_PX - 8.0).max(8.0);
        let top_px = if above { height - top + 6.0 } else { bottom + 6.0 };
        self.0.set(Some(Tip { text, left_px, top_px, above }));
    }

    /// Hides the tooltip.
    pub fn hide(self) {
        self.0.set(None);
    }
}

impl Default for Tips {
    fn default() -> Tips {
        Tips::new()
    }
}

/// Renders the tooltip.
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

/// Renders a term that shows its definition on hover and focus. If `href` is given, the term is a link.
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

/// Shows a text from the trace. Long text is cut in the middle, and the tooltip shows the full text. The text is never
/// interpreted as markup.
#[component]
pub fn Name(
    /// The full text from the trace.
    #[prop(into)]
    text: String,
    /// Maximum number of characters to show.
    #[prop(default = 48)]
    width: usize,
) -> impl IntoView {
    use crate::table::cell::WHOLE_CHARS;
    use crossprof::text::format::{printable, shorten};
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
