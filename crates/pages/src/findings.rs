//! Findings page: first recommended actions, then other observations. Below these, a fold lists the rules that lacked
//! their input.

use crate::category::link_of_category;
use crate::most_time::{self, MostTime};
use crate::program_graph::link_of_filter;
use crate::timeline::{link_to_events, link_to_time_of};
use crate::{PageQuery, Source, evidence};
use base::format;
use document::{Block, Choice, Fact, Facts, FindingBlock, Link, TableBlock};
use report::{Finding, FindingSeverity, View};
use table::Filter;
use tables::TableName;

/// Number of findings on the overview.
const FIRST: usize = 3;
/// Devices are mostly busy if they are busy for more than this share of the time.
const MOSTLY: f64 = 0.5;
/// A warning about less than this percentage of the time is treated as minor (our limit).
const SMALL_PERCENT: f64 = 20.0;
/// Option for the form of the findings.
const FORM: &str = "form";
const FORMS: [(&str, &str); 2] = [("cards", "Cards"), ("table", "Table")];

pub(super) fn blocks(source: Source<'_>, query: &PageQuery) -> Vec<Block> {
    let table = source.table(TableName::Findings, "Findings", query);
    let chosen = query.chosen(FORM, &FORMS.map(|(form, _)| form));
    let choice = table.is_some().then(|| {
        Block::Choice(Choice {
            option: FORM.to_owned(),
            label: "Show as".to_owned(),
            values: FORMS.map(|(form, name)| (form.to_owned(), name.to_owned())).to_vec(),
            chosen: chosen.to_owned(),
        })
    });
    match table {
        Some(table) if chosen == "table" => {
            let most_time = most_time(source).map(|it| Block::Findings { findings: vec![it] });
            choice.into_iter().chain([Block::Table(table)]).chain(most_time).collect()
        }
        table => choice.into_iter().chain(cards(source, table.as_ref())).collect(),
    }
}

/// Returns the findings, then the rules that could not be checked. The filter of the table form applies to both lists.
fn cards(source: Source<'_>, table: Option<&TableBlock>) -> Vec<Block> {
    let (checked, lacking): (Vec<&Finding>, Vec<&Finding>) = source.profile().findings.iter().partition(is_checked);
    let filter = Filter::parse(table.map_or("", |table| &table.filter));
    let passes = |finding: &&&Finding| filter.passes_texts(&[&finding.id, &finding.title, &finding.message]);
    let is_shown = |it: &FindingBlock| filter.passes_texts(&[&it.id, &it.title, &it.text]);
    let found = with_most_time(source, checked.iter().copied());
    let found: Vec<FindingBlock> = found.into_iter().filter(is_shown).collect();
    let mut blocks = Vec::new();
    if checked.is_empty() && source.context().is_none() && lacking.is_empty() {
        blocks.push(source.not_measured("findings"));
    } else if checked.is_empty() {
        let note = "No rule found a problem. Rules that could not be checked are listed below.";
        blocks.push(Block::Note { text: note.to_owned() });
    }
    if !found.is_empty() {
        blocks.push(Block::Findings { findings: found });
    }
    if !lacking.is_empty() {
        blocks.push(not_checked(lacking.iter().filter(passes).copied()));
    }
    blocks
}

/// Folds the rules that lacked their input, each with the missing data.
fn not_checked<'a>(lacking: impl Iterator<Item = &'a Finding>) -> Block {
    let fact = |finding: &Finding| {
        let (label, why) = evidence::unchecked(finding);
        Fact { label, value: format!("{why} {}", finding.remedy).trim_end().to_owned(), ..Fact::default() }
    };
    let facts: Vec<Fact> = lacking.map(fact).collect();
    Block::Fold {
        title: format!("Not checked: {}", format::count(facts.len() as u64)),
        blocks: vec![Block::Facts(Facts { title: String::new(), facts })],
    }
}

/// Returns all findings, the categories that take most of the time, and the rules that lacked their input, for reports.
pub(super) fn all(source: Source<'_>) -> Vec<Block> {
    let (checked, lacking): (Vec<&Finding>, Vec<&Finding>) = source.profile().findings.iter().partition(is_checked);
    let mut blocks = Vec::new();
    if checked.is_empty() && !lacking.is_empty() {
        blocks.push(Block::Note { text: "No rule fired.".to_owned() });
    }
    blocks.push(Block::Findings { findings: with_most_time(source, checked.into_iter()) });
    blocks.extend((!lacking.is_empty()).then(|| not_checked(lacking.into_iter())));
    blocks
}

/// Returns the first findings, and the categories that take most of the time, for the overview.
pub(super) fn first(source: Source<'_>) -> Vec<FindingBlock> {
    let all = || source.profile().findings.iter().filter(is_checked);
    let has_actions = all().any(|finding| !is_aside(finding));
    with_most_time(source, all().filter(|finding| !has_actions || !is_aside(finding)).take(FIRST))
}

/// Returns true if a finding names no time to save.
fn is_aside(finding: &Finding) -> bool {
    finding.severity == FindingSeverity::Note && finding.time_at_stake_percent.is_none()
}

/// Returns the findings in their order, and an entry for the categories that take most of the time. If devices are
/// mostly busy, the entry comes before notes, because improving the ops helps most. If the entry names source lines, it
/// also comes before minor warnings. If devices are not mostly busy, the entry comes last.
fn with_most_time<'a>(source: Source<'_>, findings: impl Iterator<Item = &'a Finding>) -> Vec<FindingBlock> {
    let breakdown = source.profile().step_breakdown.as_ref();
    let are_busy = breakdown.is_some_and(|it| it.device_busy_us > MOSTLY * it.duration_us);
    let most_time = most_time::most_time(source.profile());
    let names_lines = most_time.as_ref().is_some_and(|it| it.percent > 0.0);
    let is_small = |finding: &Finding| match finding.severity {
        FindingSeverity::Warning => {
            names_lines && finding.time_at_stake_percent.is_some_and(|stake| stake < SMALL_PERCENT)
        }
        severity => severity == FindingSeverity::Note,
    };
    let findings: Vec<&Finding> = findings.collect();
    let place = findings.iter().position(|finding| are_busy && is_small(finding)).unwrap_or(findings.len());
    let mut blocks: Vec<FindingBlock> = findings.into_iter().map(|finding| block(source, finding)).collect();
    blocks.splice(place..place, most_time.map(|found| block_of_most_time(source, found)));
    blocks
}

/// Returns the entry for the categories that take most of the time, shown with the findings.
fn most_time(source: Source<'_>) -> Option<FindingBlock> {
    most_time::most_time(source.profile()).map(|found| block_of_most_time(source, found))
}

fn block_of_most_time(source: Source<'_>, found: MostTime) -> FindingBlock {
    FindingBlock {
        id: "most_expensive".to_owned(),
        severity: FindingSeverity::Note,
        title: found.title,
        text: found.text,
        remedy: String::new(),
        is_aside: false,
        evidence: Vec::new(),
        link: link_of_category(source, &found.category),
        in_timeline: None,
        in_graph: None,
    }
}

fn is_checked(finding: &&Finding) -> bool {
    finding.severity != FindingSeverity::NotChecked
}

fn block(source: Source<'_>, finding: &Finding) -> FindingBlock {
    let about = [("Confidence", finding.confidence.label()), ("Rule", finding.id.as_str())];
    let about = about.into_iter().filter(|_| !finding.evidence.is_empty());
    let about = about.map(|(label, value)| (label.to_owned(), value.to_owned()));
    let link = finding.view.map(|view| Link::to(view, finding.filter.as_deref().unwrap_or_default()));
    FindingBlock {
        id: finding.id.clone(),
        severity: finding.severity,
        title: finding.title.clone(),
        text: format!("{}{}", finding.message, stake(source, finding)),
        remedy: finding.remedy.clone(),
        is_aside: is_aside(finding),
        evidence: evidence::lines(&finding.evidence).into_iter().chain(about).collect(),
        in_timeline: source
            .context()
            .and_then(|context| link_to_time_of(finding, &context).or_else(|| link_to_events(link.as_ref()?))),
        in_graph: source.context().zip(link.as_ref()).and_then(|(it, link)| link_of_filter(&it, &link.filter)),
        link,
    }
}

/// Minimum share of a step, in percent, for which a finding states its impact as a time. A smaller share does not
/// change what to do first.
const STATED_PERCENT: f64 = 1.0;

/// Returns a sentence with the most time per step that a finding about ops can cost. Empty for other findings, which
/// already state times, and if the time is unknown or small.
fn stake(source: Source<'_>, finding: &Finding) -> String {
    let percent = finding.time_at_stake_percent.filter(|&percent| percent >= STATED_PERCENT);
    let step_us = source.profile().step_timing.avg_step_time_us.filter(|&time| time > 0.0);
    let is_about_ops =
        matches!(finding.view, Some(View::Ops | View::Kernels)) && !finding.message.contains(" of each ");
    match percent.zip(step_us).filter(|_| is_about_ops) {
        Some((percent, step)) => {
            let most = format::time_us(step * percent / 100.0);
            format!(" This costs at most {most} of each {} step.", format::time_us(step))
        }
        None => String::new(),
    }
}
