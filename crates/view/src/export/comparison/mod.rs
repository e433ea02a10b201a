//! A comparison in other shapes: one screen for people, Markdown for a pull request, JSON for programs, and a web page that stands
//! for itself. All are made from [`Comparison`]; only the web page looks into the profiles too, for what belongs to one run.

pub(crate) mod front;
mod html;
mod json;
mod markdown;
pub(crate) mod memory;
pub(crate) mod scaled;
mod text;
pub(crate) mod words;

#[cfg(test)]
pub(crate) mod example;

pub use html::html;
pub use json::{generate_schema, json, schema};
pub use markdown::markdown;
pub use text::text;

use compare::{Cause, Comparison, FairnessCheck, FairnessStatus};

/// Indices of the runs other than the baseline that are compared in detail.
fn others(comparison: &Comparison) -> impl Iterator<Item = u32> {
    let baseline = comparison.baseline;
    comparison.detailed().into_iter().filter(move |run| *run != baseline)
}

/// States how many runs are compared in detail; `None` if all are.
fn chosen(comparison: &Comparison) -> Option<String> {
    let (chosen, all) = (comparison.detailed().len(), comparison.runs.len());
    (chosen < all).then(|| {
        format!(
            "Of {all} runs {chosen} are compared in detail: the baseline, the first and the last, those at which the step time changes, and \
             outliers. The trend has all of them."
        )
    })
}

/// Whether there are too many runs to show what belongs to each unfolded.
fn many(comparison: &Comparison) -> bool {
    comparison.runs.len() > 5
}

/// Whether the answer has a cause already.
fn is_told(comparison: &Comparison, cause: &Cause) -> bool {
    comparison.summary.iter().any(|sentence| sentence.contains(&cause.text))
}

/// The name of a run.
fn name_of(comparison: &Comparison, run: u32) -> &str {
    comparison.runs.get(run as usize).map_or("", |run| run.name.as_str())
}

/// Fairness checks that are not the same, the differing ones first.
fn unfair(comparison: &Comparison) -> impl Iterator<Item = &FairnessCheck> {
    let of = |status| comparison.fairness.iter().filter(move |check| check.status == status);
    of(FairnessStatus::Differs).chain(of(FairnessStatus::Unknown))
}
