//! Budgets: limits on the numbers of a profile. A CI job can check these limits for every run.
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
//! A rule refers to fields of the unified profile by their paths. The JSON Schema defines which fields exist. A wrong
//! path is therefore reported before any profile is read. If a run lacks a correct path, the number is *missing*, and
//! the profile gives the reason. Rules are checked against the profile's JSON document, as any other program would see
//! it. A rule can also sum the ops of a step that match a pattern, and count findings that the baseline lacks. A rule
//! can also limit how much slower steps are than in the baseline, beyond the noise. The conditions of a comparison
//! (`--fail-on`) use the same words.
//!
//! A mistake in a rule is an [`expression::Error`] with its position. The reason why a number is missing is a sentence
//! (`String`), because reports only show this sentence.

#![warn(clippy::indexing_slicing, clippy::panic, clippy::unwrap_used)]

mod baseline;
mod catalogue;
mod check_report;
mod condition;
mod counting;
pub mod file;
mod glob;
mod junit;
mod limit;
mod lookup;
mod markdown;
mod measured;
mod message;
mod op_sum;
mod path;
mod rule;
mod slowdown;
mod suggest;
mod text;
mod unit;
mod verdict;

pub use baseline::Reference;
pub use catalogue::Catalogue;
pub use check_report::{CheckReport, Counts, LimitReport, RunName, RunReport, Status, VERSION};
pub use condition::{Condition, ConditionReport};
pub use glob::fits as fits_pattern;
pub use junit::to_junit;
pub use limit::{Limit, Line};
pub use markdown::to_markdown;
pub use measured::margin_percent;
pub use op_sum::{OpGroup, OpQuantity, OpSum};
pub use path::{Path, PathPart};
pub use rule::{Bound, Rule, Subject, Term};
pub use slowdown::{Slowdown, SlowdownOf};
pub use text::to_text;
pub use verdict::judge;

use serde_json::Value;

use report::{Metadata, Naming, UnifiedProfile, distinct_names};

/// A profile as rules see it: its JSON document.
pub struct Document {
    run: RunName,
    metadata: Metadata,
    value: Value,
}

/// A profile that JSON cannot represent.
#[derive(Debug, thiserror::Error)]
#[error("{run} cannot be checked, because it cannot be written as JSON: {cause}.")]
pub struct NoDocument {
    /// Name of the run.
    pub run: String,
    /// The problem.
    pub cause: serde_json::Error,
}

impl Document {
    /// Creates the document of a profile that was read from `file`.
    ///
    /// # Errors
    ///
    /// Fails if JSON cannot represent the profile. Otherwise, limits would wrongly report that the run lacks the
    /// numbers.
    pub fn of(profile: &UnifiedProfile, file: &str) -> Result<Document, NoDocument> {
        let metadata = profile.metadata.clone();
        let name = Some(metadata.name()).filter(|name| !name.is_empty()).unwrap_or(file);
        let run = RunName { run_name: name.to_owned(), file: file.to_owned() };
        let value = serde_json::to_value(profile).map_err(|cause| NoDocument { run: run.run_name.clone(), cause })?;
        Ok(Document { run, metadata, value })
    }

    /// Creates the documents of several profiles with their files. Each document gets a unique name.
    ///
    /// # Errors
    ///
    /// Fails for the same reason as [`Document::of`].
    pub fn of_all<'a>(
        profiles: impl Iterator<Item = (&'a UnifiedProfile, &'a str)>,
    ) -> Result<Vec<Document>, NoDocument> {
        let mut all = profiles
            .map(|(profile, file)| Document::of(profile, file))
            .collect::<Result<Vec<Document>, NoDocument>>()?;
        let namings = all.iter().map(|it| {
            let RunName { run_name, file } = &it.run;
            Naming { name: run_name, file: Some(file), ..it.metadata.naming() }
        });
        let names: Vec<_> = namings.collect();
        let names = distinct_names(&names);
        for (document, name) in all.iter_mut().zip(names) {
            document.run.run_name = name;
        }
        Ok(all)
    }

    /// Returns all names of the run, the best first.
    pub fn names(&self) -> [&str; 3] {
        let own = self.metadata.run_name.as_deref().unwrap_or_default();
        [&self.run.run_name, self.metadata.name(), own]
    }

    /// Returns true if `name` may refer to this run.
    pub fn is_called(&self, name: &str) -> bool {
        self.run.run_name == name || self.metadata.is_called(name)
    }

    /// Returns the name and file of the run.
    pub fn run(&self) -> &RunName {
        &self.run
    }
}

/// Checks all limits for a run. Limits that need a baseline compare the run with one baseline run, or with the median of
/// several.
pub fn check(limits: &[Limit], run: &Document, baselines: &[&Document]) -> RunReport {
    let baselines = if limits.iter().any(Limit::needs_baseline) { baselines } else { &[] };
    let values: Vec<&Value> = baselines.iter().map(|it| &it.value).collect();
    let judged = limits.iter().map(|limit| judge(limit, &run.value, &values)).collect();
    RunReport::new(run.run.clone(), baselines.iter().map(|it| it.run.clone()).collect(), judged)
}

#[cfg(test)]
mod tests;
