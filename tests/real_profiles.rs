//! Checks that tests with real profiles do not pass if the profiles are missing. Tests with real profiles are ignored
//! by default, and fail if they are requested without the profiles.

use std::path::Path;
use std::process::{Command, Output};

use crate::support::samples::{files, root, traces};

#[test]
#[ignore = "reads real profiles"]
fn a_test_of_real_profiles() {
    assert!(traces().is_dir());
}

/// Runs a test that reads real profiles. `words` are the arguments of the test runner, and `folder` is the folder of
/// real profiles.
fn run(words: &[&str], folder: &Path) -> (Output, String) {
    let mut test = Command::new(std::env::current_exe().expect("this program"));
    test.args(["--exact", "real_profiles::a_test_of_real_profiles"]).args(words).env("CROSSPROF_TRACES", folder);
    let output = test.output().expect("it starts");
    let said = [output.stdout.as_slice(), &output.stderr].concat();
    (output, String::from_utf8_lossy(&said).into_owned())
}

#[test]
fn it_is_skipped_by_name_and_with_the_reason() {
    let (output, said) = run(&[], &root());
    assert!(output.status.success(), "{said}");
    assert!(said.contains("real_profiles::a_test_of_real_profiles ... ignored, reads real profiles"), "{said}");
}

#[test]
fn requested_tests_fail_if_the_folder_is_missing() {
    for word in ["--ignored", "--include-ignored"] {
        let (output, said) = run(&[word], Path::new("/nowhere/traces"));
        assert!(!output.status.success(), "{said}");
        assert!(said.contains("no real profiles at /nowhere/traces: set CROSSPROF_TRACES"), "{said}");
        let (output, said) = run(&[word], &root());
        assert!(output.status.success(), "{said}");
    }
}

/// Code that searches for the folder by itself could pass without the folder.
#[test]
fn only_one_function_finds_the_real_profiles() {
    let sources = ["src", "crates", "tests", "www/src"].map(|folder| files(&root().join(folder), &[".rs"])).concat();
    let mut knowing = Vec::new();
    for path in sources {
        let text = std::fs::read_to_string(&path).expect("a source");
        if text.contains(&["shared", "/traces"].concat()) {
            knowing.push(path);
        }
    }
    assert_eq!(knowing, [root().join("tests/support/samples.rs")]);
}
