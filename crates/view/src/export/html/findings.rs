//! What to do about the run: every finding with its numbers, those that fired first.

use crate::evidence;
use crate::most_time::most_time;
use base::format;
use maud::{Markup, html};
use report::{Finding, FindingSeverity, UnifiedProfile};

/// The findings that fired; the rules that lacked their input are folded away.
pub fn section(profile: &UnifiedProfile) -> Markup {
    let is_checked = |finding: &&Finding| finding.severity != FindingSeverity::NotChecked;
    let (fired, unchecked): (Vec<&Finding>, Vec<&Finding>) = profile.findings.iter().partition(is_checked);
    let most_time = most_time(profile);
    html! {
        @if !profile.findings.is_empty() || most_time.is_some() {
            section id="findings" {
                h2 { "What to do" }
                @if fired.is_empty() {
                    @if !unchecked.is_empty() { p.note { "No rule fired." } }
                } @else {
                    ol { @for finding in fired { (item(finding)) } }
                }
                @if let Some(found) = most_time {
                    p { strong { (found.title) } br; (found.text) }
                }
                @if !unchecked.is_empty() {
                    details {
                        summary { "Not checked: " (format::count(unchecked.len() as u64)) }
                        ul {
                            @for finding in unchecked {
                                @let (question, why) = evidence::unchecked(finding);
                                li { (question) " " (why) }
                            }
                        }
                    }
                }
            }
        }
    }
}

/// One finding of a list, without its numbers.
pub fn said(finding: &Finding) -> Markup {
    html! {
        span.tag { (finding.severity.label()) }
        " "
        strong { (finding.title) }
        br;
        (finding.message) " " (finding.remedy)
    }
}

fn item(finding: &Finding) -> Markup {
    let lines = evidence::lines(&finding.evidence).into_iter();
    let numbers: Vec<String> = lines.map(|(label, value)| format!("{label}: {value}")).collect();
    html! {
        li {
            (said(finding))
            @if !numbers.is_empty() {
                br;
                span.note { (numbers.join(", ")) }
            }
        }
    }
}
