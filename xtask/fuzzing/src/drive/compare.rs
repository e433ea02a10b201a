//! Compares a run with a profile of the same kind, and with itself.

use crossprof::compare::{Focus, Options, Subject, compare};
use crossprof::export::comparison;
use crossprof::{Session, UnifiedProfile, pages};

use super::{Kept, promise, reference};
use crate::Random;

/// Compares the profile with the reference and with itself, in every format of a comparison.
pub(super) fn with_others(profile: &UnifiedProfile, random: &mut Random) -> Kept {
    let mut subjects: Vec<Subject> = [profile, reference(), profile].map(|it| Subject::new(it.clone())).into();
    subjects.truncate(2 + random.below(2));
    let options = Options {
        baseline: random.below(subjects.len()),
        weak_scaling: *random.pick(&[None, Some(false), Some(true)]),
        ..Options::default()
    };
    let found = compare(&subjects, &options);
    promise::finite("a comparison", &found)?;
    promise::json("a comparison", &comparison::json(&found), true)?;
    for focus in [Focus::All, Focus::Throughput, Focus::Kernels, Focus::Timing] {
        promise::plain("the text of a comparison", &comparison::text(&found.focused(focus)))?;
    }
    promise::inert("the Markdown of a comparison", &comparison::markdown(&found))?;
    promise::finite("the page of a comparison", &pages::compare::page(&found, ""))?;
    let page = comparison::html(&found, &subjects);
    promise::inert("the page of a comparison", &page)?;
    let mut session = Session::new();
    let file = session.begin("again.html", Some(page.len() as u64));
    session.push(file, page.as_bytes());
    match session.finish(file).error {
        Some(error) => Err(format!("The written comparison cannot be read again: {error}")),
        None => promise::equal("runs of a comparison that was read again", &session.runs().len(), &subjects.len()),
    }
}
