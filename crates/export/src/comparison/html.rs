//! Renders a comparison as one self-contained web page; see [`crate::html::frame`].
//!
//! ```text
//! front      the runs, the answer, scaling, trend, parts of the step, steps of each run: two printed pages for a pair
//! folded     numbers, ops, data of each run, definitions: closed, even on paper
//! profiles   the compared profiles
//! ```
//!
//! The report has the sections of the page. The report also shows data that only the profiles contain: the duration of
//! every step, and data about each single run.
//!
//! The output does not depend on the time or the machine: the same comparison produces the same bytes in the browser
//! and on the command line.

use super::{median_steps, runs, step_charts};
use crate::html::frame::{self, Frame};
use base::format;
use compare::{ComparedRun, Comparison, DEFAULT_THRESHOLD, MOST_RUNS, ScalingSource, Subject};
use document::html::parts::{Align, Table, join};
use document::html::{folded, section};
use document::{Place, Section};
use maud::{Markup, Render, html};
use pages::compare::{sections, words};
use report::{Compared, UnifiedProfile};

/// Returns the report of `comparison`, which must have been computed from `subjects`.
pub fn html(comparison: &Comparison, subjects: &[Subject]) -> String {
    let names: Vec<&str> = comparison.runs.iter().take(MOST_RUNS).map(|run| run.name.as_str()).collect();
    let more = comparison.runs.len().saturating_sub(MOST_RUNS);
    let mut title = names.join(" and ");
    if more > 0 {
        title.push_str(&format!(" and {more} more"));
    }
    let (front, details): (Vec<Section>, Vec<Section>) =
        sections(comparison, None).into_iter().partition(|section| section.place < Place::Detail);
    let body = html! {
        (header(comparison))
        @for it in &front { (section(it)) }
        (step_charts::section(comparison, subjects))
        (median_steps::section(comparison, subjects))
        @for it in &details { (section(it)) }
        (folded("Devices, findings, warnings and environment of each run", &html! {
            (runs::devices(comparison, subjects))
            (runs::findings(comparison, subjects))
            (runs::warnings(comparison, subjects))
            (runs::environment(comparison, subjects))
        }))
        (definitions(comparison))
    };
    frame::whole(&Frame {
        title: &title,
        body,
        go_on: html! {
            "Drop this page onto crossprof, or pass it to " code { "crossprof compare" } ", to continue with the \
                profiles that it contains."
        },
        download: "Download the profiles (JSON)",
        profiles: profiles(comparison, subjects),
        median_steps: pictures(comparison, subjects),
    })
}

/// Renders the title and the runs.
fn header(comparison: &Comparison) -> Markup {
    let names: Vec<&str> = comparison.runs.iter().map(|run| run.name.as_str()).collect();
    html! {
        header {
            h1 {
                // A long list of names is not a useful title; the table below contains the names.
                @if names.len() <= 4 {
                    (join(&names, &html! { " " span.note { "and" } " " }))
                } @else {
                    (names.len()) " runs"
                }
            }
            (table_of_runs(comparison))
        }
    }
}

fn in_detail(comparison: &Comparison) -> impl Iterator<Item = (u32, &ComparedRun)> {
    let detailed = comparison.detailed();
    (0..).zip(&comparison.runs).filter(move |(run, _)| detailed.contains(run))
}

fn table_of_runs(comparison: &Comparison) -> Table {
    let mut columns = vec![
        ("Run", Align::Name),
        ("Platform", Align::Left),
        ("Device", Align::Left),
        ("Devices", Align::Right),
        ("File", Align::Name),
    ];
    let has_power = comparison.runs.iter().any(|run| run.watts_per_device.is_some());
    let has_price = comparison.runs.iter().any(|run| run.dollars_per_device_hour.is_some());
    if has_power {
        columns.push(("Power of a device", Align::Right));
    }
    if has_price {
        columns.push(("Price of a device", Align::Right));
    }
    let mut table = Table::new(&columns);
    for (index, run) in in_detail(comparison) {
        let name = html! {
            (run.name)
            @if index == comparison.baseline { " " span.tag { "baseline" } }
        };
        let count = format::count(run.devices);
        let mut row: Vec<&dyn Render> = vec![&name, &run.platform, &run.device_type, &count, &run.file];
        let (power, price) =
            (words::value(run.watts_per_device, "W"), words::value(run.dollars_per_device_hour, "$/h"));
        if has_power {
            row.push(&power);
        }
        if has_price {
            row.push(&price);
        }
        table.row(&row);
    }
    table
}

/// Lists the definitions of the compared numbers.
fn definitions(comparison: &Comparison) -> Markup {
    let metrics = comparison.metrics.iter().chain(&comparison.platform_metrics);
    let defined = metrics.filter_map(|metric| {
        let known = compare::definitions().find(|(path, _)| *path == metric.metric);
        let known = known.map(|(_, definition)| definition.plain());
        Some((metric, known.or_else(|| efficiency(&metric.metric).map(str::to_owned))?))
    });
    let mut defined = defined.peekable();
    html! {
        @if defined.peek().is_some() {
            section id="definitions" {
                (folded("What the numbers mean", &html! {
                    dl {
                        @for (metric, definition) in defined {
                            dt { (metric.title) " " code { (metric.metric) } }
                            dd { (definition) }
                        }
                    }
                }))
            }
        }
    }
}

/// Returns the definition of a number that only comparisons contain.
fn efficiency(metric: &str) -> Option<&'static str> {
    if metric == "step_time.typical_us" {
        return Some(words::TYPICAL_STEP);
    }
    let (_, per) = metric.strip_prefix("efficiency.")?.rsplit_once('_')?;
    Some(match per {
        "joule" => "The rate divided by the power of all devices: rate / (watts * devices).",
        _ => "The rate divided by the price of all devices: 3600 * rate / (dollars per hour * devices).",
    })
}

/// Returns the profiles, so that loading the page reproduces the comparison. Each profile contains the name of the run
/// in the comparison, and the user's options. If there are many runs, returns only the profiles of the runs that are
/// compared in detail.
fn profiles(comparison: &Comparison, subjects: &[Subject]) -> Vec<UnifiedProfile> {
    let given = comparison.scaling.as_ref().filter(|scaling| scaling.mode_source == ScalingSource::Given);
    let mut profiles = Vec::new();
    let detailed = comparison.detailed();
    let shown = subjects.iter().enumerate().zip(&comparison.runs).zip(0..);
    for ((index, subject), run) in shown.filter(|(_, run)| detailed.contains(run)).map(|(it, _)| it) {
        let compared = Compared {
            watts_per_device: run.watts_per_device,
            dollars_per_device_hour: run.dollars_per_device_hour,
            // By default, the first run is the baseline.
            comparison_baseline: (index > 0 && index == comparison.baseline as usize).then_some(true),
            comparison_scaling: given.map(|scaling| scaling.mode.label().to_owned()),
            comparison_group: (!subject.group.is_empty()).then(|| run.name.clone()),
            comparison_threshold: (comparison.threshold != DEFAULT_THRESHOLD).then_some(comparison.threshold),
        };
        for (place, capture) in subject.captures().iter().enumerate() {
            let mut profile = capture.clone();
            let name = run.captures.get(place).map_or(&run.name, |capture| &capture.name);
            profile.metadata.run_name = Some(name.clone());
            profile.metadata.compared = compared.clone();
            profiles.push(profile);
        }
    }
    profiles
}

/// For each profile, returns the picture of the median step if that picture is drawn. If a run has several captures,
/// only the first capture has a picture.
fn pictures(comparison: &Comparison, subjects: &[Subject]) -> Vec<Option<String>> {
    let mut pictures = Vec::new();
    let detailed = comparison.detailed();
    for (run, subject) in (0..).zip(subjects).filter(|(run, _)| detailed.contains(run)) {
        pictures.push(subject.median_step.clone().filter(|_| median_steps::is_drawn(comparison, run)));
        pictures.resize(pictures.len() + subject.captures().len().saturating_sub(1), None);
    }
    pictures
}

#[cfg(test)]
#[path = "html_tests.rs"]
mod tests;
