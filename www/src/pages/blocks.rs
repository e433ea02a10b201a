//! A page whose blocks come from the library. This module requests the page again when the filter, sorting, options or
//! numbers change. Until the response arrives, the previous content stays visible.

use std::cell::Cell;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use crossprof::document::Page;
use crossprof::pages::View;
use leptos::prelude::*;

use crate::blocks::{Blocks, blocks_view};
use crate::components::live::{live, shown};
use crate::state::{Run, State};
use crate::{ask, route};

/// Time to wait while the user types, so that several letters cause one request.
const PAUSE: Duration = Duration::from_millis(80);

/// Content and state of a page.
#[derive(Clone, Copy)]
pub struct Answer {
    /// Blocks of the latest response. Empty before the first response.
    pub blocks: Blocks,
    /// Error of the latest request, if it failed.
    pub failed: RwSignal<Option<String>>,
    /// True while the latest request is pending. Until the response arrives, the blocks come from an earlier request.
    pub is_awaited: RwSignal<bool>,
}

impl Default for Answer {
    /// Creates a page without blocks.
    fn default() -> Answer {
        Answer { blocks: RwSignal::new(Vec::new()), failed: RwSignal::new(None), is_awaited: RwSignal::new(true) }
    }
}

impl Answer {
    /// Returns true if the user has left the view.
    fn is_gone(self) -> bool {
        self.blocks.is_disposed()
    }

    /// Returns a callback that shows the response or its error.
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

    /// Value of `aria-busy`: true while the latest request is pending.
    pub fn busy(self) -> impl Fn() -> String + Copy {
        move || self.is_awaited.get().to_string()
    }
}

/// Renders the page.
#[component]
pub fn BlocksPage(
    /// The run to show.
    run: Run,
    /// The view to request.
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

/// Renders the error of the latest request.
pub fn failure(answer: Answer) -> AnyView {
    live(move || answer.failed.get().map(|reason| view! { <p class="banner" role="alert">{reason}</p> }))
}

/// Requests a view now, and each time the URL of the view or the report changes.
pub fn asked(run: &Run, view: View) -> Answer {
    let state = State::get();
    let answer = Answer::default();
    let latest = Rc::new(Cell::new(0u32));
    let typed = Rc::new(std::cell::RefCell::new(String::new()));
    let run = run.clone();
    // The URL is often set to the same value.
    let wanted = Memo::new(move |_| {
        state.route.with(|route| (route.view == route::View::Of(view)).then(|| route.query.clone()))
    });
    Effect::new(move |_| {
        // A new report requires a new request.
        run.report.track();
        let Some(query) = wanted.get() else { return };
        let is_typing = *typed.borrow() != query.filter && !answer.blocks.with_untracked(Vec::is_empty);
        typed.borrow_mut().clone_from(&query.filter);
        latest.set(latest.get().wrapping_add(1));
        answer.is_awaited.set(true);
        let (question, latest, run) = (latest.get(), latest.clone(), run.clone());
        let ask = move || {
            // By now, the user may have typed more or left the view.
            if latest.get() == question && !answer.is_gone() {
                ask::page(&run, view, query, answer.heard());
            }
        };
        if is_typing { set_timeout(ask, PAUSE) } else { ask() }
    });
    answer
}
