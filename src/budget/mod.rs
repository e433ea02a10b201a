//! Budgets: limits on the numbers of a profile, which a job can hold every run against.
//!
//! ```text
//! "step_timing.avg_step_time_us < 150 ms"
//!      │ Rule::parse            language: subject, relation, bound
//!      ▼
//!     rule ──── Catalogue ────▶ limit        the path exists, the bound is in the unit of the field
//!                                 │ judge    (run, baseline)
//!                                 ▼
//!                            LimitReport ──▶ RunReport ──▶ CheckReport ──▶ text, Markdown, JUnit, JSON
//! ```
//!
//! A rule is about fields of the unified profile, by their paths. Which there are is told by its JSON Schema, so a wrong path is a
//! mistake before any profile is read, and a right one that a run lacks is *missing*, with the profile's own reason. What is
//! judged is the profile's JSON document, as every other program would see it.

mod catalogue;
mod cursor;
#[cfg(feature = "cli")]
pub mod file;
mod junit;
mod limit;
mod lookup;
mod markdown;
mod message;
mod path;
mod report;
mod rule;
mod suggest;
mod text;
mod unit;
mod verdict;

pub use catalogue::Catalogue;
pub use cursor::RuleError;
pub use junit::to_junit;
pub use limit::{Limit, Line};
pub use markdown::to_markdown;
pub use path::{Part, Path};
pub use report::{CheckReport, Counts, LimitReport, RunName, RunReport, Status, VERSION};
pub use rule::{Bound, Relation, Rule, Subject, Term};
pub use suggest::words as similar_words;
pub use text::to_text;
pub use unit::{Dimension, Unit};
pub use verdict::{judge, margin_percent};

use serde_json::Value;

use crate::report::UnifiedProfile;

/// A profile as a rule sees it: the document that would be written.
pub struct Document {
    run: RunName,
    value: Value,
}

impl Document {
    /// That of a profile which was read from `file`.
    pub fn of(profile: &UnifiedProfile, file: &str) -> Document {
        let run_name = profile.metadata.run_name.clone().unwrap_or_else(|| file.to_owned());
        let run = RunName { run_name, file: file.to_owned() };
        // A profile holds nothing that JSON could not; without its numbers all limits would be missing.
        Document { run, value: serde_json::to_value(profile).unwrap_or_default() }
    }

    /// Its name.
    pub fn run(&self) -> &RunName {
        &self.run
    }
}

/// Holds all limits against a run and, where a limit needs one, its baseline.
pub fn check(limits: &[Limit], run: &Document, baseline: Option<&Document>) -> RunReport {
    let baseline = baseline.filter(|_| limits.iter().any(Limit::needs_baseline));
    let judged = limits.iter().map(|limit| judge(limit, &run.value, baseline.map(|it| &it.value)));
    RunReport::new(run.run.clone(), baseline.map(|it| it.run.clone()), judged.collect())
}

#[cfg(test)]
mod tests;
