//! docs/findings.md defines every rule. The test in this file makes the document from
//! `crates/insight/docs/introduction.md`, and from the doc comment and the record of each rule.
//!
//! The introduction contains marks such as `<!-- needs -->`. Each mark names a field of the rules' records. A table of
//! that field replaces the mark.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use crossprof::insight::{CHAPTERS, Needs, Rule, rules};

/// Returns the folder of the crate that contains the rules.
fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("crates/insight")
}

/// Returns the doc comment at the beginning of a rule's file, without the comment marks.
fn doc_of(rule: &Rule) -> String {
    let text = std::fs::read_to_string(folder().join(format!("src/{}.rs", rule.id))).unwrap();
    let lines = text.lines().map_while(|line| line.strip_prefix("//!"));
    lines.map(|line| format!("{}\n", line.strip_prefix(' ').unwrap_or(line))).collect()
}

/// Returns the names of rules as a list: `` `a`, `b` or `c` ``.
fn names<'a>(rules: impl Iterator<Item = &'a Rule>, last: &str) -> String {
    let names: Vec<String> = rules.map(|rule| format!("`{}`", rule.id)).collect();
    match names.split_last() {
        Some((end, first)) if !first.is_empty() => format!("{} {last} {end}", first.join(", ")),
        _ => names.concat(),
    }
}

/// Returns the rules whose lost time includes the lost time of `part`.
fn wholes(part: &'static Rule) -> impl Iterator<Item = &'static Rule> {
    rules().filter(move |whole| whole.parts.contains(&part))
}

/// Returns the sentences that the record of a rule implies. Returns an empty text if the record implies none.
fn relations(rule: &'static Rule) -> String {
    let cut = "[captures that were cut](#captures-that-were-cut)";
    let needs = match rule.needs {
        Needs::Any => String::new(),
        Needs::AllOps => format!("The rule is skipped if ops were not recorded ({cut})."),
        Needs::AllLines => {
            format!("The rule is skipped if events are missing anywhere, or ops were not recorded ({cut}).")
        }
        Needs::Whole => format!("The rule is skipped after any cut ({cut})."),
    };
    let causes = names(rule.causes(), "or");
    let wholes = names(wholes(rule), "or");
    let sentences = [
        needs,
        if causes.is_empty() { causes } else { format!("The finding is omitted if {causes} explains it.") },
        if wholes.is_empty() {
            wholes
        } else {
            format!("The finding is merged into {wholes} if it explains less than half of the loss there.")
        },
    ];
    sentences.into_iter().filter(|it| !it.is_empty()).collect::<Vec<_>>().join(" ")
}

/// Returns the documentation's table for one field of the rule records.
fn table(field: &str) -> String {
    let row = |cells: [String; 2]| format!("| {} | {} |\n", cells[0], cells[1]);
    let (head, rows): ([&str; 2], Vec<[String; 2]>) = match field {
        "needs" => {
            let of = |needs: Needs| names(rules().filter(|rule| rule.needs == needs), "and");
            let kinds = [
                ("after any cut", Needs::Whole),
                ("if events are missing anywhere, or ops were not recorded", Needs::AllLines),
                ("if ops were not recorded", Needs::AllOps),
            ];
            (["", "skipped"], kinds.map(|(when, needs)| [when.to_owned(), of(needs)]).into())
        }
        "explained_by" => {
            let symptoms = rules().filter(|rule| rule.causes().next().is_some());
            let rows = symptoms.map(|rule| [names([rule].into_iter(), ""), names(rule.causes(), "and")]);
            (["omitted", "if these explain it"], rows.collect())
        }
        "parts" => {
            let parts = rules().filter(|rule| wholes(rule).next().is_some());
            let rows = parts.map(|it| [names([it].into_iter(), ""), names(wholes(it), "and")]);
            (["part", "whole"], rows.collect())
        }
        "of_all_steps" => {
            let parts = rules().flat_map(|rule| rule.of_all_steps);
            let rows = parts.map(|(part, rules)| [part.title().to_owned(), names(rules.iter().copied(), "and")]);
            (["part that grows", "rules about it"], rows.collect())
        }
        other => panic!("no table for the field {other}"),
    };
    let rule = row([(); 2].map(|()| "---".to_owned())).replace(' ', "");
    format!("{}{rule}{}", row(head.map(str::to_owned)), rows.into_iter().map(row).collect::<String>())
}

/// Returns the document.
fn document() -> String {
    let introduction = std::fs::read_to_string(folder().join("docs/introduction.md")).unwrap();
    let mut fields = BTreeSet::from(["needs", "explained_by", "parts", "of_all_steps"]);
    let mut text = String::new();
    for line in introduction.lines() {
        match line.strip_prefix("<!-- ").and_then(|line| line.strip_suffix(" -->")) {
            Some(field) => {
                assert!(fields.remove(field), "the introduction has the mark {field} twice");
                text.push_str(&table(field));
            }
            None => text.push_str(&format!("{line}\n")),
        }
    }
    assert!(fields.is_empty(), "not in the introduction: {fields:?}");
    for chapter in CHAPTERS {
        text.push_str(&format!("\n# {}\n", chapter.title));
        for rule in chapter.rules {
            let relations = relations(rule);
            let relations = if relations.is_empty() { relations } else { format!("\n{relations}\n") };
            text.push_str(&format!("\n## {}\n{}{relations}", rule.id, doc_of(rule)));
        }
    }
    text
}

/// To update the document after changing a rule: `CROSSPROF_WRITE_SCHEMA=1 cargo test --test tests findings::document`.
#[test]
fn the_document_has_the_text_of_every_rule() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/findings.md");
    let current = document();
    if std::env::var_os("CROSSPROF_WRITE_SCHEMA").is_some() {
        std::fs::write(path, &current).unwrap();
        return;
    }
    assert!(
        std::fs::read_to_string(path).unwrap() == current,
        "docs/findings.md is old: CROSSPROF_WRITE_SCHEMA=1 cargo test --test tests findings::document"
    );
    assert!(current.contains("## data_loading\nDevices wait for the input pipeline.\n"), "texts are missing");
    assert!(current.contains("\n| `host_overhead` | `many_small_kernels`"), "tables are missing");
}

/// The text of each rule has a line that names the finding, and then the formula, the limits and the remedy.
#[test]
fn every_rule_has_a_summary_and_a_text() {
    for rule in rules() {
        let doc = doc_of(rule);
        let mut paragraphs = doc.split("\n\n");
        let (summary, text) = (paragraphs.next().unwrap(), paragraphs.next().unwrap_or_default());
        assert!(summary.lines().count() == 1 && summary.trim_end().ends_with('.'), "{}: {summary}", rule.id);
        assert!(text.len() > 40, "{}: {text}", rule.id);
    }
}
