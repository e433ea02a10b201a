//! A tree, drawn as nested spans. A click on a node zooms in, and the path above the chart zooms out again. The
//! selected node can be used as a filter.

use std::sync::Arc;

use crossprof::document::{Icicle, Node};
use crossprof::table::{Cell, Unit, unit};
use crossprof::text::format;
use leptos::prelude::*;

use super::chart::{Marks, Pair, chart};
use super::figure::{Chart, Data, figure, number, text};
use super::href;
use crate::components::live::live;
use crate::components::tip::Name;
use crate::components::warnings::{bounded, bounded_lines};
use crate::plot::icicle::{self as geometry, Span};
use crate::state::State;

/// Height of a row in pixels. The style sheet has the same value.
const ROW_PX: usize = 24;
/// Maximum number of rows that are drawn below the first row.
const MAX_DEPTH: usize = 11;

/// Renders the chart.
pub(super) fn icicle(icicle: Icicle) -> AnyView {
    let title = bounded(&icicle.title);
    if icicle.nodes.is_empty() {
        return view! { <section class="panel"><h2>{title}</h2><p class="empty">"The tree is empty."</p></section> }
            .into_any();
    }
    let icicle = Arc::new(icicle);
    let parents: Arc<[Option<u32>]> = icicle.nodes.iter().map(|node| node.parent).collect();
    let values: Vec<f64> = icicle.nodes.iter().map(|node| node.value).collect();
    let top = RwSignal::new(0usize);
    let run = untrack(|| State::get().run()).map_or(0, |run| run.id);
    let (tree, ways) = (icicle.clone(), parents.clone());
    let crumbs = move || {
        let path = geometry::path(&ways, top.get());
        let last = path.len() - 1;
        let crumb = |(at, node): (usize, usize)| {
            let Some(Node { label, .. }) = tree.nodes.get(node) else { return ().into_any() };
            let name = view! { <Name text=label.clone() width=32 /> };
            if at == last && last == 0 {
                // The root is the only element of the path, so there is nothing to go back to.
                return ().into_any();
            }
            if at == last {
                return view! { <li aria-current="true">{name}</li> }.into_any();
            }
            view! { <li><button class="crumb-button" on:click=move |_| top.set(node)>{name}</button></li> }.into_any()
        };
        path.into_iter().enumerate().map(crumb).collect_view()
    };
    let (whole, tree) = (icicle.clone(), icicle.clone());
    let about = move || {
        let node = tree.nodes.get(top.get())?;
        let link = node.link.as_ref();
        let more = link.and_then(|link| Some(view! { <a href=href(run, Some(link))?>{bounded(&link.title())}</a> }));
        Some(view! { <p class="node-about"><span>{facts(&tree, node).join(" · ")}</span>{more}</p> })
    };
    let drawn = move || {
        let spans = geometry::layout(&parents, &values, top.get(), MAX_DEPTH);
        let rows = spans.iter().map(|span| span.depth).max().unwrap_or(0) + 1;
        let boxes = spans.iter().map(|span| span_view(&icicle, span)).collect_view();
        let marks = marks(icicle.clone(), parents.clone(), spans.into(), rows, top);
        let height = format!("{}px", rows * ROW_PX);
        view! { <div class="icicle-plot" style:height=height>{chart(marks, "icicle", boxes.into_any())}</div> }
    };
    figure(Chart {
        title: title.into_any(),
        name: whole.title.clone(),
        class: "",
        body: view! { <ol class="crumbs" aria-label="Zoom">{live(crumbs)}</ol>{live(drawn)}{live(about)} }.into_any(),
        data: Arc::new(move || data(&whole)),
    })
}

/// Returns the data of all nodes, with parents before their children.
fn data(icicle: &Icicle) -> Data {
    let mut data = Data::of(&[
        ("Name", Unit::Text),
        ("Within", Unit::Text),
        ("Value", icicle.unit),
        ("Share", Unit::Percent),
        ("Notes", Unit::Text),
    ]);
    let all = icicle.nodes.first().map_or(0.0, |root| root.value);
    let rows = icicle.nodes.iter().map(|node| {
        let parent = node.parent.and_then(|parent| icicle.nodes.get(parent as usize));
        let within = parent.map_or(Cell::Absent, |parent| text(&parent.label));
        let share = number(100.0 * node.value / all);
        vec![text(&node.label), within, number(node.value), share, text(&node.notes.join("; "))]
    });
    data.rows = rows.collect();
    data
}

fn span_view(icicle: &Icicle, span: &Span) -> AnyView {
    let Some(node) = icicle.nodes.get(span.node) else { return ().into_any() };
    let percent = |share: f64| format!("{:.3}%", 100.0 * share);
    // Spans too narrow for text have no label. The tooltip shows their name.
    let label = (span.width > 0.02).then(|| format::shorten(&format::printable(&node.label), 80));
    view! {
        <span class=format!("span {}", node.class.name()) style:left=percent(span.left) style:width=percent(span.width)
            style:top=format!("{}px", span.depth * ROW_PX)><bdi>{label}</bdi></span>
    }
    .into_any()
}

/// Returns the facts about a node: its value, its share of the whole, and its notes.
fn facts(icicle: &Icicle, node: &Node) -> Vec<String> {
    let whole = icicle.nodes.first().map_or(0.0, |root| root.value);
    let mut facts = vec![unit::short(node.value, icicle.unit)];
    if whole > 0.0 {
        facts.push(format!("{} of all", format::percent(100.0 * node.value / whole)));
    }
    let notes = node.notes.iter().map(|note| bounded(note)).filter(|note| !facts.contains(note)).collect::<Vec<_>>();
    facts.extend(notes);
    facts
}

fn marks(
    icicle: Arc<Icicle>,
    parents: Arc<[Option<u32>]>,
    spans: Arc<[Span]>,
    rows: usize,
    top: RwSignal<usize>,
) -> Marks {
    let (found, walked, placed, described) = (spans.clone(), spans.clone(), spans.clone(), spans.clone());
    let tree = icicle.clone();
    let find = move |at: Pair, size: Pair| {
        let (x, depth) = (at.0 / size.0, (at.1 / size.1 * rows as f64) as usize);
        found.iter().position(|span| span.depth == depth && x >= span.left && x < span.left + span.width)
    };
    let ways = parents.clone();
    let place = move |mark: usize| match placed.get(mark) {
        Some(span) => ((span.left, span.depth as f64 / rows as f64), (span.width, 1.0 / rows as f64)),
        None => Default::default(),
    };
    let describe = move |mark: usize| {
        let node = described.get(mark).and_then(|span| tree.nodes.get(span.node));
        let lines = |node: &Node| {
            let facts = facts(&tree, node);
            let all: Vec<&str> = std::iter::once(&node.label).chain(&facts).map(String::as_str).collect();
            bounded_lines(&all)
        };
        node.map(lines).unwrap_or_default()
    };
    let label = bounded(&icicle.title);
    let act = move |mark: usize| {
        let Some(span) = spans.get(mark) else { return };
        let has_children = parents.iter().any(|parent| parent.map(|parent| parent as usize) == Some(span.node));
        if span.node != top.get_untracked() && has_children {
            top.set(span.node);
        } else if span.node == top.get_untracked() {
            // A click on the top span zooms out.
            top.set(parents.get(span.node).copied().flatten().map_or(0, |above| above as usize));
        } else if let Some(link) = icicle.nodes.get(span.node).and_then(|node| node.link.as_ref()) {
            State::get().follow(link);
        }
    };
    Marks {
        label,
        find: Box::new(find),
        step: Box::new(move |now, key| geometry::step(&walked, &ways, now, key)),
        place: Box::new(place),
        describe: Box::new(describe),
        act: Box::new(act),
    }
}
