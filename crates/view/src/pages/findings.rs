//! The page of findings: what to do first, what else was seen, and which rules lacked their input.

use super::{Block, FindingBlock, Link, Page, PageQuery, table_block};
use crate::table::Filter;
use crate::tables::TableName;
use base::format;
use metrics::Context;
use report::{Finding, FindingSeverity};

/// The page.
pub fn page(context: &Context<'_>, query: &PageQuery) -> Page {
    let all = &context.analysis.profile.findings;
    let (checked, lacking): (Vec<&Finding>, Vec<&Finding>) =
        all.iter().partition(|finding| finding.severity != FindingSeverity::NotChecked);
    let table = table_block(context, TableName::Findings, "", "All findings", query);
    let filter = Filter::parse(&table.filter);
    let shown = |findings: &[&Finding]| -> Vec<FindingBlock> {
        let passes = |finding: &&&Finding| filter.passes_texts(&[&finding.id, &finding.title, &finding.message]);
        findings.iter().filter(passes).map(|finding| block(finding)).collect()
    };
    let mut blocks = Vec::new();
    if checked.is_empty() {
        let note = "No rule found anything. Rules that lacked an input are listed below: they say nothing about the run, good or bad.";
        blocks.push(Block::Note { text: note.to_owned() });
    } else {
        blocks.push(Block::Findings { findings: shown(&checked) });
    }
    if !lacking.is_empty() {
        let note = "These rules could not be checked. Each says what it lacked.".to_owned();
        blocks.push(Block::Heading { text: "Not checked".to_owned(), note: Some(note) });
        blocks.push(Block::Findings { findings: shown(&lacking) });
    }
    blocks.push(Block::Table(table));
    Page { blocks }
}

fn block(finding: &Finding) -> FindingBlock {
    let evidence = finding.evidence.iter().map(|it| {
        let limit = it.threshold.map_or(String::new(), |limit| format!(" (limit {})", format::number(limit)));
        (it.name.clone(), format!("{}{limit}", format::number(it.value)))
    });
    FindingBlock {
        id: finding.id.clone(),
        severity: finding.severity.label().to_owned(),
        title: finding.title.clone(),
        text: finding.message.clone(),
        remedy: finding.remedy.clone(),
        confidence: finding.confidence.label().to_owned(),
        evidence: evidence.collect(),
        link: finding.view.clone().map(|view| Link { view, filter: finding.filter.clone().unwrap_or_default() }),
    }
}
