//! The README's commands work as they stand there.

use std::path::Path;
use std::process::Command;

/// Lines of the README's code blocks that call the command-line tool.
fn commands() -> Vec<String> {
    let readme = include_str!("../README.md");
    // `view` goes on until it is ended: tests/view.rs starts it.
    let is_tried = |line: &&str| line.starts_with("crossprof ") && !line.starts_with("crossprof view ");
    let calls = readme.lines().filter(is_tried);
    calls.map(str::to_owned).collect()
}

/// The words of a command; what stands in quotation marks is one.
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

#[test]
fn every_crossprof_command_of_the_readme_succeeds() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("readme");
    std::fs::create_dir_all(&folder).unwrap();
    let commands = commands();
    assert!(commands.len() >= 3, "the README shows the tool");
    for command in commands {
        let words = words(&command).into_iter().skip(1).map(|word| match word.as_str() {
            // Inputs are the repository's; outputs go to a folder of the test's own.
            "profile.json" | "report.html" | "summary.md" | "comparison.json" | "step.svg" => {
                folder.join(&word).display().to_string()
            }
            _ if word.starts_with("www/") => Path::new(env!("CARGO_MANIFEST_DIR")).join(&word).display().to_string(),
            _ => word,
        });
        let output = Command::new(env!("CARGO_BIN_EXE_crossprof")).args(words).output().unwrap();
        assert!(output.status.success(), "{command}\n{}", String::from_utf8_lossy(&output.stderr));
        assert!(!output.stdout.is_empty(), "{command} printed nothing");
    }
}

#[test]
fn every_file_that_the_documents_link_to_exists() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    for document in ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md"] {
        let text = std::fs::read_to_string(root.join(document)).unwrap();
        for link in text.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
            if !link.contains("://") {
                let path = link.split('#').next().unwrap_or(link);
                assert!(root.join(path).exists(), "{document} links to {link}");
            }
        }
    }
}
