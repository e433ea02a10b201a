//! Where and with what the run was captured, what could not be measured, what the numbers mean, what was lost.

use super::page::{Align, Table};
use crate::environment::facts;
use crate::export::text::warning_line;
use base::{Warning, format, json_text};
use maud::{Markup, html};
use report::UnifiedProfile;

/// Warnings that are listed; the profile in the page has all.
const WARNINGS: usize = 20;

/// The facts of the capture and of the model, and the files.
pub fn environment(profile: &UnifiedProfile) -> Markup {
    let mut table = Table::new(&[("", Align::Left), ("", Align::Name)]);
    for (key, value) in facts(profile) {
        table.row(&[&key, &format::shorten(&value, 200)]);
    }
    for file in &profile.provenance {
        table.row(&[&"File", &format!("{} ({})", file.path, format::bytes(file.size_bytes))]);
    }
    html! {
        section id="environment" {
            h2 { "Environment" }
            (table)
        }
    }
}

/// The numbers that the run cannot have, each with the reason.
pub fn not_measured(profile: &UnifiedProfile) -> Markup {
    let missing = &profile.not_measured;
    html! {
        @if !missing.is_empty() {
            section id="not-measured" {
                details {
                    summary { "Not measured: " (format::count(missing.len() as u64)) }
                    dl {
                        @for missing in missing {
                            dt { code { (missing.field) } }
                            dd {
                                (missing.reason)
                                @if let Some(remedy) = &missing.remedy { " " (remedy) }
                            }
                        }
                    }
                }
            }
        }
    }
}

/// What the headline numbers that the profile has mean.
pub fn definitions(profile: &UnifiedProfile) -> Markup {
    // Through text: writing a profile as a tree would be all its code again.
    let document: serde_json::Value = serde_json::from_str(&json_text::compact(profile)).unwrap_or_default();
    let is_in = |path: &str| document.pointer(&format!("/{}", path.replace('.', "/"))).is_some();
    let mut found = compare::definitions().filter(|(path, _)| is_in(path)).peekable();
    html! {
        @if found.peek().is_some() {
            section id="definitions" {
                details {
                    summary { "What the numbers mean" }
                    dl {
                        @for (path, definition) in found {
                            dt { code { (path) } }
                            dd { (definition.plain()) }
                        }
                    }
                }
            }
        }
    }
}

/// What was lost or odd.
pub fn warnings(warnings: &[Warning]) -> Markup {
    html! {
        @if !warnings.is_empty() {
            section id="warnings" {
                h2 { "Warnings" }
                (warning_list(warnings))
            }
        }
    }
}

/// The first warnings as a list, and how many more there are.
pub fn warning_list(warnings: &[Warning]) -> Markup {
    let left = warnings.len().saturating_sub(WARNINGS);
    html! {
        ul {
            @for warning in warnings.iter().take(WARNINGS) {
                li { (warning_line(warning)) }
            }
            @if left > 0 {
                li { "and " (format::count(left as u64)) " more" }
            }
        }
    }
}
