//! A page of a run, drawn: one kind of block, one file of that name. What is shown is the library's ([`crossprof::pages`]); only
//! how it looks is here. Every mark can be reached by pointer and by keys, and is named; texts stay texts.

pub mod bars;
mod chart;
mod choice;
mod export;
mod facts;
pub mod figure;
pub mod figures;
pub mod findings;
mod grid;
mod icicle;
mod matrix;
mod scatter;
mod stack;
pub mod table;
mod text;
mod waterfall;

use std::sync::Arc;

use crossprof::pages::{About, Block, Link};
use crossprof::tables::TableName;
use leptos::prelude::*;

use crate::components::live::live;
use crate::components::tip::term;
use crate::components::warnings::bounded;
use crate::route::{Route, View};
use crate::state::Run;

/// The blocks of a page; one that is the same in the next answer is the same value.
pub type Blocks = RwSignal<Vec<Arc<Block>>>;

/// All blocks of a page. They stay in the document while their kinds stay: the focus and a chart's zoom survive an answer.
pub fn blocks_view(run: Run, blocks: Blocks) -> AnyView {
    let kinds = Memo::new(move |_| blocks.with(|blocks| blocks.iter().map(|block| kind(block)).collect::<Vec<_>>()));
    let all = move || {
        let kinds = kinds.get();
        kinds.into_iter().enumerate().map(|(at, kind)| block_view(&run, blocks, at, kind)).collect_view()
    };
    live(all)
}

/// What decides whether a block can be updated in place.
#[derive(Clone, PartialEq)]
enum Kind {
    /// A table, by its name.
    Table(TableName),
    /// A choice, by its key.
    Choice(String),
    /// Anything that is drawn anew.
    Other,
}

fn kind(block: &Block) -> Kind {
    match block {
        Block::Table(table) => Kind::Table(table.table),
        Block::Choice(choice) => Kind::Choice(choice.option.clone()),
        _ => Kind::Other,
    }
}

/// One block, that redraws itself when it changes.
fn block_view(run: &Run, blocks: Blocks, at: usize, kind: Kind) -> AnyView {
    let block = Memo::new(move |_| blocks.with(|blocks| blocks.get(at).cloned()));
    let run = run.clone();
    if matches!(kind, Kind::Table(_)) {
        return view! { <table::TableView run=run block=block /> }.into_any();
    }
    live(move || block.get().map(|block| drawn(&run, &block)))
}

/// A block that is no table.
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
        Block::Choice(choice) => choice::choice(choice),
        Block::Findings { findings } => findings::findings(run.id, findings),
        Block::Fold { title, blocks } => {
            let inner = blocks.iter().map(|block| drawn(run, block)).collect_view();
            view! { <details class="fold"><summary>{bounded(title)}</summary>{inner}</details> }.into_any()
        }
        Block::Table(_) => ().into_any(),
    }
}

/// The address that a link leads to; nothing where it names no view of this page.
pub fn href(run: u32, link: Option<&Link>) -> Option<String> {
    Some(Route::to(run, link?).href())
}

/// A chart's heading: with its definition, and a link to the view that has more, where it has these.
fn heading(run: u32, title: &str, about: Option<&About>) -> AnyView {
    let text = bounded(title);
    match about {
        Some(about) => {
            let href = Route::of(View::Of(about.view), run).href();
            term(text, crossprof::fields::plain(&about.definition), Some(href))
        }
        None => text.into_any(),
    }
}
