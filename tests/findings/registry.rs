//! Rules, their source files, and their headings in the documentation.

use std::collections::BTreeSet;
use std::path::Path;

use crossprof::insight::RULES;

fn ids() -> Vec<String> {
    RULES.iter().map(|rule| rule.id.to_owned()).collect()
}

#[test]
fn ids_are_unique() {
    let ids = ids();
    assert_eq!(ids.iter().collect::<BTreeSet<_>>().len(), ids.len());
    assert!(RULES.iter().all(|rule| !rule.title.is_empty() && !rule.title.ends_with('.')));
}

#[test]
fn every_rule_is_a_file_of_its_name() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("crates/insight/src");
    let mut files = BTreeSet::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let text = std::fs::read_to_string(&path).unwrap();
        let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
        if text.contains("pub(super) const RULE: Rule") {
            assert!(text.contains(&format!("id: \"{name}\"")), "{name}");
            files.insert(name);
        }
    }
    assert_eq!(files, ids().into_iter().collect());
}

#[test]
fn every_rule_has_a_heading_in_the_order_of_the_list() {
    let text = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/findings.md")).unwrap();
    let headings: Vec<String> = text
        .lines()
        .filter_map(|line| line.strip_prefix("## "))
        .filter(|heading| !heading.contains(' '))
        .map(str::to_owned)
        .collect();
    assert_eq!(headings, ids());
}
