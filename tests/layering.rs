//! The layers of the library (ARCHITECTURE.md, invariant 1): which module may use which.

use std::collections::BTreeMap;
use std::path::Path;

/// Every top-level module and what it may use. Data flows `input -> trace -> metrics -> report -> export`: decoders fill
/// traces (and import reports), metrics read traces and fill reports, exporters read reports.
const ALLOWED: &[(&str, &[&str])] = &[
    ("units", &[]),
    ("sort", &[]),
    ("warning", &[]),
    ("format", &[]),
    ("json", &[]),
    ("error", &["warning"]),
    ("facts", &["report"]),
    ("wire", &[]),
    ("trace", &["units", "warning"]),
    ("hlo", &["trace", "units", "wire"]),
    ("report", &["units", "warning"]),
    ("input", &["error", "report", "sort", "trace", "units", "warning", "wire"]),
    ("metrics", &["facts", "format", "hlo", "report", "sort", "trace", "units", "warning"]),
    ("analysis", &["hlo", "metrics", "report", "trace", "warning"]),
    ("insight", &["analysis", "facts", "format", "metrics", "report", "sort", "trace", "units", "warning"]),
    ("compare", &["facts", "format", "report", "sort", "units", "warning"]),
    ("table", &["format", "sort"]),
    ("tables", &["analysis", "facts", "format", "hlo", "metrics", "report", "sort", "table", "trace", "units"]),
    (
        "pages",
        &[
            "analysis", "compare", "export", "facts", "format", "metrics", "report", "sort", "table", "tables",
            "trace", "units",
        ],
    ),
    ("export", &["compare", "format", "report", "table", "tables", "warning"]),
    ("budget", &["export", "format", "json", "report", "sort", "units"]),
    (
        "session",
        &[
            "analysis", "error", "input", "insight", "json", "metrics", "pages", "report", "table", "tables", "trace",
            "warning",
        ],
    ),
];

#[test]
fn no_module_uses_what_it_must_not() {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let allowed: BTreeMap<&str, &[&str]> = ALLOWED.iter().copied().collect();
    let mut checked = 0;
    let mut wrong = Vec::new();
    for (module, file, text) in sources(&src) {
        if file.ends_with("tests.rs") || file.contains("/tests/") {
            continue;
        }
        let Some(allowed) = allowed.get(module.as_str()) else {
            assert!(matches!(module.as_str(), "lib" | "main" | "cli"), "{file}: add the module {module} to the table");
            continue;
        };
        for used in uses(&text) {
            checked += 1;
            if used != module && !allowed.contains(&used.as_str()) {
                wrong.push(format!("{file} uses crate::{used}"));
            }
        }
    }
    assert!(checked > 50, "only {checked} uses were found: is the scan broken?");
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn the_library_reads_no_clock_file_or_network() {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    for (module, file, text) in sources(&src) {
        if matches!(module.as_str(), "main" | "cli") || file.contains("tests") {
            continue;
        }
        let library = text.split("#[cfg(test)]").next().unwrap_or_default();
        for forbidden in ["std::fs", "std::net", "std::time", "std::env", "std::thread", "println!", "web_sys"] {
            let code = library.lines().filter(|line| !line.trim_start().starts_with("//"));
            assert!(!code.into_iter().any(|line| line.contains(forbidden)), "{file} uses {forbidden}");
        }
    }
}

#[test]
fn no_source_file_is_longer_than_600_lines() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    for folder in ["src", "www/src", "xtask/src", "tests"] {
        for (_, file, text) in sources(&root.join(folder)) {
            assert!(text.lines().count() <= 600, "{folder}/{file} has {} lines", text.lines().count());
        }
    }
}

/// `(top-level module, file, text)` of every source file.
fn sources(src: &Path) -> Vec<(String, String, String)> {
    let mut found = Vec::new();
    let mut folders = vec![src.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).expect("the sources are readable").flatten() {
            let path = entry.path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let file = path.strip_prefix(src).unwrap_or(&path).to_string_lossy().replace('\\', "/");
                let module = file.split('/').next().unwrap_or_default().trim_end_matches(".rs").to_owned();
                found.push((module, file, std::fs::read_to_string(&path).expect("the sources are text")));
            }
        }
    }
    found.sort();
    found
}

/// Modules named as `crate::<module>` outside comments and tests.
fn uses(text: &str) -> Vec<String> {
    let code = text.split("#[cfg(test)]").next().unwrap_or_default();
    let lines = code.lines().filter(|line| !line.trim_start().starts_with("//"));
    let mut used = Vec::new();
    for line in lines {
        for part in line.split("crate::").skip(1) {
            used.push(part.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect());
        }
    }
    used
}
