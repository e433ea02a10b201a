//! The warnings of a run.

use crate::export::text::warning_line;
use base::{Warning, format};
use maud::{Markup, html};

/// Warnings that are listed; the profile in the page has all.
const WARNINGS: usize = 20;

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
