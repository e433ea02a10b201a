//! Layering rules of the library that Cargo cannot enforce (ARCHITECTURE.md, invariants 1 and 2).
//!
//! The `Cargo.toml` files state which crates each crate uses. The tests in this file check that dependencies point
//! downward, and that no crate uses forbidden features.

use std::path::{Path, PathBuf};

/// The library's crates, lowest first. Each crate may use the crates before it.
const FLOORS: &[&str] = &[
    "fields-derive",
    "base",
    "expression",
    "report",
    "facts",
    "trace",
    "hlo",
    "graph",
    "reproduce",
    "memory",
    "run",
    "input",
    "metrics",
    "insight",
    "timeline",
    "compare",
    "table",
    "assessments",
    "tables",
    "document",
    "pages",
    "export",
    "budget",
];

/// Crates that only tests and the benchmark use.
const FOR_TESTS: &[&str] = &["wire-writer"];

/// Pairs of crates that may not use each other in either direction, because decoders and metrics share only traces.
const APART: &[(&str, &str)] =
    &[("metrics", "input"), ("insight", "input"), ("compare", "metrics"), ("pages", "input")];

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Returns the library's crates that the crate `name` uses, except in its tests.
fn used_by(name: &str) -> Vec<String> {
    let path = root().join("crates").join(name).join("Cargo.toml");
    let text = std::fs::read_to_string(&path).expect("every crate has a Cargo.toml");
    let dependencies = text.split("[dependencies]").nth(1).expect("every crate lists its dependencies");
    let names = dependencies.lines().take_while(|line| !line.starts_with('['));
    let names = names.filter_map(|line| line.split(['.', ' ', '=']).next());
    names.filter(|name| FLOORS.contains(name) || FOR_TESTS.contains(name)).map(str::to_owned).collect()
}

#[test]
fn every_crate_uses_lower_ones_only() {
    let folders = std::fs::read_dir(root().join("crates")).expect("the crates are readable").flatten();
    let folders = folders.filter(|folder| folder.path().is_dir());
    let mut found: Vec<String> = folders.map(|folder| folder.file_name().to_string_lossy().into_owned()).collect();
    let mut floors: Vec<String> = FLOORS.iter().chain(FOR_TESTS).map(|&name| name.to_owned()).collect();
    found.sort();
    floors.sort();
    assert_eq!(found, floors, "a crate is missing in FLOORS or FOR_TESTS, or in crates/");
    let floor = |name: &str| FLOORS.iter().position(|floor| *floor == name);
    for name in FLOORS {
        for used in used_by(name) {
            assert!(!FOR_TESTS.contains(&used.as_str()), "{name} uses {used} beyond its tests");
            assert!(floor(&used) < floor(name), "{name} uses {used}, which is not below it");
            assert!(!APART.contains(&(*name, used.as_str())), "{name} must not use {used}");
        }
    }
    assert!(used_by("pages").len() > 5, "the scan of Cargo.toml is broken");
}

#[test]
fn the_library_reads_no_clock_file_or_network() {
    let mut checked = 0;
    for file in sources(&["crates", "src"]) {
        let name = file.strip_prefix(root()).unwrap_or(&file).to_string_lossy().replace('\\', "/");
        if name == "src/main.rs" || name.starts_with("src/cli") || name.contains("tests") || name.contains("/examples/")
        {
            continue;
        }
        checked += 1;
        let text = read(&file);
        let library = text.split("#[cfg(test)]").next().unwrap_or_default();
        for forbidden in ["std::fs", "std::net", "std::time", "std::env", "std::thread", "println!", "web_sys"] {
            let code = library.lines().filter(|line| !line.trim_start().starts_with("//"));
            assert!(!code.into_iter().any(|line| line.contains(forbidden)), "{name} uses {forbidden}");
        }
    }
    assert!(checked > 300, "only {checked} files were read");
}

#[test]
fn no_source_file_is_longer_than_600_lines() {
    for file in sources(&["crates", "src", "www/src", "xtask/src", "tests"]) {
        let lines = read(&file).lines().count();
        assert!(lines <= 600, "{} has {lines} lines", file.display());
    }
}

fn read(file: &Path) -> String {
    std::fs::read_to_string(file).expect("the sources are text")
}

/// Returns every source file in these folders.
fn sources(folders: &[&str]) -> Vec<PathBuf> {
    let mut folders: Vec<PathBuf> = folders.iter().map(|folder| root().join(folder)).collect();
    let mut found = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).expect("the sources are readable").flatten() {
            let path = entry.path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

/// The page and all reports of a comparison show the same sections, so only one place may contain the words of a
/// section.
#[test]
fn each_section_of_a_comparison_is_written_once() {
    let files: Vec<String> = sources(&["crates", "src", "www/src", "python/src"])
        .iter()
        .map(|file| read(file).split("#[cfg(test)]").next().unwrap_or_default().to_owned())
        .collect();
    for title in [
        "\"Caveats\"",
        "\"Where the time differs\"",
        "\"Key numbers\"",
        "\"All scored numbers\"",
        "\"Step time and its noise\"",
        "\"Further causes of the difference\"",
        "\"Ops that differ most",
        "\"Kernels that differ most",
        "\"Time by class of op",
        "\"Communication in each run's window",
        "\"How ops were matched",
        "\"Numbers that only one platform has (not scored)\"",
        "\"Fairness: {} of {} conditions",
        "\"Scaling\"",
        "\"Ops that do not shrink as devices are added",
        "\"Forecast by Amdahl's law\"",
        "\"Step time of each run, in order\"",
    ] {
        let places: usize = files.iter().map(|text| text.matches(title).count()).sum();
        assert_eq!(places, 1, "{title} must stand in one place");
    }
}

/// Cards, checklist and tables must show the limits as the assessments format them, so that no value has two different
/// limits.
#[test]
fn limits_are_put_into_words_once() {
    for file in sources(&["crates", "src", "www/src", "python/src"]) {
        let text = read(&file);
        let code = text.split("#[cfg(test)]").next().unwrap_or_default();
        let is_there = ["\"Good above", "\"Good below"].iter().any(|words| code.contains(words));
        assert_eq!(is_there, file.ends_with("limits_in_words.rs"), "{}", file.display());
    }
}

/// The page and the Python package may use only the façade, not the crates behind it.
#[test]
fn adapters_use_the_facade() {
    const FACADE: [&str; 11] =
        ["session", "table", "document", "pages", "export", "timeline", "compare", "graph", "report", "text", "cli"];
    let mut paths = 0;
    for file in sources(&["www/src", "python/src"]) {
        let text = read(&file);
        for path in text.split("crossprof::").skip(1) {
            let end = path.find(|letter: char| !letter.is_alphanumeric() && letter != '_').unwrap_or(path.len());
            let name = &path[..end];
            let is_type = name.starts_with(char::is_uppercase) || name == "metric" || path.starts_with('{');
            assert!(is_type || FACADE.contains(&name), "{} uses crossprof::{name}", file.display());
            paths += 1;
        }
    }
    assert!(paths > 150, "only {paths} paths were found");
}
