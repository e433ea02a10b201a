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

/// What a view shows, and what it waits for.
#[derive(Clone, Copy)]
pub struct Answer {
    /// The latest blocks that came; none before the first.
    pub blocks: Blocks,
    /// Why the latest question has none.
    pub failed: RwSignal<Option<String>>,
    /// True while the latest question has no answer: what is shown is of an earlier one.
    pub is_awaited: RwSignal<bool>,
}

impl Default for Answer {
    /// An answer without blocks.
    fn default() -> Answer {
        Answer { blocks: RwSignal::new(Vec::new()), failed: RwSignal::new(None), is_awaited: RwSignal::new(true) }
    }
}

impl Answer {
    /// True where the view was left.
    fn is_gone(self) -> bool {
        self.blocks.is_disposed()
    }

    /// Shows a page that is heard, or why there is none.
    pub fn heard(self) -> ask::Heard<Page> {
        Box::new(move |page| {
            if self.is_gone() {
                return;
            }
            match page {
                Ok(page) => {
                    self.failed.set(None);
                    self.blocks.set(page.blocks.into_iter().map(Arc::new).collect());
                }
                Err(reason) => self.failed.set(Some(reason)),
            }
            self.is_awaited.set(false);
        })
    }

    /// For `aria-busy`: whoever reads the view waits for what was asked last.
    pub fn busy(self) -> impl Fn() -> String + Copy {
        move || self.is_awaited.get().to_string()
    }
}

/// The page.
#[component]
pub fn BlocksPage(
    /// The run.
    run: Run,
    /// The page that is asked for.
    view: View,
) -> impl IntoView {
    let answer = asked(&run, view);
    let is_empty = move || answer.is_awaited.get() && answer.blocks.with(Vec::is_empty);
    view! {
        <div class="blocks" aria-busy=answer.busy()>
            {failure(answer)}
            {blocks_view(run, answer.blocks)}
            {shown(is_empty, move || view! { <p class="quiet waiting">"One moment …"</p> })}
        </div>
    }
}

/// Why a view is not what was asked for.
pub fn failure(answer: Answer) -> AnyView {
    live(move || answer.failed.get().map(|reason| view! { <p class="banner" role="alert">{reason}</p> }))
}

/// The blocks of a view, kept up to date.
pub fn asked(run: &Run, view: View) -> Answer {
    let state = State::get();
    let answer = Answer::default();
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
        let is_typing = *typed.borrow() != query.filter && !answer.blocks.with_untracked(Vec::is_empty);
        typed.borrow_mut().clone_from(&query.filter);
        latest.set(latest.get().wrapping_add(1));
        answer.is_awaited.set(true);
        let (question, latest, run) = (latest.get(), latest.clone(), run.clone());
        let ask = move || {
            // The view may have been left while the user typed: what was asked since is for another.
            if latest.get() == question && !answer.is_gone() {
                ask::page(&run, view, query, answer.heard());
            }
        };
        if is_typing { set_timeout(ask, PAUSE) } else { ask() }
    });
    answer
}
