//! The overview: where its blocks stand, and what the page itself says beside them: warnings, what is missing, the environment.

use crossprof::Warning;
use crossprof::format::count;
use crossprof::pages::{self, Block};
use crossprof::report::NotMeasured;
use leptos::prelude::*;

use super::blocks::{asked, failure};
use crate::blocks::findings::findings;
use crate::blocks::{Blocks, blocks_view};
use crate::components::live::{live, shown};
use crate::components::tip::Name;
use crate::components::warnings::{Missing, WarningRow};
use crate::profile::Profile;
use crate::route::{Route, View};
use crate::state::Run;

/// Facts of the environment that are listed.
const MAX_FACTS: usize = 60;

/// Where a block stands.
#[derive(Clone, Copy, PartialEq)]
enum BlockPlace {
    /// Above the columns.
    Top,
    /// The first column, above the steps: what to do first stands beside it.
    Figures,
    /// The first column: the steps.
    Steps,
    /// The first column, below the steps.
    Main,
    /// The second column.
    Side,
    /// The panel of what to do first.
    ToDo,
}

/// The places of the blocks: figures above the steps, bars beside them. A page without steps is of hosts and is not parted.
fn place(block: &Block, has_steps: bool) -> BlockPlace {
    match block {
        Block::Findings { .. } => BlockPlace::ToDo,
        _ if !has_steps => BlockPlace::Top,
        Block::Figures { .. } => BlockPlace::Figures,
        Block::Stack(_) => BlockPlace::Steps,
        Block::Bars(_) => BlockPlace::Side,
        _ => BlockPlace::Main,
    }
}

/// The blocks of one place, kept up to date.
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

/// The page. On narrow screens the columns dissolve and `first` to `last` give the order.
#[component]
pub fn Overview(
    /// The run.
    run: Run,
) -> impl IntoView {
    let (id, report) = (run.id, run.report);
    let answer = asked(&run, pages::View::Overview);
    let [top, figures, steps, main, side, to_do] =
        [BlockPlace::Top, BlockPlace::Figures, BlockPlace::Steps, BlockPlace::Main, BlockPlace::Side, BlockPlace::ToDo]
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
                <section class="panel last">
                    <h2>"Not measured, and why"</h2>
                    {live(move || missing(&report.get().profile.not_measured))}
                </section>
            </div>
            <div class="column">
                {live(to_do)}
                {drawn(side, "blocks third")}
                <section class="panel last">
                    <h2>"Run environment"</h2>
                    {live(move || environment(&report.get().profile))}
                </section>
            </div>
        </div>
    }
}

fn warnings(list: &[Warning]) -> AnyView {
    if list.is_empty() {
        return view! { <p class="quiet">"None: the profile was read whole."</p> }.into_any();
    }
    list.iter().map(|warning| view! { <WarningRow warning=warning.clone() /> }).collect_view().into_any()
}

fn missing(list: &[NotMeasured]) -> AnyView {
    if list.is_empty() {
        return view! { <p class="quiet">"Everything was measured."</p> }.into_any();
    }
    view! { <Missing list=list.to_vec() /> }.into_any()
}

/// `2026-01-31 12:00:00 UTC` of `2026-01-31T12:00:00.123Z`; the zone only where it is known.
fn moment(timestamp: &str) -> String {
    let zone = if timestamp.ends_with('Z') { " UTC" } else { "" };
    let second = timestamp.trim_end_matches('Z').split('.').next().unwrap_or_default();
    format!("{}{zone}", second.replacen('T', " ", 1))
}

fn environment(profile: &Profile) -> AnyView {
    let metadata = &profile.metadata;
    let known = [
        ("Captured", metadata.timestamp.as_deref().map(moment)),
        ("Platform", Some(metadata.platform.clone())),
        ("Device type", Some(metadata.device_type.clone())),
        ("Framework", Some(metadata.framework.clone())),
        ("Devices used", Some(count(metadata.num_devices))),
        ("Devices visible", metadata.num_devices_visible.map(count)),
        ("Hosts", metadata.num_hosts.map(count)),
    ];
    let known = known.into_iter().filter_map(|(key, value)| Some((key.to_owned(), value?)));
    // Words can be broken into lines where identifiers cannot.
    let given = metadata.environment.iter().map(|(key, value)| (key.replace('_', " "), value.clone()));
    let files = profile.provenance.iter().map(|file| ("File".to_owned(), file.path.clone()));
    let row = |(key, value): (String, String)| {
        view! {
            <dt>
                <Name text=key width=48 />
            </dt>
            <dd>
                <Name text=value width=36 />
            </dd>
        }
    };
    let rows = known.chain(given).chain(files).take(MAX_FACTS).map(row).collect_view();
    view! { <dl class="environment">{rows}</dl> }.into_any()
}

#[cfg(test)]
mod tests {
    use super::moment;

    #[test]
    fn the_moment_of_the_capture_is_told_to_the_second() {
        assert_eq!(moment("2025-03-11T19:41:39.081Z"), "2025-03-11 19:41:39 UTC");
        assert_eq!(moment("2026-05-20T08:45:02"), "2026-05-20 08:45:02");
        assert_eq!(moment("yesterday"), "yesterday");
    }
}
