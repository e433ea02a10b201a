//! Which rules fire on real profiles, in the order in which they are told. What is not listed must not fire.

use crossprof::Settings;

use super::runs::{fired, session};

/// `(file, findings)`.
pub const EXPECTED: &[(&str, &[&str])] = &[];

#[test]
fn exactly_these_fire() {
    for (path, expected) in EXPECTED {
        let Some(mut session) = session(path) else { continue };
        let profile = session.report(0, &Settings::default()).unwrap();
        assert_eq!(fired(&profile), *expected, "{path}");
    }
}
