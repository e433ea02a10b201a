//! Lists the warnings of a run.

use crate::export::warning::warning_line;
use base::{Warning, format};
use maud::{Markup, html};

/// Largest number of warnings that are listed. The profile in the page contains all of them.
const WARNINGS: usize = 20;

/// Renders the first warnings as a list, with the number of those left out.
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
