//! The application, which draws the frame around the views and chooses the view that the URL names.

use leptos::prelude::*;

use crate::components::drop_zone;
use crate::components::footer::Footer;
use crate::components::help::Help;
use crate::components::live::{live, says};
use crate::components::palette::Palette;
use crate::components::rail::Rail;
use crate::components::run_header::RunHeader;
use crate::components::tip::{TipView, Tips};
use crate::components::top::Top;
use crate::pages::blocks::BlocksPage;
use crate::pages::compare::Compare;
use crate::pages::export::Export;
use crate::pages::graph::GraphView;
use crate::pages::model::Model;
use crate::pages::overview::Overview;
use crate::pages::start::Start;
use crate::pages::timeline::Timeline;
use crate::route::{Route, View};
use crate::state::{Run, State};
use crate::{browser, keys, theme};

/// The root component of the page.
#[component]
pub fn App() -> impl IntoView {
    theme::restore();
    let state = State::new(Route::parse(&browser::hash()));
    provide_context(state);
    theme::watch(state.dark);
    let tips = Tips::new();
    provide_context(tips);
    window_event_listener(leptos::ev::hashchange, move |_| {
        tips.hide();
        let route = Route::parse(&browser::hash());
        // Scroll to the top when the view changes.
        if state.route.with_untracked(|before| before.view != route.view) {
            document().get_element_by_id("main").into_iter().for_each(|main| main.set_scroll_top(0));
        }
        state.route.set(route);
    });
    keys::listen(state);
    drop_zone::listen(state);
    // A comparison does not depend on the run in the URL, so a change of the run must not rebuild the comparison.
    let place = Memo::new(move |_| match state.view() {
        View::Compare => (View::Compare, None),
        View::Start => (View::Start, None),
        _ => (View::OVERVIEW, state.run().map(|run| run.id)),
    });
    let page = move || match place.get() {
        (View::Compare, _) => view! { <Compare /> }.into_any(),
        (_, None) => view! { <Start /> }.into_any(),
        (_, Some(_)) => untrack(|| state.run()).map_or_else(|| view! { <Start /> }.into_any(), |run| page(state, run)),
    };
    view! {
        <button class="skip" on:click=|_| browser::focus("#main")>"Skip to the view"</button>
        <div class="shell" class:dragging=move || state.dragging.get()>
            <Top />
            <Rail />
            <main id="main" tabindex="-1">
                {live(move || state.blocked.get().map(|text| view! { <p class="banner" role="alert">{text}</p> }))}
                {live(page)}
                <TipView />
            </main>
            <Footer />
        </div>
        <Help />
        <Palette />
        <div class="notice" role="status" class:shown=move || state.notice.with(Option::is_some)>{says(move || state.notice.get().unwrap_or_default())}</div>
    }
}

/// Renders the header of a run, and below it the current view. The header stays in place when the view changes.
fn page(state: State, run: Run) -> AnyView {
    let view = Memo::new(move |_| state.view());
    let header = run.clone();
    let body = move || body(view.get(), run.clone());
    let class = move || format!("page {}", view.get().slug());
    view! { <div class=class><RunHeader run=header />{live(body)}</div> }.into_any()
}

fn body(view: View, run: Run) -> AnyView {
    match view {
        View::OVERVIEW => view! { <Overview run=run /> }.into_any(),
        View::TIMELINE if run.report.with_untracked(|report| report.profile.is_from_events()) => {
            view! { <Timeline run=run /> }.into_any()
        }
        View::GRAPH => view! { <GraphView run=run /> }.into_any(),
        View::MODEL => view! { <Model run=run /> }.into_any(),
        View::Export => view! { <Export run=run /> }.into_any(),
        // `App` renders these views itself. They appear here only for a moment, while the URL changes.
        View::Start | View::Compare => ().into_any(),
        View::Of(view) => view! { <BlocksPage run=run view=view /> }.into_any(),
    }
}
