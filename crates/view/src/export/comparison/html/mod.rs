//! A comparison as one web page that stands for itself; see [`crate::export::html::document`].
//!
//! ```text
//! main       summary, fairness, scored numbers, step time, waterfall, ops, kernels, ..., each run, definitions, warnings
//! profiles   the compared profiles
//! ```
//!
//! Nothing depends on when or where the page is made: the same comparison gives the same bytes in the browser and on the command
//! line.

mod changes;
mod charts;
mod parts;
mod runs;
mod waterfall;

use crate::export::html::document::{self, Document};
use crate::export::html::page::{escape, push};
use compare::{Comparison, ScalingSource, Subject};
use report::{Compared, UnifiedProfile};

/// The report of `comparison`, which was made of `subjects`.
pub fn html(comparison: &Comparison, subjects: &[Subject]) -> String {
    let names: Vec<&str> = comparison.runs.iter().map(|run| run.name.as_str()).collect();
    let mut body = String::new();
    let page = &mut body;
    parts::header(page, comparison);
    parts::summary(page, comparison);
    parts::fairness(page, comparison);
    parts::metrics(page, comparison);
    parts::step_time(page, comparison);
    waterfall::section(page, comparison);
    charts::scaling(page, comparison);
    charts::trend(page, comparison);
    changes::categories(page, comparison);
    changes::ops(page, comparison);
    changes::collectives(page, comparison);
    changes::matching(page, comparison);
    runs::devices(page, comparison, subjects);
    runs::findings(page, comparison, subjects);
    runs::environment(page, comparison, subjects);
    definitions(page, comparison);
    runs::warnings(page, comparison, subjects);
    document::whole(&Document {
        title: &names.join(" and "),
        body: &body,
        go_on: "Drop it on crossprof, or give it to <code>crossprof compare</code>, to go on with the profiles in it.",
        download: "Download the profiles (JSON)",
        profiles: profiles(comparison, subjects),
    })
}

/// What the scored numbers mean.
fn definitions(page: &mut String, comparison: &Comparison) {
    let metrics = comparison.metrics.iter().chain(&comparison.platform_metrics);
    let mut rows = String::new();
    for metric in metrics {
        let known = compare::definitions().find(|(path, _)| *path == metric.metric);
        let text =
            known.map(|(_, definition)| definition.plain()).or_else(|| efficiency(&metric.metric).map(str::to_owned));
        if let Some(text) = text {
            let (title, path) = (escape(&metric.title), escape(&metric.metric));
            push(&mut rows, &["<dt>", &title, " <code>", &path, "</code></dt><dd>", &escape(&text), "</dd>\n"]);
        }
    }
    if !rows.is_empty() {
        push(
            page,
            &["<section id=\"definitions\">\n<h2>What the numbers mean</h2>\n<dl>\n", &rows, "</dl>\n</section>\n"],
        );
    }
}

/// What numbers mean that no profile has.
fn efficiency(metric: &str) -> Option<&'static str> {
    let (_, per) = metric.strip_prefix("efficiency.")?.rsplit_once('_')?;
    Some(match per {
        "joule" => "The rate over the power of all devices: rate / (watts * devices).",
        _ => "The rate over the price of all devices: 3600 * rate / (dollars an hour * devices).",
    })
}

/// The profiles, each by the name that it has in the comparison and with what the user said, so that dropping the page gives the
/// same one.
fn profiles(comparison: &Comparison, subjects: &[Subject]) -> Vec<UnifiedProfile> {
    let named = |(index, subject): (usize, &Subject)| {
        let mut profile = subject.profile.clone();
        if let Some(run) = comparison.runs.get(index) {
            profile.metadata.run_name = Some(run.name.clone());
            let given = comparison.scaling.as_ref().filter(|scaling| scaling.mode_source == ScalingSource::Given);
            profile.metadata.compared = Compared {
                watts_per_device: run.watts_per_device,
                dollars_per_device_hour: run.dollars_per_device_hour,
                // The first is it anyway.
                comparison_baseline: (index > 0 && index == comparison.baseline as usize).then_some(true),
                comparison_scaling: given.map(|scaling| scaling.mode.label().to_owned()),
            };
        }
        profile
    };
    subjects.iter().enumerate().map(named).collect()
}

#[cfg(test)]
mod tests;
