//! Checks that each rule is one record in a file with the rule's name, and that other files refer to the rule by a path
//! to that record.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use crossprof::insight::{idle_rules, rules};

fn ids() -> Vec<&'static str> {
    rules().map(|rule| rule.id).collect()
}

/// Returns the Rust files below a folder of the project, with their text.
fn sources(folder: &str) -> Vec<(PathBuf, String)> {
    let mut found = Vec::new();
    let mut folders = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join(folder)];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|it| it == "rs") {
                let text = std::fs::read_to_string(&path).unwrap();
                found.push((path, text));
            }
        }
    }
    found
}

#[test]
fn ids_are_unique() {
    let ids = ids();
    assert_eq!(ids.iter().collect::<BTreeSet<_>>().len(), ids.len());
    assert!(rules().all(|rule| !rule.title.is_empty() && !rule.title.ends_with('.')));
}

#[test]
fn every_rule_is_a_file_of_its_name() {
    let mut files = BTreeSet::new();
    for (path, text) in sources("crates/insight/src") {
        let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
        if text.contains("static RULE: Rule") {
            assert!(text.contains(&format!("id: \"{name}\"")), "{name}");
            files.insert(name);
        }
    }
    assert_eq!(files, ids().into_iter().map(str::to_owned).collect());
}

/// Ids as text are forbidden, because a text with a wrong id compiles, whereas a path to a missing record does not. Ids
/// that are also English words are skipped, because sentences contain them.
#[test]
fn rules_are_named_by_paths_to_their_records() {
    for (path, text) in sources("crates/insight/src") {
        let own = path.file_stem().unwrap().to_str().unwrap();
        for id in ids().into_iter().filter(|id| *id != own && id.contains('_')) {
            assert!(!text.contains(&format!("\"{id}\"")), "{} has \"{id}\" as a text", path.display());
        }
    }
}

/// A new rule changes only its own file and the list of rules. Any other file names the rule only if it refers to the
/// rule.
#[test]
fn a_rule_without_relations_is_named_in_two_files() {
    let files: Vec<_> = ["crates", "src", "www/src"].into_iter().flat_map(sources).collect();
    let (mut checked, mut named) = (0, Vec::new());
    for rule in rules().filter(|rule| rule.id.contains('_') && rule.causes().next().is_none()) {
        let names = files.iter().filter(|(_, text)| text.contains(rule.id));
        let names: Vec<_> = names.map(|(path, _)| path.file_name().unwrap().to_str().unwrap()).collect();
        checked += 1;
        if names.len() == 2 && names.contains(&"lib.rs") {
            named.push(rule.id);
        }
    }
    assert!(named.len() > 20, "{} of {checked}: {named:?}", named.len());
}

/// Tests on synthetic traces are in the file of the rule. Tests of rules about files, memory and the user's numbers are in
/// this folder.
#[test]
fn every_rule_is_tested() {
    let here: String = sources("tests").into_iter().map(|(_, text)| text).collect();
    for rule in rules() {
        let own = format!("{}/crates/insight/src/{}.rs", env!("CARGO_MANIFEST_DIR"), rule.id);
        let own = std::fs::read_to_string(own).unwrap();
        assert!(own.contains("#[test]") || here.contains(&format!("\"{}\"", rule.id)), "no test of {}", rule.id);
    }
}

#[test]
fn rules_about_idle_time_are_rules() {
    assert!(idle_rules::IDS.iter().all(|id| ids().contains(id)), "{:?}", idle_rules::IDS);
}
