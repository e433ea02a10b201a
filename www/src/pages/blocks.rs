//! A view whose content the library makes: asks for it again when its filter, an order, a choice or the numbers change, and
//! shows the earlier content meanwhile.

use std::cell::Cell;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use crossprof::pages::{Page, PageQuery};
use leptos::prelude::*;

use crate::ask;
use crate::blocks::{Blocks, blocks_view};
use crate::components::live::shown;
use crate::route::View;
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
    let is_empty = move || blocks.with(Vec::is_empty);
    view! {
        <div class="blocks" aria-busy=move || is_empty().to_string()>
            {blocks_view(run, blocks)}
            {shown(is_empty, move || {
                let text = if failed.get() { "This view could not be made." } else { "One moment …" };
                view! { <p class="quiet waiting">{text}</p> }
            })}
        </div>
    }
}

/// The blocks of a view, kept up to date; and whether the latest answer could not be read.
pub fn asked(run: &Run, view: View) -> (Blocks, RwSignal<bool>) {
    let state = State::get();
    let blocks: Blocks = RwSignal::new(Vec::new());
    let failed = RwSignal::new(false);
    let latest = Rc::new(Cell::new(0u32));
    let typed = Rc::new(std::cell::RefCell::new(String::new()));
    let run = run.clone();
    // The address is often set to what it was.
    let wanted = Memo::new(move |_| state.route.with(|route| (route.view == view).then(|| route.query.clone())));
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
                question_of(&run, view, query, blocks, failed, latest, question);
            }
        };
        if is_typing { set_timeout(ask, PAUSE) } else { ask() }
    });
    (blocks, failed)
}

fn question_of(
    run: &Run,
    view: View,
    query: PageQuery,
    blocks: Blocks,
    failed: RwSignal<bool>,
    latest: Rc<Cell<u32>>,
    question: u32,
) {
    let heard = move |json: String| {
        // Another question was asked since, or the view was left.
        if latest.get() != question || blocks.is_disposed() {
            return;
        }
        match crossprof::json::from_str::<Page>(&json) {
            Ok(page) => blocks.set(page.blocks.into_iter().map(Arc::new).collect()),
            Err(_) => failed.set(true),
        }
    };
    ask::page(run, view.slug(), query, Box::new(heard));
}
