//! Data about each single run: devices, findings, environment and warnings. All these data come from the profiles.

use base::format;
use compare::{Comparison, Subject};
use document::html::blocks;
use document::html::parts::{Align, Table, part};
use maud::{Markup, html};
use pages::compare::name_of;
use pages::environment::facts;
use pages::sections;
use report::{Finding, FindingSeverity, UnifiedProfile};

/// Maximum number of runs for which the details of each run are expanded at first.
const UNFOLDED: usize = 5;

/// Maximum number of findings that are listed for one run.
const FINDINGS: usize = 10;

/// Returns true if there are too many runs to expand the details of each run.
fn many(comparison: &Comparison) -> bool {
    comparison.runs.len() > UNFOLDED
}

fn with_name<'a>(
    comparison: &'a Comparison,
    subjects: &'a [Subject],
) -> impl Iterator<Item = (&'a str, &'a UnifiedProfile)> {
    let detailed = comparison.detailed();
    let shown = (0..).zip(subjects).filter(move |(run, _)| detailed.contains(run));
    shown.map(|(run, subject)| (name_of(comparison, run), &subject.profile))
}

/// Renders, for each run, the devices on which ops ran.
pub(super) fn devices(comparison: &Comparison, subjects: &[Subject]) -> Markup {
    let body = html! {
        @for (name, profile) in with_name(comparison, subjects) {
            @let devices = sections::devices(profile);
            @if !devices.is_empty() { (part(name, &blocks(&devices.blocks), many(comparison))) }
        }
    };
    html! {
        @if !body.0.is_empty() {
            section id="devices" {
                h2 { "Devices" }
                (body)
            }
        }
    }
}

/// Renders the findings of each run.
pub(super) fn findings(comparison: &Comparison, subjects: &[Subject]) -> Markup {
    html! {
        section id="findings" class="break" {
            h2 { "Findings of each run" }
            @for (name, profile) in with_name(comparison, subjects) {
                (findings_of_run(name, profile, many(comparison)))
            }
        }
    }
}

fn findings_of_run(name: &str, profile: &UnifiedProfile, many: bool) -> Markup {
    let mut fired = profile.findings.iter().filter(|found| found.severity != FindingSeverity::NotChecked).peekable();
    if fired.peek().is_none() {
        return part(name, &html! { p.note { "None." } }, false);
    }
    let list = html! {
        ol {
            @for finding in fired.take(FINDINGS) {
                li { (summary_of(finding)) }
            }
        }
    };
    part(name, &list, many)
}

/// Renders a finding without its numbers.
fn summary_of(finding: &Finding) -> Markup {
    html! {
        span.tag { (finding.severity.label()) }
        " "
        strong { (finding.title) }
        br;
        (finding.message) " " (finding.remedy)
    }
}

/// Renders the environment in which each run was captured, and the model of the run, if the profile records these.
pub(super) fn environment(comparison: &Comparison, subjects: &[Subject]) -> Markup {
    let runs: Vec<Vec<(String, String)>> = with_name(comparison, subjects).map(|(_, profile)| facts(profile)).collect();
    // Facts are in the order of the first run that has them.
    let mut keys: Vec<&str> = Vec::new();
    for (key, _) in runs.iter().flatten() {
        if !keys.contains(&key.as_str()) {
            keys.push(key);
        }
    }
    let mut columns = vec![("", Align::Left)];
    columns.extend(with_name(comparison, subjects).map(|(name, _)| (name, Align::Name)));
    let mut table = Table::new(&columns);
    for key in keys {
        let mut row = vec![key.to_owned()];
        for run in &runs {
            let value = run.iter().find(|(found, _)| found == key);
            row.push(value.map_or_else(|| format::DASH.to_owned(), |(_, value)| format::shorten(value, 200)));
        }
        table.row_of(&row);
    }
    html! {
        section id="environment" {
            h2 { "Environment" }
            (table)
        }
    }
}

/// Renders each run's warnings about lost data.
pub(super) fn warnings(comparison: &Comparison, subjects: &[Subject]) -> Markup {
    let body = html! {
        @for (name, profile) in with_name(comparison, subjects) {
            @if !profile.warnings.is_empty() {
                h3 { (name) }
                (blocks(&sections::warnings(&profile.warnings).blocks))
            }
        }
    };
    html! {
        @if !body.0.is_empty() {
            section id="warnings" {
                h2 { "Warnings" }
                (body)
            }
        }
    }
}
