//! Outputs of a comparison: one screen of text, Markdown for a pull request, JSON for programs, and
//! a self-contained web page. All are made from [`Comparison`]. Only the web page also reads the
//! profiles, for data of single runs.

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

/// Returns the indices of the runs other than the baseline that are compared in detail.
fn others(comparison: &Comparison) -> impl Iterator<Item = u32> {
    let baseline = comparison.baseline;
    comparison.detailed().into_iter().filter(move |run| *run != baseline)
}

/// States how many runs are compared in detail. Returns `None` if all of them are.
fn chosen(comparison: &Comparison) -> Option<String> {
    let (chosen, all) = (comparison.detailed().len(), comparison.runs.len());
    (chosen < all).then(|| {
        format!(
            "Of {all} runs {chosen} are compared in detail: the baseline, the first and the last, those at which the step time changes, and \
             outliers. The trend has all of them."
        )
    })
}

/// Returns true if there are too many runs to show the details of each unfolded.
fn many(comparison: &Comparison) -> bool {
    comparison.runs.len() > 5
}

/// Returns true if the answer already contains the cause.
fn is_told(comparison: &Comparison, cause: &Cause) -> bool {
    comparison.summary.iter().any(|sentence| sentence.contains(&cause.text))
}

/// Returns the name of a run.
fn name_of(comparison: &Comparison, run: u32) -> &str {
    comparison.runs.get(run as usize).map_or("", |run| run.name.as_str())
}

/// Returns the fairness checks that are not the same, those that differ first.
fn unfair(comparison: &Comparison) -> impl Iterator<Item = &FairnessCheck> {
    let of = |status| comparison.fairness.iter().filter(move |check| check.status == status);
    of(FairnessStatus::Differs).chain(of(FairnessStatus::Unknown))
}
