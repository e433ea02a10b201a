//! Renders one finding of a run.

use maud::{Markup, html};
use report::Finding;

/// Renders one finding of a list, without its numbers.
pub fn said(finding: &Finding) -> Markup {
    html! {
        span.tag { (finding.severity.label()) }
        " "
        strong { (finding.title) }
        br;
        (finding.message) " " (finding.remedy)
    }
}
