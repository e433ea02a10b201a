//! Checks that the examples in docs/budgets.md and docs/gate.md are valid, and that budgets.md lists all fields of the
//! JSON.

use std::collections::BTreeSet;

use crossprof::budget::file::BudgetFile;
use crossprof::budget::{Catalogue, Limit};
use serde_json::Value;

use super::{json, two_traces};

const PAGE: &str = include_str!("../../docs/budgets.md");

const GATE: &str = include_str!("../../docs/gate.md");

/// Returns the code blocks of a page that are in a language.
fn blocks(page: &'static str, language: &str) -> Vec<&'static str> {
    let fence = format!("```{language}\n");
    page.split(fence.as_str()).skip(1).filter_map(|rest| rest.split("\n```").next()).collect()
}

#[test]
fn every_rule_of_the_page_is_one() {
    let catalogue = Catalogue::of_profile();
    let rules: Vec<&str> = blocks(PAGE, "rules").iter().flat_map(|block| block.lines()).collect();
    assert!(rules.len() >= 20, "the page shows rules");
    for rule in rules {
        Limit::parse(rule, &catalogue).unwrap_or_else(|error| panic!("{rule}: {error}"));
    }
}

#[test]
fn every_budget_of_the_page_is_one() {
    for page in [PAGE, GATE] {
        assert_eq!(blocks(page, "toml").len(), 1);
    }
    for budget in [PAGE, GATE].iter().flat_map(|page| blocks(page, "toml")) {
        let file = BudgetFile::parse(budget, &Catalogue::of_profile());
        let file = file.unwrap_or_else(|mistakes| panic!("{mistakes:#?}"));
        assert!(file.limits.len() >= 3);
    }
}

#[test]
fn the_keys_of_the_page_are_those_of_the_file() {
    // The error about an unknown key lists the known keys.
    let keys = |toml| BudgetFile::parse(toml, &Catalogue::of_profile()).unwrap_err()[0].message.clone();
    let listed = format!("{} {}", keys("zzzzzzzzzzzz = 1"), keys("[[limit]]\nzzzzzzzzzzzz = 1"));
    let known: BTreeSet<&str> =
        listed.split("The keys are ").skip(1).flat_map(|rest| rest.split('.').next().unwrap().split(", ")).collect();
    let table = PAGE.split("| key | meaning |").nth(1).unwrap().split("\n\n").next().unwrap();
    let told: BTreeSet<&str> = table
        .lines()
        .filter_map(|row| row.split('|').nth(1))
        .flat_map(|cell| cell.split('`').skip(1).step_by(2))
        .map(|key| key.trim_matches(['[', ']']))
        .collect();
    assert_eq!(told, known);
}

fn leaves(value: &Value, path: &str, found: &mut BTreeSet<String>) {
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
                leaves(value, &path, found);
            }
        }
        Value::Array(entries) => entries.iter().for_each(|entry| leaves(entry, &format!("{path}[]"), found)),
        _ => {
            found.insert(path.to_owned());
        }
    }
}

#[test]
fn every_field_of_the_json_is_described() {
    let folder = two_traces("docs");
    let budget = "[[limit]]\nname = \"n\"\nwhy = \"w\"\nrule = \"throughput.steps_per_sec > 2 * baseline\"\n";
    std::fs::write(folder.join("budget.toml"), budget).unwrap();
    let arguments = ["new.trace.json", "--budget", "budget.toml", "--baseline", "main.trace.json"];
    let (_, of_run) = json(&folder, &arguments);
    let (_, of_group) = json(&folder, &[&arguments[..], &["--baseline", "new.trace.json"]].concat());
    let mut written = BTreeSet::new();
    leaves(&of_run, "", &mut written);
    leaves(&of_group, "", &mut written);
    let described: BTreeSet<String> = PAGE
        .lines()
        .filter_map(|line| line.strip_prefix("* `"))
        .map(|entry| entry.split('`').next().unwrap().to_owned())
        .collect();
    assert_eq!(described, written);
}
