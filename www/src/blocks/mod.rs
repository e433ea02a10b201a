//! Renders the blocks of a run's page. Each kind of block is rendered in the file with the same name. The library
//! ([`crossprof::pages`]) determines the content, and this module determines only its appearance. Every mark is
//! reachable by pointer and by keyboard, and has a description. Text is never interpreted as markup.

pub mod bars;
mod chart;
pub mod choice;
pub mod export;
mod facts;
pub mod figure;
pub mod figures;
pub mod findings;
mod grid;
mod heat_map;
mod icicle;
mod matrix;
mod scatter;
mod stack;
pub mod table;
mod text;
mod waterfall;

use std::sync::Arc;

use crossprof::document::{About, Block, Link};
use crossprof::table::TableName;
use leptos::prelude::*;

use crate::components::live::live;
use crate::components::tip::term;
use crate::components::warnings::bounded;
use crate::route::{Route, View};
use crate::state::Run;

/// The blocks of a page.
pub type Blocks = RwSignal<Vec<Arc<Block>>>;

/// Renders all blocks of a page. A new response with the same kinds of blocks reuses the elements on the page, so
/// charts keep their focus and zoom.
pub fn blocks_view(run: Run, blocks: Blocks) -> AnyView {
    let kinds = Memo::new(move |_| blocks.with(|blocks| blocks.iter().map(|block| kind(block)).collect::<Vec<_>>()));
    let all = move || {
        let kinds = kinds.get();
        kinds.into_iter().enumerate().map(|(at, kind)| block_view(&run, blocks, at, kind)).collect_view()
    };
    live(all)
}

/// Identifies a block that can be updated in place.
#[derive(Clone, PartialEq)]
enum Kind {
    /// A table, identified by its name.
    Table(TableName),
    /// A choice, identified by the option that it sets.
    Choice(String),
    /// A block that is redrawn on each change.
    Other,
}

fn kind(block: &Block) -> Kind {
    match block {
        Block::Table(table) => Kind::Table(table.table),
        Block::Choice(choice) => Kind::Choice(choice.option.clone()),
        _ => Kind::Other,
    }
}

/// Renders a block, and redraws it when it changes.
fn block_view(run: &Run, blocks: Blocks, at: usize, kind: Kind) -> AnyView {
    let block = Memo::new(move |_| blocks.with(|blocks| blocks.get(at).cloned()));
    let run = run.clone();
    if matches!(kind, Kind::Table(_)) {
        return view! { <table::TableView run=run block=block /> }.into_any();
    }
    live(move || block.get().map(|block| drawn(&run, &block)))
}

/// Renders a block that is not a table.
fn drawn(run: &Run, block: &Block) -> AnyView {
    match block {
        Block::Heading { text, note } => text::heading(text, note.as_deref()),
        Block::Note { text } => text::note(text),
        Block::Empty { reason, remedy } => text::empty(reason, remedy.clone()),
        Block::Figures { figures } => figures::figures(run.id, figures),
        Block::Stack(stack) => stack::stack(run.id, stack.clone()),
        Block::Bars(bars) => bars::bars(run.id, bars.clone()),
        Block::Facts(it) => facts::facts(it),
        Block::Links { links } => facts::links(run.id, links),
        Block::Grid(it) => grid::grid(it),
        Block::Waterfall(it) => waterfall::waterfall(it.clone()),
        Block::Scatter(scatter) => scatter::scatter(scatter.clone()),
        Block::Icicle(icicle) => icicle::icicle(icicle.clone()),
        Block::Matrix(matrix) => matrix::matrix(matrix.clone()),
        Block::HeatMap(map) => heat_map::heat_map(map.clone()),
        Block::Choice(choice) => choice::choice(choice),
        Block::Findings { findings } => findings::findings(run.id, findings),
        Block::Fold { title, blocks } => {
            let inner = blocks.iter().map(|block| drawn(run, block)).collect_view();
            view! { <details class="fold"><summary>{bounded(title)}</summary>{inner}</details> }.into_any()
        }
        Block::Table(_) => ().into_any(),
    }
}

/// Returns the URL of a link, if there is a link.
pub fn href(run: u32, link: Option<&Link>) -> Option<String> {
    Some(Route::to(run, link?).href())
}

/// Renders the heading of a chart. Adds the definition and a link to a more detailed view, if the chart has them.
fn heading(run: u32, title: &str, about: Option<&About>) -> AnyView {
    let text = bounded(title);
    match about {
        Some(about) => {
            let href = Route::of(View::Of(about.view), run).href();
            term(text, crossprof::text::fields::plain(&about.definition), Some(href))
        }
        None => text.into_any(),
    }
}
