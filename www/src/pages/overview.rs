//! The overview: arranges its blocks and adds the warnings.

use crossprof::document::Block;
use crossprof::{Warning, pages};
use leptos::prelude::*;

use super::blocks::{asked, failure};
use crate::blocks::findings::findings;
use crate::blocks::{Blocks, blocks_view};
use crate::components::live::{live, shown};
use crate::components::warnings::WarningRow;
use crate::route::{Route, View};
use crate::state::Run;

/// Position of a block on the page.
#[derive(Clone, Copy, PartialEq)]
enum BlockPlace {
    /// Above the columns.
    Top,
    /// First column, above the steps: the headline figures.
    Figures,
    /// First column, the steps.
    Steps,
    /// First column, below the steps.
    Main,
    /// Second column.
    Side,
    /// Panel of things to do first.
    ToDo,
    /// First column, at the end: numbers that were not measured.
    Missing,
    /// Second column, at the end.
    Environment,
}

/// Returns the position of a block. A page without steps describes hosts and has no columns.
fn place(block: &Block, has_steps: bool) -> BlockPlace {
    match block {
        Block::Findings { .. } => BlockPlace::ToDo,
        Block::Fold { .. } => BlockPlace::Missing,
        Block::Facts(_) => BlockPlace::Environment,
        _ if !has_steps => BlockPlace::Top,
        Block::Figures { .. } => BlockPlace::Figures,
        Block::Stack(_) => BlockPlace::Steps,
        Block::Bars(_) => BlockPlace::Side,
        _ => BlockPlace::Main,
    }
}

/// Returns a signal that contains only the blocks at one position.
fn placed(blocks: Blocks, wanted: BlockPlace) -> Blocks {
    let here: Blocks = RwSignal::new(Vec::new());
    Effect::new(move |_| {
        here.set(blocks.with(|blocks| {
            let has_steps = blocks.iter().any(|block| matches!(**block, Block::Stack(_)));
            blocks.iter().filter(|block| place(block, has_steps) == wanted).cloned().collect()
        }));
    });
    here
}

/// Renders the page. On narrow screens there is one column, ordered by the classes `first` to `last`.
#[component]
pub fn Overview(
    /// The run to show.
    run: Run,
) -> impl IntoView {
    let (id, report) = (run.id, run.report);
    let answer = asked(&run, pages::View::Overview);
    let [top, figures, steps, main, side, to_do, missing, environment] = [
        BlockPlace::Top,
        BlockPlace::Figures,
        BlockPlace::Steps,
        BlockPlace::Main,
        BlockPlace::Side,
        BlockPlace::ToDo,
        BlockPlace::Missing,
        BlockPlace::Environment,
    ]
    .map(|it| placed(answer.blocks, it));
    let to_do = move || match to_do.with(|found| found.first().cloned()).as_deref() {
        Some(Block::Findings { findings: found }) => Some(view! {
            <section class="panel to-do first">
                <h2>"What to do first"<a class="more" href=Route::of(View::Of(pages::View::Findings), id).href()>"all findings"</a></h2>
                {findings(id, found)}
            </section>
        }),
        _ => None,
    };
    let drawn = move |blocks: Blocks, class: &'static str| {
        let run = run.clone();
        let is_there = move || blocks.with(|blocks| !blocks.is_empty());
        shown(is_there, move || view! { <div class=class>{blocks_view(run.clone(), blocks)}</div> })
    };
    view! {
        {failure(answer)}
        {drawn(top, "blocks")}
        <div class="overview-grid" aria-busy=answer.busy()>
            <div class="column">
                {drawn(figures, "blocks")}
                {drawn(steps, "blocks second")}
                {drawn(main, "blocks third")}
                <section class="panel fourth" id="warnings">
                    <h2>"Warnings"</h2>
                    {live(move || warnings(&report.get().profile.warnings))}
                </section>
                {drawn(missing, "blocks last")}
            </div>
            <div class="column">
                {live(to_do)}
                {drawn(side, "blocks third")}
                {drawn(environment, "blocks last")}
            </div>
        </div>
    }
}

fn warnings(list: &[Warning]) -> AnyView {
    if list.is_empty() {
        return view! { <p class="quiet">"None. The file was read completely."</p> }.into_any();
    }
    list.iter().map(|warning| view! { <WarningRow warning=warning.clone() /> }).collect_view().into_any()
}
