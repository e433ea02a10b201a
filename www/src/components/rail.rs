//! The rail on the left: runs, and below them the views of the current run. On narrow screens, the rail becomes a bar
//! at the bottom.

use leptos::prelude::*;

use super::icons::ViewIcon;
use super::live::{follow, live};
use super::tip::Name;
use crate::browser;
use crate::route::{Route, View};
use crate::state::{FileRow, Load, Phase, Run, State};

/// Renders the rail.
#[component]
pub fn Rail() -> impl IntoView {
    let state = State::get();
    let runs = move || state.runs.get();
    let current = Memo::new(move |_| state.run().map(|run| run.id));
    let views = move || {
        let run = current.get();
        let shown = untrack(|| state.run());
        let has = |of: &View| shown.as_ref().is_none_or(|run| run.has(*of));
        let items = View::of_a_run().filter(has).enumerate().map(|(index, of)| {
            let here = move || state.view() == of;
            match run {
                Some(run) => view! {
                    <li><a class="view-link" href=move || state.route_to(of, run).href() aria-current=move || here().then_some("page")>
                        <ViewIcon of=of /><span>{of.title()}</span>{(index < 9).then(|| view! { <kbd aria-hidden="true">{index + 1}</kbd> })}
                    </a></li>
                }.into_any(),
                None => view! { <li><span class="view-link off" aria-disabled="true"><ViewIcon of=of /><span>{of.title()}</span></span></li> }.into_any(),
            }
        });
        items.collect_view()
    };
    // Link to failed files, which the user would otherwise not see while viewing another run.
    let failed = move || {
        let has_failed = |file: &&FileRow| matches!(file.phase, Phase::Failed(_));
        let of_load = |load: &Load| load.files.with(|files| files.iter().filter(has_failed).count());
        let count: usize = state.loads.with(|loads| loads.iter().map(of_load).sum());
        let word = if count == 1 { "file" } else { "files" };
        (count > 0).then(|| view! { <a class="failed-link" href="#/start">{format!("{count} {word} not read")}</a> })
    };
    // On narrow screens, scroll the current view's link into view.
    follow(move || {
        state.view();
        request_animation_frame(|| browser::reveal(".views [aria-current]"));
    });
    let start_here = move || state.view() == View::Start;
    view! {
        <nav class="rail" aria-label="Runs and views">
            <h2 class="rail-title">"Runs"</h2>
            <ul class="runs">
                <For each=runs key=|run| run.id let:run><RunLink run=run current=current /></For>
            </ul>
            {live(failed)}
            <a class="view-link open-link" href="#/start" aria-current=move || start_here().then_some("page")>
                <ViewIcon of=View::Start /><span>"Open a profile"</span>
            </a>
            <a class="view-link compare-link" href="#/compare" aria-current=move || (state.view() == View::Compare).then_some("page")>
                <ViewIcon of=View::Compare /><span>"Compare runs"</span>
            </a>
            <h2 class="rail-title">"Views"</h2>
            <ul class="views">{views}</ul>
        </nav>
    }
}

#[component]
fn RunLink(run: Run, current: Memo<Option<u32>>) -> impl IntoView {
    let state = State::get();
    let (id, report, of_run) = (run.id, run.report, run);
    let href = move || {
        let of = state.route.with(|route| route.view);
        Route::of(if matches!(of, View::Start | View::Compare) || !of_run.has(of) { View::OVERVIEW } else { of }, id)
            .href()
    };
    let here = move || current.get() == Some(id) && !matches!(state.view(), View::Start | View::Compare);
    view! {
        <li><a class="run-link" href=href aria-current=move || here().then_some("true")>
            <i class=format!("dot run-{}", (id - 1) % 8)></i>
            {move || {
                let report = report.get();
                let devices = match report.profile.metadata.num_devices {
                    0 => String::new(),
                    devices => format!(" × {devices}"),
                };
                view! {
                    <Name text=state.name_of(id) width=18 />
                    <span class="platform">{report.profile.platform()}{devices}</span>
                }
            }}
        </a></li>
    }
}
