//! The graph of a compiled program: the picture, the selected op, and the HLO text.

use crossprof::document::Link;
use crossprof::pages::{NO_PROGRAMS, View};
use crossprof::text::format::printable;
use leptos::prelude::*;

use crate::components::live::{live, shown};
use crate::graph::bar::Bar;
use crate::graph::canvas::Canvas;
use crate::graph::listing::ListingView;
use crate::graph::{Explorer, address};
use crate::pages::export::copied;
use crate::programs;
use crate::route::Route;
use crate::state::Run;

/// Renders the view.
#[component]
pub fn GraphView(
    /// The run to show.
    run: Run,
) -> impl IntoView {
    let id = run.id;
    let explorer = Explorer::new(run);
    let is_empty = move || explorer.programs.with(|all| all.as_ref().is_some_and(|all| all.programs.is_empty()));
    let has_some = move || explorer.programs.with(|all| all.as_ref().is_some_and(|all| !all.programs.is_empty()));
    let failed = move || explorer.failed.get().map(|reason| view! { <p class="banner" role="alert">{reason}</p> });
    let is_undrawn = move || explorer.picture.with(Option::is_none) && explorer.failed.with(Option::is_none);
    let is_unknown = move || explorer.programs.with(Option::is_none) && is_undrawn();
    view! {
        {live(failed)}
        {shown(is_unknown, || view! { <p class="quiet waiting" aria-busy="true">"One moment …"</p> })}
        {shown(is_empty, no_programs)}
        {shown(has_some, move || view! {
            <Bar explorer=explorer />
            <div class="graph-grid" aria-busy=move || is_undrawn().to_string()>
                <Canvas explorer=explorer />
                <aside class="graph-side">
                    {live(move || details(explorer, id))}
                    <ListingView explorer=explorer />
                </aside>
            </div>
        })}
    }
}

fn no_programs() -> AnyView {
    let [reason, remedy] = NO_PROGRAMS;
    view! { <div class="panel empty-view"><p>{reason}</p><p class="quiet">{remedy}</p></div> }.into_any()
}

/// Renders the facts about the selected op, with links to the op in other views.
fn details(explorer: Explorer, run: u32) -> AnyView {
    let Some(details) = explorer.details.get() else {
        let text = match explorer.selected.get() {
            Some(_) => "A group of ops. Open it with the plus sign, a double click or Enter.",
            None => "Select an op to see its numbers. Drag to move the picture. Hold Ctrl and turn the wheel to zoom.",
        };
        return view! { <section class="panel graph-details"><p class="quiet">{text}</p></section> }.into_any();
    };
    let name = details.name.clone();
    let around = explorer.next(|route| address::around(route, &name)).href();
    let op = name.clone();
    let copy = move |_| {
        let Some(program) = explorer.program.get_untracked() else { return };
        programs::script(&explorer.run.get_value(), &program, op.clone(), copied(explorer.state, "Script"));
    };
    let measured = details.is_measured.then(|| {
        let links = [View::Ops, View::Timeline, View::Roofline].into_iter();
        let links = links.filter_map(|view| Some((view.title(), Link::equal(view, "hlo_op_name", &name)?)));
        links
            .map(|(title, link)| view! { <a class="plain" href=Route::to(run, &link).href()>{title}</a> })
            .collect_view()
    });
    let called = details.called.iter().map(|computation| {
        let href = explorer.next(|route| address::within(route, computation)).href();
        view! { <a class="plain" href=href>{format!("Inside: {}", crossprof::text::format::shorten(&printable(computation), 32))}</a> }
    });
    let called = called.collect_view();
    let facts = details.facts.iter().map(|(label, value)| {
        view! { <dt>{label.clone()}</dt><dd><bdi>{printable(value)}</bdi></dd> }
    });
    let users = details.users.iter().map(|user| {
        let href = explorer.next(|route| address::around(route, user)).href();
        view! { <a href=href>{printable(user)}</a>" " }
    });
    let users: Vec<_> = users.collect();
    let used_by = (!users.is_empty()).then(|| view! { <dt>"Used by"</dt><dd>{users}</dd> });
    view! {
        <section class="panel graph-details">
            <h2><bdi>{printable(&name)}</bdi></h2>
            <nav class="row-links" aria-label="Related views"><a class="plain" href=around>"Centre"</a><button type="button" class="plain" data-copy="jax" on:click=copy>"Copy as JAX"</button>{measured}{called}</nav>
            <dl class="graph-facts">{facts.collect_view()}{used_by}</dl>
        </section>
    }
    .into_any()
}
