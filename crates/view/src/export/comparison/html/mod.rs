//! Renders a comparison as one self-contained web page; see [`crate::export::html::document`].
//!
//! ```text
//! main       summary, fairness, step time and causes, waterfall, median steps, scaling, trend: two printed pages for a pair
//! folded     numbers, ops, each run, definitions: closed, even on paper
//! profiles   the compared profiles
//! ```
//!
//! The output does not depend on the time or the place where the page is made: the same comparison
//! gives the same bytes in the browser and on the command line.

mod changes;
mod charts;
mod median_steps;
mod memory;
mod parts;
mod runs;
mod steps;
mod waterfall;

use crate::export::comparison::chosen;
use crate::export::comparison::words::{self, Judgement};
use crate::export::html::document::{self, Document};
use compare::{Comparison, DEFAULT_THRESHOLD, MOST_RUNS, ScalingSource, Subject};
use maud::{Markup, html};
use report::{Compared, UnifiedProfile};

/// Returns the report of `comparison`, which was computed from `subjects`.
pub fn html(comparison: &Comparison, subjects: &[Subject]) -> String {
    let names: Vec<&str> = comparison.runs.iter().take(MOST_RUNS).map(|run| run.name.as_str()).collect();
    let more = comparison.runs.len().saturating_sub(MOST_RUNS);
    let mut title = names.join(" and ");
    if more > 0 {
        title.push_str(&format!(" and {more} more"));
    }
    let body = html! {
        (parts::header(comparison))
        @if let Some(chosen) = chosen(comparison) { p.note { (chosen) } }
        (parts::summary(comparison))
        (folded("Is it fair?", &parts::fairness(comparison)))
        (parts::step_time(comparison, &steps::distribution(comparison, subjects)))
        (waterfall::section(comparison))
        (median_steps::section(comparison, subjects))
        @if comparison.is_of_memory_alone() { (memory::section(comparison)) }
        (charts::scaling(comparison))
        (charts::trend(comparison))
        (folded("All numbers", &parts::metrics(comparison)))
        (folded("Ops, kernels and communication", &html! {
            (changes::categories(comparison))
            (changes::ops(comparison))
            (changes::collectives(comparison))
            (changes::matching(comparison))
        }))
        @if !comparison.is_of_memory_alone() { (folded("Memory", &memory::section(comparison))) }
        (folded("Devices, findings, warnings and environment", &html! {
            (runs::devices(comparison, subjects))
            (runs::findings(comparison, subjects))
            (runs::warnings(comparison, subjects))
            (runs::environment(comparison, subjects))
        }))
        (folded("What the numbers mean", &definitions(comparison)))
    };
    document::whole(&Document {
        title: &title,
        body,
        go_on: html! {
            "Drop it on crossprof, or give it to " code { "crossprof compare" } ", to continue with the profiles in \
                it."
        },
        download: "Download the profiles (JSON)",
        profiles: profiles(comparison, subjects),
        median_steps: pictures(comparison, subjects),
    })
}

/// Renders sections that open with a click. On paper, closed ones appear only as their title.
fn folded(title: &str, sections: &Markup) -> Markup {
    html! {
        @if !sections.0.is_empty() {
            details.folded { summary { (title) } (sections) }
        }
    }
}

/// Renders the description of a number in the colour and with the symbol of the judgement.
fn judged(judgement: Judgement, said: &str) -> Markup {
    html! { span class=(judgement.class()) { (judgement.symbol()) " " (said) } }
}

/// Lists the definitions of the scored numbers.
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
                h2 { "What the numbers mean" }
                dl {
                    @for (metric, definition) in defined {
                        dt { (metric.title) " " code { (metric.metric) } }
                        dd { (definition) }
                    }
                }
            }
        }
    }
}

/// Returns the definition of a number that profiles do not contain.
fn efficiency(metric: &str) -> Option<&'static str> {
    if metric == "step_time.typical_us" {
        return Some(words::TYPICAL_STEP);
    }
    let (_, per) = metric.strip_prefix("efficiency.")?.rsplit_once('_')?;
    Some(match per {
        "joule" => "The rate over the power of all devices: rate / (watts * devices).",
        _ => "The rate over the price of all devices: 3600 * rate / (dollars an hour * devices).",
    })
}

/// Returns the profiles, each under its name in the comparison and with the options of the user, so
/// that loading the page reproduces the comparison. If there are many runs, includes only those
/// that are compared in detail.
fn profiles(comparison: &Comparison, subjects: &[Subject]) -> Vec<UnifiedProfile> {
    let given = comparison.scaling.as_ref().filter(|scaling| scaling.mode_source == ScalingSource::Given);
    let mut profiles = Vec::new();
    let detailed = comparison.detailed();
    let shown = subjects.iter().enumerate().zip(&comparison.runs).zip(0..);
    for ((index, subject), run) in shown.filter(|(_, run)| detailed.contains(run)).map(|(it, _)| it) {
        let compared = Compared {
            watts_per_device: run.watts_per_device,
            dollars_per_device_hour: run.dollars_per_device_hour,
            // The first run is the baseline by default.
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

/// Returns the picture of the median step of each profile, if it is drawn. For several captures,
/// only the first has one.
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
mod tests;
