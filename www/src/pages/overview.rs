//! The overview: how long a step is and how steady, how busy the devices are, where the time goes.

use crossprof::export::tables::TableName;
use leptos::prelude::*;

use super::{reason, table_of};
use crate::components::bars::{CategoryBars, DeviceBars};
use crate::components::card::Card;
use crate::components::step_chart::StepChart;
use crate::components::table::TableView;
use crate::components::tip::{Name, Term};
use crate::components::warnings::{Missing, WarningRow};
use crate::headline::headlines;
use crate::route::{Route, View};
use crate::state::Run;

/// The page.
#[component]
pub fn Overview(
    /// The run.
    run: Run,
) -> impl IntoView {
    let (id, report) = (run.id, run.report);
    let kernels = table_of(&run, TableName::Kernels);
    let filter = RwSignal::new(String::new());
    let cards = move || {
        headlines(&report.get().profile)
            .into_iter()
            .map(|headline| view! { <Card headline=headline run=id /> })
            .collect_view()
    };
    view! {
        <div class="cards">{cards}</div>
        <div class="overview-grid">
            <section class="panel wide">
                <h2><Term field="steps[].duration_us" text="Step by step" /> <a class="more" href=Route::of(View::Steps, id).href()>"all steps"</a></h2>
                <p class="quiet">{move || step_source(&report.get().profile.step_timing)}</p>
                {move || view! { <StepChart report=report.get() /> }}
            </section>
            <section class="panel">
                <h2><Term field="kernels.kernels_by_category" text="Kernel time by category" /> <a class="more" href=Route::of(View::Kernels, id).href()>"kernels"</a></h2>
                {move || view! { <CategoryBars report=report.get() /> }}
            </section>
            <section class="panel wide">
                <TableView table=kernels title="Top kernels" path="kernels.top_kernels[]." filter=filter hidden=&["framework_op", "min_us", "max_us"]
                    empty=reason(&run, "kernels", "No device op was read.") />
            </section>
            <section class="panel">
                <h2><Term field="multi_device.device_stats[].utilization_percent" text="Devices, busy share" /> <a class="more" href=Route::of(View::Devices, id).href()>"devices"</a></h2>
                {move || view! { <DeviceBars report=report.get() most=10 /> }}
            </section>
            <Notes run=run />
        </div>
    }
}

/// Where the steps came from, as a sentence.
fn step_source(timing: &crossprof::report::StepTiming) -> String {
    let marker = timing
        .step_marker
        .as_deref()
        .map(|marker| crossprof::format::printable(&crossprof::format::shorten(marker, 60)));
    let marker = marker.unwrap_or_default();
    match timing.step_count_source.as_str() {
        "user" => "Steps: the count that you gave.".to_owned(),
        "step_num" => format!("Steps: annotations with a step number. {marker}"),
        "steps_line" => format!("Steps: the profile's own Steps line. {marker}"),
        "module_runs" => format!("Steps: runs of the dominant module. {marker}"),
        "unknown" => "The trace does not tell its steps. Give their number on the Model page.".to_owned(),
        other => format!("Steps: {}.", crossprof::format::printable(other)),
    }
}

/// Warnings, what was not measured, and the run's environment.
#[component]
fn Notes(run: Run) -> impl IntoView {
    let report = run.report;
    let warnings = move || {
        let list = report.get().profile.warnings.clone();
        if list.is_empty() {
            view! { <p class="quiet">"None: the profile was read whole."</p> }.into_any()
        } else {
            list.into_iter().map(|warning| view! { <WarningRow warning=warning /> }).collect_view().into_any()
        }
    };
    let missing = move || {
        let list = report.get().profile.not_measured.clone();
        if list.is_empty() {
            view! { <p class="quiet">"Everything was."</p> }.into_any()
        } else {
            view! { <Missing list=list /> }.into_any()
        }
    };
    view! {
        <section class="panel wide" id="warnings"><h2>"Warnings"</h2>{warnings}</section>
        <section class="panel"><h2>"Run environment"</h2>{move || environment(&report.get().profile)}</section>
        <section class="panel full"><h2>"Not measured, and why"</h2>{missing}</section>
    }
}

fn environment(profile: &crossprof::report::UnifiedProfile) -> impl IntoView + use<> {
    let metadata = &profile.metadata;
    let count = |value: Option<u64>| value.map(crossprof::format::count);
    let known = [
        ("Captured", metadata.timestamp.clone()),
        ("Platform", Some(metadata.platform.clone())),
        ("Device type", Some(metadata.device_type.clone())),
        ("Framework", Some(metadata.framework.clone())),
        ("Devices used", Some(crossprof::format::count(metadata.num_devices))),
        ("Devices visible", count(metadata.num_devices_visible)),
        ("Hosts", count(metadata.num_hosts)),
        ("Events", count(metadata.num_events)),
    ];
    let files = profile.provenance.iter().map(|file| ("File".to_owned(), file.path.clone()));
    let given = metadata.environment.iter().map(|(key, value)| (key.clone(), value.clone()));
    let known = known.into_iter().filter_map(|(key, value)| Some((key.to_owned(), value?)));
    let rows: Vec<(String, String)> = known.chain(given).chain(files).take(60).collect();
    let rows = rows
        .into_iter()
        .map(|(key, value)| view! { <dt><Name text=key width=28 /></dt><dd><Name text=value width=44 /></dd> })
        .collect_view();
    view! { <dl class="environment">{rows}</dl> }
}
