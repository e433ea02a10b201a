//! What to do about the run: every finding with its numbers, those that fired first.

use super::page::{escape, push};
use base::format;
use report::{Evidence, Finding, FindingSeverity, UnifiedProfile};

/// The findings that fired; the rules that lacked their input are folded away.
pub fn section(page: &mut String, profile: &UnifiedProfile) {
    if profile.findings.is_empty() {
        return;
    }
    let is_checked = |finding: &&Finding| finding.severity != FindingSeverity::NotChecked;
    page.push_str("<section id=\"findings\">\n<h2>What to do</h2>\n");
    if profile.findings.iter().any(|finding| is_checked(&finding)) {
        page.push_str("<ol>\n");
        profile.findings.iter().filter(is_checked).for_each(|finding| item(page, finding));
        page.push_str("</ol>\n");
    } else {
        page.push_str("<p class=\"note\">No rule fired.</p>\n");
    }
    let unchecked: Vec<&Finding> = profile.findings.iter().filter(|finding| !is_checked(finding)).collect();
    if !unchecked.is_empty() {
        let count = format::count(unchecked.len() as u64);
        push(page, &["<details>\n<summary>Not checked: ", &count, "</summary>\n<ul>\n"]);
        for finding in unchecked {
            push(page, &["<li>", &escape(&finding.title), ": ", &escape(&finding.message), "</li>\n"]);
        }
        page.push_str("</ul>\n</details>\n");
    }
    page.push_str("</section>\n");
}

fn item(page: &mut String, finding: &Finding) {
    let (severity, title) = (finding.severity.label(), escape(&finding.title));
    push(page, &["<li><span class=\"tag\">", severity, "</span> <strong>", &title, "</strong><br>\n"]);
    push(page, &[&escape(&finding.message), " ", &escape(&finding.remedy)]);
    if !finding.evidence.is_empty() {
        let numbers: Vec<String> = finding.evidence.iter().map(evidence).collect();
        push(page, &["<br><span class=\"note\">", &numbers.join(", "), "</span>"]);
    }
    page.push_str("</li>\n");
}

fn evidence(evidence: &Evidence) -> String {
    let limit = evidence.threshold.map(|limit| format!(" (limit {})", format::number(limit)));
    format!("{}: {}{}", escape(&evidence.name), format::number(evidence.value), limit.unwrap_or_default())
}
