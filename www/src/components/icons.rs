//! Icons, drawn as lines in 16 by 16 pixels, in the colour of the surrounding text.

use crossprof::pages::View as Page;
use leptos::prelude::*;

use crate::route::View;

/// The icon that represents a view.
#[component]
pub fn ViewIcon(
    /// The view whose icon is drawn.
    of: View,
) -> impl IntoView {
    let path = match of {
        View::Start => "M8 2v8M5 7l3 3 3-3M2.5 11v2.5h11V11",
        View::Of(Page::Findings) => "M8 2a4 4 0 0 1 2.2 7.3V11H5.8V9.3A4 4 0 0 1 8 2M6.2 13.5h3.6",
        View::Of(Page::Checklist) => "M2.5 4l1.5 1.5L6.5 3M2.5 11l1.5 1.5L6.5 10M8.5 4.5h5M8.5 11.5h5",
        View::Of(Page::Timeline) => "M2.5 3.5h6M6 8h7.5M4 12.5h5M2.5 2v12",
        View::Of(Page::Ops) => "M2.5 3h11v3.2h-11zM2.5 6.2H9v3.2H2.5zM2.5 9.4h4v3.2h-4z",
        View::Of(Page::Graph) => {
            "M5.500 2.500h5v3h-5zM2 10.500h4.500v3H2zM9.500 10.500H14v3H9.500zM8 5.500v2.500M4.200 10.500V8h7.600v2.500"
        }
        View::Of(Page::Roofline) => "M2.5 2.5v11h11M3.5 11.5L8 6h5.5M6 11v.1M9.5 9v.1M11.5 11v.1",
        View::Of(Page::Communication) => "M2.5 5.5h9M9 3l2.5 2.5L9 8M13.5 10.5h-9M7 8l-2.5 2.5L7 13",
        View::Of(Page::Transfers) => "M5 13.5v-11M2.5 5L5 2.5 7.500 5M11 2.5v11M8.500 11l2.5 2.5 2.5-2.5",
        View::Of(Page::Input) => "M2.5 3.5h11L9.5 8.5v4.500l-3 1V8.500z",
        View::Of(Page::Steps) => "M2.5 13.5v-4M6.2 13.5v-8M9.9 13.5v-6M13.5 13.5v-11",
        View::Of(Page::Kernels) => "M2.5 3.5h11M2.5 8h7.5M2.5 12.5h4",
        View::Of(Page::Serving) => "M2.5 4h7v5.500H5l-2.500 2.500zM11 6.500h2.500v6.500l-2-1.500H7v-1.500",
        View::Of(Page::Devices) => {
            "M4 4h8v8H4zM6.5 1.5V4M9.5 1.5V4M6.5 12v2.5M9.5 12v2.5M1.5 6.5H4M1.5 9.5H4M12 6.5h2.5M12 9.5h2.5"
        }
        View::Of(Page::Memory) => "M2.5 3.5h11v7h-11zM5 6v2M8 6v2M11 6v2M4.5 10.5v2.5M8 10.5v2.5M11.5 10.5v2.5",
        View::Of(Page::Model) => "M8 2l5.5 3v6L8 14l-5.5-3V5zM2.5 5L8 8l5.5-3M8 8v6",
        // The overview, and views without their own icon.
        View::Of(_) => "M2.5 2.5h4.5v6h-4.5zM9 2.5h4.5v3H9zM9 7.5h4.5v6H9zM2.5 10.5h4.5v3h-4.5z",
        View::Compare => "M5.5 2.5v11M10.500 2.5v11M2.5 5l3-2.5 3 2.5M7.500 11l3 2.5 3-2.5",
        View::Export => "M8 10V2M5 5l3-3 3 3M2.5 9.5v4h11v-4",
    };
    view! { <Line path=path /> }
}

/// An icon made of a single path.
#[component]
pub fn Line(
    /// SVG path data.
    path: &'static str,
) -> impl IntoView {
    view! {
        <svg class="icon" width="16" height="16" viewBox="0 0 16 16" fill="none" stroke="currentColor" stroke-width="1.4"
            stroke-linecap="round" stroke-linejoin="round" aria-hidden="true"><path d=path /></svg>
    }
}
