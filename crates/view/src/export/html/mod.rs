//! The report of one run as one web page that stands for itself, and what it shares with the report of a comparison.
//!
//! ```text
//! header, headline figures     what was profiled, how long a step takes, how busy the devices are
//! host                         threads, programs and unknown devices, where no device op ran
//! memory by line               of a device memory profile
//! findings                     what to do, with the numbers
//! steps                        each step by its parts, and the mean
//! time                         categories, ops, kernels
//! devices, communication, ...  where the run has them
//! environment, not measured, definitions, warnings
//! profile                      the profile itself: a drop goes on with it
//! ```
//!
//! Only the unified profile is read, so that an imported result has a report too, and the same profile gives the same bytes.

mod card;
pub(crate) mod document;
pub(crate) mod environment;
pub(crate) mod findings;
mod headlines;
pub(crate) mod page;
pub(crate) mod sections;
mod steps;
mod time;

#[cfg(test)]
mod tests;

pub use card::card;

use document::Document;
use maud::html;
use report::UnifiedProfile;

/// The report of the run that `profile` is of.
pub fn report(profile: &UnifiedProfile) -> String {
    let body = html! {
        (headlines::section(profile))
        (sections::host(profile))
        (sections::live_memory(profile))
        (findings::section(profile))
        (steps::section(profile))
        (time::section(profile))
        (sections::devices(profile))
        (sections::communication(profile))
        (sections::transfers(profile))
        (sections::gaps(profile))
        (environment::environment(profile))
        (environment::not_measured(profile))
        (environment::definitions(profile))
        (environment::warnings(&profile.warnings))
    };
    document::whole(&Document {
        title: &profile.metadata.full_name(),
        body,
        go_on: html! {
            "Drop it on crossprof, or give it to " code { "crossprof" } " as a file, to go on with the profile in it."
        },
        download: "Download the profile (JSON)",
        profiles: vec![profile.copied()],
        median_steps: Vec::new(),
    })
}
