//! Findings, most important first. A word, a shape and a colour show each finding's severity. The evidence is collapsed
//! at first, and links lead to the events of the finding.

use crossprof::document::{FindingBlock, Link};
use crossprof::report::FindingSeverity;
use leptos::prelude::*;

use super::href;
use crate::components::warnings::{bounded, tied, with_whole_flags};

/// Renders the findings of a run.
pub fn findings(run: u32, findings: &[FindingBlock]) -> AnyView {
    if findings.is_empty() {
        return view! { <section class="panel nothing"><p>"There are no findings to show."</p></section> }.into_any();
    }
    let rows = findings.iter().map(|finding| row(run, finding)).collect_view();
    view! { <ol class="finding-list panel">{rows}</ol> }.into_any()
}

/// Returns the CSS class, the SVG path and the word for a severity.
fn look(severity: FindingSeverity) -> (&'static str, &'static str, &'static str) {
    match severity {
        FindingSeverity::Critical => ("bad", "M1.5 1.5h9v9h-9z", "critical"),
        FindingSeverity::Warning => ("warning", "M6 1l5.5 10H.5z", "warning"),
        FindingSeverity::NotChecked => ("unchecked", "M1.5 5h9v2h-9z", "not checked"),
        FindingSeverity::Note => ("note", "M6 1a5 5 0 1 1 0 10A5 5 0 1 1 6 1z", "note"),
    }
}

/// Renders the badge that shows a severity.
pub fn badge(severity: FindingSeverity) -> AnyView {
    let (class, shape, word) = look(severity);
    view! {
        <span class=format!("badge {class}")><svg width="10" height="10" viewBox="0 0 12 12" aria-hidden="true"><path d=shape /></svg>{word}</span>
    }
    .into_any()
}

fn row(run: u32, finding: &FindingBlock) -> AnyView {
    let FindingBlock { id, title, text, remedy, evidence, link, in_timeline, in_graph, .. } = finding;
    let has_evidence = !evidence.is_empty();
    let evidence =
        evidence.iter().map(|(name, value)| view! { <dt>{bounded(name)}</dt><dd><bdi>{bounded(value)}</bdi></dd> });
    let evidence = evidence.collect_view();
    let to = |link: &Option<Link>| {
        let link = link.as_ref()?;
        let href = href(run, Some(link))?;
        Some(view! { <a class="evidence-link" href=href>{bounded(&link.title())}</a> })
    };
    let remedy = (!remedy.is_empty()).then(|| view! { <p class="remedy">{with_whole_flags(&bounded(remedy))}</p> });
    view! {
        <li class="finding" data-rule=id.clone() data-severity=finding.severity.label()>
            <header>{badge(finding.severity)}<h2>{tied(title)}</h2>{[to(link), to(in_timeline), to(in_graph)]}</header>
            <p>{with_whole_flags(&tied(text))}</p>
            {remedy}
            {has_evidence.then(|| view! {
                <details><summary>"Numbers"</summary><dl class="environment">{evidence}</dl></details>
            })}
        </li>
    }
    .into_any()
}
