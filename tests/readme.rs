//! Checks that the commands in the README and in the task pages of docs/ work as printed, and that all links have
//! targets.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::support::cli;
use crate::support::samples::root;

/// Pages whose `crossprof` commands the tests run.
const PAGES: [&str; 8] = [
    "README.md",
    "docs/agents.md",
    "docs/capture.md",
    "docs/compare.md",
    "docs/gate.md",
    "docs/performance.md",
    "docs/read.md",
    "docs/share.md",
];

fn page(name: &str) -> String {
    std::fs::read_to_string(root().join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// Returns the lines of a page's code blocks that call crossprof.
///
/// Leaves out `view` and `mcp`, which run until they are stopped (tests/view.rs and tests/agents.rs test them), and
/// `scale`, which needs JAX (python/tests). Code blocks with a language are not shell commands.
fn commands(text: &str) -> Vec<&str> {
    let mut commands = Vec::new();
    let mut fence = None;
    for line in text.lines() {
        match (line.strip_prefix("```"), fence) {
            (Some(_), Some(_)) => fence = None,
            (Some(language), None) => fence = Some(language),
            (None, Some("")) if line.starts_with("crossprof ") => commands.push(line),
            _ => {}
        }
    }
    let runs_on = ["crossprof view ", "crossprof scale ", "crossprof mcp "];
    commands.retain(|line| !runs_on.iter().any(|start| line.starts_with(start)));
    commands
}

/// Splits a command into words. Text in double quotation marks is one word.
fn words(command: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut is_quoted = false;
    for c in command.chars() {
        match (c, words.last_mut()) {
            ('"', _) => is_quoted = !is_quoted,
            (' ', _) if !is_quoted => words.push(String::new()),
            (c, Some(word)) => word.push(c),
            (_, None) => {}
        }
    }
    words
}

/// Creates a folder with the profiles and the budget that the pages name.
fn prepared() -> PathBuf {
    let folder = cli::scratch("readme", "pages");
    let examples = root().join("www/assets/examples");
    let captures = ["profiles", "main", "new", "main-0", "main-1", "main-2", "new-0", "new-1", "new-2"];
    for capture in captures {
        let run = folder.join(capture).join("plugins/profile/2026_01_31_12_00_00");
        std::fs::create_dir_all(&run).unwrap();
        let [from, to] = ["gpu-training.trace.json.gz", "host.trace.json.gz"];
        std::fs::copy(examples.join(from), run.join(to)).unwrap();
    }
    let budget =
        page("docs/gate.md").split("```toml\n").nth(1).and_then(|rest| rest.split("```").next()).map(str::to_owned);
    std::fs::write(folder.join("budget.toml"), budget.expect("docs/gate.md has a budget")).unwrap();
    folder
}

#[test]
fn every_crossprof_command_of_the_pages_succeeds() {
    let folder = prepared();
    let mut seen = BTreeSet::new();
    for name in PAGES {
        let text = page(name);
        for command in commands(&text) {
            let words = words(command).into_iter().skip(1).map(|word| match word.as_str() {
                _ if word.starts_with("www/") => root().join(&word).display().to_string(),
                _ => word,
            });
            let output =
                Command::new(env!("CARGO_BIN_EXE_crossprof")).args(words).current_dir(&folder).output().unwrap();
            assert!(output.status.success(), "{name}: {command}\n{}", cli::stderr(&output));
            assert!(!output.stdout.is_empty(), "{name}: {command} printed nothing");
            seen.insert(command.to_owned());
        }
    }
    assert!(seen.len() >= 25, "the pages show the tool: {}", seen.len());
}

#[test]
fn the_readme_fits_on_two_screens() {
    assert!(page("README.md").lines().count() <= 120);
    let words = page("ARCHITECTURE.md").split_whitespace().count();
    assert!(words <= 1_500, "ARCHITECTURE.md has {words} words: decisions belong to docs/decisions");
}

/// Returns all Markdown files of the project's documentation, relative to the root.
fn documents() -> Vec<PathBuf> {
    let mut found = Vec::new();
    for folder in ["", "docs", "docs/decisions", "python", "tests/data", "www/assets/examples"] {
        let entries = std::fs::read_dir(root().join(folder)).unwrap().flatten();
        let names = entries.map(|entry| Path::new(folder).join(entry.file_name()));
        found.extend(names.filter(|name| name.extension().is_some_and(|extension| extension == "md")));
    }
    found
}

/// Returns the anchor that GitHub gives a heading.
fn anchor(heading: &str) -> String {
    let kept = heading.trim().to_lowercase();
    kept.chars().filter(|c| c.is_alphanumeric() || " -_".contains(*c)).map(|c| if c == ' ' { '-' } else { c }).collect()
}

#[test]
fn every_link_of_the_documents_leads_somewhere() {
    let documents = documents();
    assert!(documents.len() > 15, "{documents:?}");
    for document in documents {
        let text = std::fs::read_to_string(root().join(&document)).unwrap();
        let links = text.split("](").skip(1).filter_map(|rest| rest.split(')').next());
        for link in links.filter(|link| !link.contains("://") && !link.contains(char::is_whitespace)) {
            let (path, place) = link.split_once('#').unwrap_or((link, ""));
            let target = match path {
                "" => root().join(&document),
                path => root().join(&document).parent().unwrap().join(path),
            };
            assert!(target.exists(), "{} links to {link}", document.display());
            if !place.is_empty() && target.extension().is_some_and(|extension| extension == "md") {
                let text = std::fs::read_to_string(&target).unwrap();
                let headings = text.lines().filter(|line| line.starts_with('#'));
                let found = headings.map(|line| anchor(line.trim_start_matches('#'))).any(|anchor| anchor == place);
                assert!(found, "{} links to {link}, which has no such heading", document.display());
            }
        }
    }
}
