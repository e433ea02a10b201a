//! Tests that need real profiles. Such tests are marked `#[ignore]` and fail without the profiles. The tests run if the
//! profiles are available. Otherwise the tests are skipped, and the summary lists the skipped tests.

use crate::cache;
use std::path::PathBuf;

/// Location of the real profiles, and whether the tests that need real profiles run.
pub(super) struct Profiles {
    folder: PathBuf,
    run: bool,
}

impl Profiles {
    /// Looks in `$CROSSPROF_TRACES`, or next to the checkout if that variable is not set. The tests look in the same
    /// places. If the profiles are required but missing, the tests still run, so that they fail.
    pub(super) fn find(required: bool) -> Profiles {
        let named = std::env::var_os("CROSSPROF_TRACES").map(PathBuf::from);
        Profiles::at(named.unwrap_or_else(|| cache::repository().join("../shared/traces")), required)
    }

    fn at(folder: PathBuf, required: bool) -> Profiles {
        let run = required || folder.is_dir();
        Profiles { folder, run }
    }

    /// Returns true if the tests with real profiles run.
    pub(super) fn run(&self) -> bool {
        self.run
    }

    /// Returns the lines about skipped tests at the end of the summary. Returns an empty text if no test was skipped.
    pub(super) fn notice(&self, skipped: &[String]) -> String {
        if skipped.is_empty() {
            return String::new();
        }
        let mut text = format!(
            "{} tests SKIPPED: no real profiles at {} (CROSSPROF_TRACES names their folder; --require-traces makes this a failure):\n",
            skipped.len(),
            self.folder.display()
        );
        skipped.iter().for_each(|name| text += &format!("    {name}\n"));
        text
    }
}

/// Extracts test names from the output of `cargo nextest list --message-format oneline` (`crate::binary test`) or `cargo
/// test -- --list` (`test: test`).
pub(super) fn names(listed: &str) -> Vec<String> {
    let lines = listed.lines().map(|line| line.trim().trim_end_matches(": test"));
    let is_name = |line: &&str| !line.is_empty() && !line.ends_with("benchmarks");
    lines.filter(is_name).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::{Profiles, names};

    #[test]
    fn tests_run_where_the_profiles_are_or_must_be() {
        let nowhere = || std::path::PathBuf::from("/nowhere/traces");
        assert!(Profiles::at(std::env::temp_dir(), false).run());
        assert!(!Profiles::at(nowhere(), false).run());
        assert!(Profiles::at(nowhere(), true).run());
    }

    #[test]
    fn skipped_tests_are_reported_by_name_and_number() {
        let profiles = Profiles::at("/nowhere/traces".into(), false);
        assert_eq!(profiles.notice(&[]), "");
        let notice = profiles.notice(&["crossprof::truths pytorch".to_owned(), "crossprof::steps gpus".to_owned()]);
        assert!(notice.starts_with("2 tests SKIPPED: no real profiles at /nowhere/traces"), "{notice}");
        assert!(notice.ends_with("    crossprof::truths pytorch\n    crossprof::steps gpus\n"), "{notice}");
    }

    #[test]
    fn names_are_read_from_both_runners() {
        assert_eq!(
            names("crossprof::truths pytorch\ncrossprof::steps gpus\n"),
            ["crossprof::truths pytorch", "crossprof::steps gpus"]
        );
        assert_eq!(
            names("real::fires: test\n\n1 test, 0 benchmarks\n\npytorch: test\n0 tests, 0 benchmarks\n"),
            ["real::fires", "pytorch"]
        );
    }
}
