//! Where and with what the run was captured, what could not be measured, what the numbers mean, what was lost.

use super::page::{Align, Table, escape, push};
use crate::export::text::warning_line;
use base::{Warning, format};
use report::UnifiedProfile;

/// Warnings that are listed; the profile in the page has all.
const WARNINGS: usize = 20;

/// The facts of the capture and of the model, and the files.
pub fn environment(page: &mut String, profile: &UnifiedProfile) {
    let mut table = Table::new(&[("", Align::Left), ("", Align::Name)]);
    for (key, value) in facts(profile) {
        table.row("", &[escape(&key), escape(&format::shorten(&value, 200))]);
    }
    for file in &profile.provenance {
        let size = format::bytes(file.size_bytes);
        table.row("", &["File".to_owned(), format!("{} ({size})", escape(&file.path))]);
    }
    push(page, &["<section id=\"environment\">\n<h2>Environment</h2>\n", &table.finish(), "</section>\n"]);
}

/// `(name, value)` of what a profile says of its capture and its model.
pub fn facts(profile: &UnifiedProfile) -> Vec<(String, String)> {
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

/// The numbers that the run cannot have, each with the reason.
pub fn not_measured(page: &mut String, profile: &UnifiedProfile) {
    if profile.not_measured.is_empty() {
        return;
    }
    let count = format::count(profile.not_measured.len() as u64);
    push(page, &["<section id=\"not-measured\">\n<details>\n<summary>Not measured: ", &count, "</summary>\n<dl>\n"]);
    for missing in &profile.not_measured {
        let remedy = missing.remedy.as_deref().map(|remedy| format!(" {}", escape(remedy))).unwrap_or_default();
        push(
            page,
            &["<dt><code>", &escape(&missing.field), "</code></dt><dd>", &escape(&missing.reason), &remedy, "</dd>\n"],
        );
    }
    page.push_str("</dl>\n</details>\n</section>\n");
}

/// What the headline numbers that the profile has mean.
pub fn definitions(page: &mut String, profile: &UnifiedProfile) {
    let Ok(document) = serde_json::to_value(profile) else { return };
    let mut rows = String::new();
    for (path, definition) in compare::definitions() {
        if document.pointer(&format!("/{}", path.replace('.', "/"))).is_some() {
            push(
                &mut rows,
                &["<dt><code>", &escape(path), "</code></dt><dd>", &escape(&definition.plain()), "</dd>\n"],
            );
        }
    }
    if !rows.is_empty() {
        push(
            page,
            &["<section id=\"definitions\">\n<details>\n<summary>What the numbers mean</summary>\n<dl>\n", &rows],
        );
        page.push_str("</dl>\n</details>\n</section>\n");
    }
}

/// What was lost or odd.
pub fn warnings(page: &mut String, warnings: &[Warning]) {
    if !warnings.is_empty() {
        push(page, &["<section id=\"warnings\">\n<h2>Warnings</h2>\n", &warning_list(warnings), "</section>\n"]);
    }
}

/// The first warnings as a list, and how many more there are.
pub fn warning_list(warnings: &[Warning]) -> String {
    let mut list = "<ul>\n".to_owned();
    for warning in warnings.iter().take(WARNINGS) {
        push(&mut list, &["<li>", &escape(&warning_line(warning)), "</li>\n"]);
    }
    let left = warnings.len().saturating_sub(WARNINGS);
    if left > 0 {
        push(&mut list, &["<li>and ", &format::count(left as u64), " more</li>\n"]);
    }
    list.push_str("</ul>\n");
    list
}
