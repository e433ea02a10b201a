//! What belongs to one run: its devices, its findings, its environment, its warnings. Read from the profiles.

use crate::export::comparison::{many, name_of};
use crate::export::html::environment::{facts, warning_list};
use crate::export::html::page::{Align, Table, begin_part, end_part, escape, push};
use crate::export::html::sections::device_table;
use base::format;
use compare::{Comparison, Subject};
use report::{FindingSeverity, UnifiedProfile};

/// Devices of one run that are listed; the profile has all.
const DEVICES: usize = 16;
/// Findings of one run that are reported.
const FINDINGS: usize = 10;

fn with_name<'a>(
    comparison: &'a Comparison,
    subjects: &'a [Subject],
) -> impl Iterator<Item = (String, &'a UnifiedProfile)> {
    subjects.iter().enumerate().map(|(index, subject)| {
        let run = u32::try_from(index).unwrap_or(u32::MAX);
        (escape(name_of(comparison, run)), &subject.profile)
    })
}

/// The used devices of each run.
pub fn devices(page: &mut String, comparison: &Comparison, subjects: &[Subject]) {
    let mut body = String::new();
    for (name, profile) in with_name(comparison, subjects) {
        let Some(devices) = profile.multi_device.as_ref().filter(|found| !found.device_stats.is_empty()) else {
            continue;
        };
        begin_part(&mut body, &name, many(comparison));
        body.push_str(&device_table(devices, DEVICES));
        end_part(&mut body, many(comparison));
    }
    if !body.is_empty() {
        push(page, &["<section id=\"devices\">\n<h2>Devices</h2>\n", &body, "</section>\n"]);
    }
}

/// What to do about each run.
pub fn findings(page: &mut String, comparison: &Comparison, subjects: &[Subject]) {
    page.push_str("<section id=\"findings\" class=\"break\">\n<h2>Findings of each run</h2>\n");
    for (name, profile) in with_name(comparison, subjects) {
        let mut fired =
            profile.findings.iter().filter(|found| found.severity != FindingSeverity::NotChecked).peekable();
        if fired.peek().is_none() {
            push(page, &["<h3>", &name, "</h3>\n<p class=\"note\">None.</p>\n"]);
            continue;
        }
        begin_part(page, &name, many(comparison));
        page.push_str("<ol>\n");
        for finding in fired.take(FINDINGS) {
            let severity = finding.severity.label();
            let title = escape(&finding.title);
            push(page, &["<li><span class=\"tag\">", severity, "</span> <strong>", &title, "</strong><br>"]);
            push(page, &[&escape(&finding.message), " ", &escape(&finding.remedy), "</li>\n"]);
        }
        page.push_str("</ol>\n");
        end_part(page, many(comparison));
    }
    page.push_str("</section>\n");
}

/// Where and with what each run was captured, and the model that it ran, where the profile knows.
pub fn environment(page: &mut String, comparison: &Comparison, subjects: &[Subject]) {
    let runs: Vec<Vec<(String, String)>> = subjects.iter().map(|subject| facts(&subject.profile)).collect();
    // Facts in the order of the first run that has them.
    let mut keys: Vec<&str> = Vec::new();
    for (key, _) in runs.iter().flatten() {
        if !keys.contains(&key.as_str()) {
            keys.push(key);
        }
    }
    let names: Vec<String> = with_name(comparison, subjects).map(|(name, _)| name).collect();
    let mut columns = vec![("", Align::Left)];
    columns.extend(names.iter().map(|name| (name.as_str(), Align::Name)));
    let mut table = Table::new(&columns);
    for key in keys {
        let mut row = vec![escape(key)];
        for run in &runs {
            let value = run.iter().find(|(found, _)| found == key);
            row.push(value.map_or_else(|| format::DASH.to_owned(), |(_, value)| escape(&format::shorten(value, 200))));
        }
        table.row("", &row);
    }
    push(page, &["<section id=\"environment\">\n<h2>Environment</h2>\n", &table.finish(), "</section>\n"]);
}

/// What limits the comparison, and what was lost in each run.
pub fn warnings(page: &mut String, comparison: &Comparison, subjects: &[Subject]) {
    let mut body = String::new();
    if !comparison.warnings.is_empty() {
        body.push_str("<ul>\n");
        for warning in &comparison.warnings {
            push(&mut body, &["<li>", &escape(warning), "</li>\n"]);
        }
        body.push_str("</ul>\n");
    }
    for (name, profile) in with_name(comparison, subjects) {
        if profile.warnings.is_empty() {
            continue;
        }
        push(&mut body, &["<h3>", &name, "</h3>\n", &warning_list(&profile.warnings)]);
    }
    if !body.is_empty() {
        push(page, &["<section id=\"warnings\">\n<h2>Warnings</h2>\n", &body, "</section>\n"]);
    }
}
