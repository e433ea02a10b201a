//! What belongs to one run: its devices, its findings, its environment, its warnings. Read from the profiles.

use super::page::{Align, Table, begin_part, end_part, escape, push};
use crate::compare::{Comparison, Subject};
use crate::export::comparison::{many, name_of};
use crate::export::text::warning_line;
use crate::format;
use crate::report::{FindingSeverity, UnifiedProfile};

/// Devices of one run that are listed; the profile has all.
const DEVICES: usize = 16;
/// Findings of one run that are told.
const FINDINGS: usize = 10;
/// Warnings of one run that are told.
const WARNINGS: usize = 20;

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
        let mut table = Table::new(&[
            ("Device", Align::Name),
            ("Busy", Align::Right),
            ("Of its active span", Align::Right),
            ("", Align::Left),
            ("Ops", Align::Right),
            ("Longest gap", Align::Right),
        ]);
        for device in devices.device_stats.iter().take(DEVICES) {
            let share = device.utilization_percent.clamp(0.0, 100.0);
            table.row(
                "",
                &[
                    escape(&device.device_name),
                    format::time_us(device.actual_busy_time_us),
                    format::percent(device.utilization_percent),
                    format!(
                        "<svg viewBox=\"0 0 100 10\" width=\"100\" height=\"10\" aria-hidden=\"true\">\
                         <rect class=\"track\" width=\"100\" height=\"10\"/>\
                         <rect class=\"dot\" width=\"{share:.1}\" height=\"10\"/></svg>"
                    ),
                    format::count(device.kernel_count),
                    format::optional_time_us(device.gaps.as_ref().and_then(|gaps| gaps.max_gap_us)),
                ],
            );
        }
        body.push_str(&table.finish());
        let left = devices.device_stats.len().saturating_sub(DEVICES);
        if left > 0 {
            push(&mut body, &["<p class=\"note\">and ", &format::count(left as u64), " more.</p>\n"]);
        }
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

fn facts(profile: &UnifiedProfile) -> Vec<(String, String)> {
    let metadata = &profile.metadata;
    let mut facts = Vec::new();
    let mut add = |key: &str, value: String| facts.push((key.to_owned(), value));
    add("Platform", metadata.platform.clone());
    add("Device", metadata.device_type.clone());
    add("Devices", format::count(metadata.num_devices));
    add("Framework", metadata.framework.clone());
    if let Some(hosts) = metadata.num_hosts {
        add("Hosts", format::count(hosts));
    }
    if let Some(timestamp) = &metadata.timestamp {
        add("Captured", timestamp.clone());
    }
    if let Some(duration) = metadata.capture_duration_us {
        add("Length of the capture", format::time_us(duration));
    }
    add("Steps", format::count(profile.step_timing.num_steps));
    add("Steps told by", profile.step_timing.step_count_source.replace('_', " "));
    if let Some(format) = &metadata.source_format {
        add("Read from", format.replace('_', " "));
    }
    // The dimensions of the model by the names of their fields.
    if let Ok(serde_json::Value::Object(model)) = serde_json::to_value(&profile.model_config) {
        for (key, value) in &model {
            let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            add(&key.replace('_', " "), value);
        }
    }
    for (key, value) in &metadata.environment {
        add(&key.replace('_', " "), value.clone());
    }
    facts
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
        push(&mut body, &["<h3>", &name, "</h3>\n<ul>\n"]);
        for warning in profile.warnings.iter().take(WARNINGS) {
            push(&mut body, &["<li>", &escape(&warning_line(warning)), "</li>\n"]);
        }
        let left = profile.warnings.len().saturating_sub(WARNINGS);
        if left > 0 {
            push(&mut body, &["<li>and ", &format::count(left as u64), " more</li>\n"]);
        }
        body.push_str("</ul>\n");
    }
    if !body.is_empty() {
        push(page, &["<section id=\"warnings\">\n<h2>Warnings</h2>\n", &body, "</section>\n"]);
    }
}
