//! A comparison as one web page that stands for itself: no script, style, font or image from elsewhere, readable without its own
//! script, in print, and with a light or a dark background.
//!
//! ```text
//! head       what it is (told when it is dropped back), Content-Security-Policy, style
//! main       summary, fairness, scored numbers, step time, waterfall, ops, kernels, ..., each run, definitions, warnings
//! profiles   the compared profiles as JSON, with every "<" escaped: read by a drop, saved by the button
//! script     of the button only
//! ```
//!
//! Nothing depends on when or where the page is made: the same comparison gives the same bytes in the browser and on the command
//! line. Texts of a trace pass [`page::escape`], and the policy lets nothing run but the one script whose hash it names.

mod changes;
mod charts;
mod page;
mod parts;
mod runs;
mod waterfall;

use super::definitions::definition;
use crate::compare::{Comparison, Subject};
use page::{escape, push};

/// The page's style sheet.
const STYLE: &str = include_str!("report.css");
/// What the button does.
const SCRIPT: &str = include_str!("download.js");
/// What may run and what may style, by the hash of its text (a test holds them equal). Nothing is fetched.
const POLICY: &str = "default-src 'none'; base-uri 'none'; form-action 'none'; \
    style-src 'sha256-//bMtytdBHiq6Be6SAmBCUrux3CRTANfBOXEQfyqPlw='; \
    script-src 'sha256-HzuAAQqYtAKGbtVfkm3u67P5h1t1rmtTiCa7/vM0HWk='";

/// The report of `comparison`, which was made of `subjects`.
pub fn html(comparison: &Comparison, subjects: &[Subject]) -> String {
    let names: Vec<&str> = comparison.runs.iter().map(|run| run.name.as_str()).collect();
    let title = escape(&names.join(" and "));
    let version = env!("CARGO_PKG_VERSION");
    let mut page = format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"crossprof-report\" content=\"1\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"{POLICY}\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"generator\" content=\"crossprof {version}\">\n\
         <title>{title}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n<main>\n"
    );
    parts::header(&mut page, comparison);
    parts::summary(&mut page, comparison);
    parts::fairness(&mut page, comparison);
    parts::metrics(&mut page, comparison);
    parts::step_time(&mut page, comparison);
    waterfall::section(&mut page, comparison);
    charts::scaling(&mut page, comparison);
    charts::trend(&mut page, comparison);
    changes::categories(&mut page, comparison);
    changes::ops(&mut page, comparison);
    changes::collectives(&mut page, comparison);
    changes::matching(&mut page, comparison);
    runs::devices(&mut page, comparison, subjects);
    runs::findings(&mut page, comparison, subjects);
    runs::environment(&mut page, comparison, subjects);
    definitions(&mut page, comparison);
    runs::warnings(&mut page, comparison, subjects);
    push(
        &mut page,
        &[
            "<footer>\n<p>Made by crossprof ",
            version,
            ". This page fetches nothing. Drop it on crossprof, or give it to <code>crossprof compare</code>, to go on with the \
             profiles in it. <button id=\"crossprof-download\" type=\"button\" hidden>Download the profiles (JSON)</button></p>\n\
             </footer>\n</main>\n",
        ],
    );
    profiles(&mut page, comparison, subjects);
    push(&mut page, &["<script>", SCRIPT, "</script>\n</body>\n</html>\n"]);
    page
}

/// What the scored numbers mean.
fn definitions(page: &mut String, comparison: &Comparison) {
    let metrics = comparison.metrics.iter().chain(&comparison.platform_metrics);
    let mut rows = String::new();
    for metric in metrics {
        if let Some(text) = definition(&metric.metric).or_else(|| efficiency(&metric.metric)) {
            let (title, path) = (escape(&metric.title), escape(&metric.metric));
            push(&mut rows, &["<dt>", &title, " <code>", &path, "</code></dt><dd>", &escape(text), "</dd>\n"]);
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

/// The profiles as a JSON list, each by the name that it has in the comparison and with what the user said, so that dropping the page
/// gives the same one.
fn profiles(page: &mut String, comparison: &Comparison, subjects: &[Subject]) {
    page.push_str("<script type=\"application/json\" id=\"crossprof-profiles\">[");
    for (index, subject) in subjects.iter().enumerate() {
        let mut profile = subject.profile.clone();
        if let Some(run) = comparison.runs.get(index) {
            let metadata = &mut profile.metadata;
            metadata.run_name = Some(run.name.clone());
            metadata.watts_per_device = run.watts_per_device;
            metadata.dollars_per_device_hour = run.dollars_per_device_hour;
            // The first is it anyway.
            metadata.comparison_baseline = (index > 0 && index == comparison.baseline as usize).then_some(true);
            let given = comparison.scaling.as_ref().filter(|scaling| scaling.mode_source == "given");
            metadata.comparison_scaling = given.map(|scaling| scaling.mode.clone());
        }
        // Only a map with keys that are not strings could fail here, and there is none.
        let json = serde_json::to_string(&profile).unwrap_or_default();
        push(page, &[if index > 0 { ",\n" } else { "\n" }, &json.replace('<', "\\u003c")]);
    }
    page.push_str("\n]</script>\n");
}

#[cfg(test)]
mod tests;
