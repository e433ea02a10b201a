//! The overview: how long a step is and how steady, how busy the devices are, where the time goes.

use crossprof::Warning;
use crossprof::format::{count, printable, shorten};
use crossprof::pages::{Bars, Block};
use crossprof::report::{NotMeasured, StepTiming};
use leptos::prelude::*;

use std::sync::Arc;

use super::blocks::{asked, failure};
use crate::blocks::figure::{Chart, figure};
use crate::blocks::findings::findings;
use crate::blocks::table::TableView;
use crate::blocks::{Blocks, bars, blocks_view, figures};
use crate::components::bars::{between_devices, by_device};
use crate::components::card;
use crate::components::live::{live, shown};
use crate::components::step_chart::{self, step_chart};
use crate::components::tip::{Name, Term};
use crate::components::warnings::{Missing, WarningRow};
use crate::headline::headlines;
use crate::profile::Profile;
use crate::route::{Route, View};
use crate::state::Run;

/// Facts of the environment that are listed.
const MAX_FACTS: usize = 60;

/// The page. On narrow screens the columns dissolve and `first` to `last` give the order.
#[component]
pub fn Overview(
    /// The run.
    run: Run,
) -> impl IntoView {
    let (id, report) = (run.id, run.report);
    let (blocks, failed) = asked(&run, View::Overview);
    // Without a device op the library's blocks say what is known instead: no cards and charts of dashes.
    let is_bare = Memo::new(move |_| {
        let report = report.get();
        report.profile.metadata.num_devices == 0 && report.profile.metadata.platform == "Unknown"
    });
    let rest: Blocks = RwSignal::new(Vec::new());
    Effect::new(move |_| {
        let is_bare = is_bare.get();
        rest.set(blocks.with(|blocks| more_blocks(blocks, is_bare)));
    });
    let find = move |wanted: fn(&Block) -> bool| {
        Memo::new(move |_| blocks.with(|blocks| blocks.iter().find(|block| wanted(block)).cloned()))
    };
    let kernels: Memo<Option<Arc<Block>>> = find(|block| matches!(block, Block::Table(_)));
    let first_figures = find(|block| matches!(block, Block::Figures { .. }));
    let first_bars = find(|block| matches!(block, Block::Bars(_)));
    let first_findings = find(|block| matches!(block, Block::Findings { .. }));
    let more_cards = move || match first_figures.get().as_deref() {
        Some(Block::Figures { figures }) => figures.iter().map(|figure| figures::card(id, figure)).collect_view(),
        _ => Vec::new(),
    };
    let to_do = move || match first_findings.get().as_deref() {
        Some(Block::Findings { findings: found }) if !found.is_empty() => Some(view! {
            <section class="panel to-do first">
                <h2>"What to do first"<a class="more" href=Route::of(View::Findings, id).href()>"all findings"</a></h2>
                {findings(id, found)}
            </section>
        }),
        _ => None,
    };
    let cards = move || {
        let is_bare = is_bare.get();
        let cards = headlines(&report.get().profile).into_iter().filter(|card| !is_bare || card.value.is_some());
        cards.map(|headline| card::headline(headline, id)).collect_view()
    };
    let steps = move || {
        let report = report.get();
        let of = report.clone();
        let source = step_source(&report.profile.step_timing);
        figure(Chart {
            title: titled("steps[].duration_us", "Step by step", View::Steps, id),
            name: "Step by step".to_owned(),
            class: "first",
            body: view! { <p class="quiet">{source}</p>{step_chart(&report)} }.into_any(),
            data: Arc::new(move || step_chart::data(&of.profile.steps)),
        })
    };
    let categories = move || {
        let drawn = match first_bars.get().as_deref() {
            Some(Block::Bars(bars)) => bars.clone(),
            _ => Bars { title: "Kernel time by category".to_owned(), ..Bars::default() },
        };
        let largest = drawn.bars.iter().map(|bar| bar.value).fold(0.0, f64::max);
        figure(Chart {
            title: titled("kernels.kernels_by_category.*.time_us", "Kernel time by category", View::Kernels, id),
            name: drawn.title.clone(),
            class: "second",
            body: match drawn.bars.is_empty() {
                true => view! { <p class="empty">"No device op was read."</p> }.into_any(),
                false => bars::list(id, &drawn, largest),
            },
            data: Arc::new(move || bars::data(&drawn)),
        })
    };
    let devices = move || {
        let report = report.get();
        let drawn = by_device(&report.profile);
        figure(Chart {
            title: titled("multi_device.device_stats[].utilization_percent", "Devices, busy share", View::Devices, id),
            name: drawn.title.clone(),
            class: "second",
            body: view! { {bars::list(id, &drawn, 100.0)}{between_devices(&report.profile)} }.into_any(),
            data: Arc::new(move || bars::data(&drawn)),
        })
    };
    let (run_of_kernels, run_of_blocks, run_of_rest) = (run.clone(), run.clone(), run);
    let top_kernels = move || {
        view! {
            <section class="panel third">
                <TableView run=run_of_kernels.clone() block=kernels />
            </section>
        }
    };
    let of_library = move |run: Run| view! { <div class="blocks">{blocks_view(run, rest)}</div> };
    view! {
        {failure(failed)}
        <div class="cards">{live(cards)}{live(more_cards)}</div>
        {shown(move || is_bare.get(), move || of_library(run_of_blocks.clone()))}
        <div class="overview-grid">
            <div class="column">
                {shown(move || !is_bare.get(), move || live(steps))}
                {shown(move || !is_bare.get(), top_kernels)}
                {shown(move || !is_bare.get(), move || of_library(run_of_rest.clone()))}
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
                {shown(move || !is_bare.get(), move || live(categories))}
                {shown(move || !is_bare.get(), move || live(devices))}
                <section class="panel last">
                    <h2>"Run environment"</h2>
                    {live(move || environment(&report.get().profile))}
                </section>
            </div>
        </div>
    }
}

/// The blocks that have no place of their own on this page: all but the first figures and findings, and where devices ran but
/// the first bars and table.
fn more_blocks(blocks: &[Arc<Block>], is_bare: bool) -> Vec<Arc<Block>> {
    let mut placed = [false; 4];
    let place = |block: &Block| match block {
        Block::Figures { .. } => Some(0),
        Block::Findings { .. } => Some(1),
        Block::Bars(_) if !is_bare => Some(2),
        Block::Table(_) if !is_bare => Some(3),
        _ => None,
    };
    let is_more = |block: &&Arc<Block>| match place(block).and_then(|at| placed.get_mut(at)) {
        Some(placed) => std::mem::replace(placed, true),
        None => true,
    };
    blocks.iter().filter(is_more).cloned().collect()
}

/// A heading with its definition, which leads to the view that has more.
fn titled(field: &'static str, text: &'static str, view: View, run: u32) -> AnyView {
    view! { <a href=Route::of(view, run).href()><Term field=field text=text /></a> }.into_any()
}

/// Where the steps came from and how the devices run them, as a sentence.
fn step_source(timing: &StepTiming) -> String {
    let marker = timing.step_marker.as_deref().map(|marker| printable(&shorten(marker, 60)));
    let devices = match timing.devices_in_step.as_deref() {
        Some("independent") => ", each device for itself",
        Some("one_after_another") => ", one device after another",
        _ => "",
    };
    match (timing.step_count_source.as_str(), marker) {
        ("user", _) => "Steps: the number that you gave.".to_owned(),
        ("unknown", _) => "No step markers found. Give the number of steps on the Model page.".to_owned(),
        (_, Some(marker)) => format!("Steps: {marker}{devices}."),
        ("step_num", None) => "Steps: annotations with a step number.".to_owned(),
        ("steps_line", None) => "Steps: the Steps line of the profile.".to_owned(),
        ("module_runs", None) => "Steps: runs of the dominant module.".to_owned(),
        (other, None) => format!("Steps: {}.", printable(&shorten(other, 60))),
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
