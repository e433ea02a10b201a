//! A view whose content the library makes: asks for it again when its filter, an order, a choice or the numbers change, and
//! shows the earlier content meanwhile.

use std::cell::Cell;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use crossprof::pages::{Page, View};
use leptos::prelude::*;

use crate::ask;
use crate::blocks::{Blocks, blocks_view};
use crate::components::live::{live, shown};
use crate::route;
use crate::state::{Run, State};

/// Letters that are typed within this time are one question.
const PAUSE: Duration = Duration::from_millis(80);

/// The page.
#[component]
pub fn BlocksPage(
    /// The run.
    run: Run,
    /// Which page.
    view: View,
) -> impl IntoView {
    let (blocks, failed) = asked(&run, view);
    let is_waiting = move || failed.with(Option::is_none) && blocks.with(Vec::is_empty);
    view! {
        <div class="blocks" aria-busy=move || is_waiting().to_string()>
            {failure(failed)}
            {blocks_view(run, blocks)}
            {shown(is_waiting, move || view! { <p class="quiet waiting">"One moment …"</p> })}
        </div>
    }
}

/// Why a view is not what was asked for.
pub fn failure(failed: RwSignal<Option<String>>) -> AnyView {
    live(move || failed.get().map(|reason| view! { <p class="banner" role="alert">{reason}</p> }))
}

/// The blocks of a view, kept up to date; and why the latest could not be made.
pub fn asked(run: &Run, view: View) -> (Blocks, RwSignal<Option<String>>) {
    let state = State::get();
    let blocks: Blocks = RwSignal::new(Vec::new());
    let failed = RwSignal::new(None);
    let latest = Rc::new(Cell::new(0u32));
    let typed = Rc::new(std::cell::RefCell::new(String::new()));
    let run = run.clone();
    // The address is often set to what it was.
    let wanted = Memo::new(move |_| {
        state.route.with(|route| (route.view == route::View::Of(view)).then(|| route.query.clone()))
    });
    Effect::new(move |_| {
        // A new report is a reason to ask again.
        run.report.track();
        let Some(query) = wanted.get() else { return };
        let is_typing = *typed.borrow() != query.filter && !blocks.with_untracked(Vec::is_empty);
        typed.borrow_mut().clone_from(&query.filter);
        latest.set(latest.get().wrapping_add(1));
        let (question, latest, run) = (latest.get(), latest.clone(), run.clone());
        let ask = move || {
            if latest.get() == question {
                ask::page(&run, view, query, show(blocks, failed));
            }
        };
        if is_typing { set_timeout(ask, PAUSE) } else { ask() }
    });
    (blocks, failed)
}

/// Shows a page that is heard, or why there is none; nothing where the view was left.
pub fn show(blocks: Blocks, failed: RwSignal<Option<String>>) -> ask::Heard<Page> {
    Box::new(move |page| {
        if blocks.is_disposed() {
            return;
        }
        match page {
            Ok(page) => {
                failed.set(None);
                blocks.set(page.blocks.into_iter().map(Arc::new).collect());
            }
            Err(reason) => failed.set(Some(reason)),
        }
    })
}
