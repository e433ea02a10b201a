//! Checks that docs/warnings.md lists all warning codes, and that the program emits a warning with each code.

use std::collections::BTreeSet;
use std::path::Path;

use crate::support::samples;
use crossprof::{Severity, WarningCode};

const ABOUT: &str = "# Warnings

Warnings report lost or unusual data in a profile. Every report lists them (`warnings` in the JSON, `crossprof table warnings`, the
list on the overview). A warning has a code that never changes, a severity, a message, a remedy, the file, and the byte offset.

* **note**: for information only. No number is affected.
* **caution**: the file was read completely, but numbers may be misleading.
* **damage**: bytes or events were lost. The profile is partial, and the command line exits with 1.

Profiles of other programs may contain other codes, which are shown unchanged. This page is generated from
`crates/base/src/warning/code.rs`.
";

fn all() -> impl Iterator<Item = WarningCode> {
    WarningCode::GROUPS.iter().flat_map(|(_, codes)| codes.iter().copied())
}

fn page() -> String {
    let mut page = ABOUT.to_owned();
    for (title, codes) in WarningCode::GROUPS {
        page.push_str(&format!("\n## {title}\n\n| code | severity | meaning | what to do |\n|---|---|---|---|\n"));
        for code in *codes {
            let severity = match code.severity() {
                Severity::Note => "note",
                Severity::Caution => "caution",
                Severity::Damage => "damage",
            };
            page.push_str(&format!("| `{}` | {severity} | {} | {} |\n", code.label(), code.meaning(), code.remedy()));
        }
    }
    page
}

/// To update after changing the codes: `CROSSPROF_WRITE_SCHEMA=1 cargo test --test tests warnings::`.
#[test]
fn the_page_of_warnings_is_the_current_one() {
    let path = samples::root().join("docs/warnings.md");
    if std::env::var_os("CROSSPROF_WRITE_SCHEMA").is_some() {
        std::fs::write(&path, page()).unwrap();
    }
    let committed = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        committed == page(),
        "docs/warnings.md is old: CROSSPROF_WRITE_SCHEMA=1 cargo test --test tests warnings::"
    );
}

#[test]
fn codes_are_unique_and_spelled_as_their_names() {
    let mut seen = BTreeSet::new();
    for code in all() {
        assert!(seen.insert(code.label()), "{code:?}");
        assert_eq!(code.label().replace('_', ""), format!("{code:?}").to_lowercase());
        assert!(code.meaning().ends_with('.') && code.remedy().ends_with('.'), "{code:?}");
        assert!(!code.meaning().contains('|') && !code.remedy().contains('|'), "{code:?}");
    }
    assert!(seen.len() > 50, "{seen:?}");
}

/// Collects the sources of the library, the command line and the page, without tests.
fn sources(folder: &Path, found: &mut Vec<String>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap();
        if path.is_dir() {
            if !matches!(name, "tests" | "target" | "warning") {
                sources(&path, found);
            }
        } else if name.ends_with(".rs") && !name.ends_with("tests.rs") {
            let text = std::fs::read_to_string(&path).unwrap();
            found.push(text.split("#[cfg(test)]\nmod tests {").next().unwrap().to_owned());
        }
    }
}

/// The compiler prevents warnings with undeclared codes, because [`crossprof::Warning::new`] accepts no other codes.
#[test]
fn every_code_is_given_by_some_code() {
    let mut texts = Vec::new();
    for folder in ["crates", "src", "www/src"] {
        sources(&samples::root().join(folder), &mut texts);
    }
    let is_made = |code: WarningCode| {
        let name = format!("WarningCode::{code:?}");
        let ends = |rest: &str| !rest.starts_with(|next: char| next.is_alphanumeric());
        let given = |text: &String| {
            text.match_indices(&name).any(|(at, name)| {
                // A comparison with the code does not emit it.
                !text[..at].ends_with(".is(") && ends(&text[at + name.len()..])
            })
        };
        texts.iter().any(given)
    };
    let never: Vec<WarningCode> = all().filter(|code| !is_made(*code)).collect();
    assert!(never.is_empty(), "declared and never given: {never:?}");
}
