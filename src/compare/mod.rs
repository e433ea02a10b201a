//! Runs beside each other: which is faster, by how much beyond the noise, why, and whether the comparison is fair.
//!
//! ```text
//! profiles --fairness--> conditions        same, differs, unknown
//!          --scored----> metrics           ratio, winner, what spoils it
//!          --noise-----> step times        Welch's interval over the steps
//!          --waterfall-> parts of a step   deltas that add up exactly
//!          --matching--> ops, kernels      new, gone, slower, faster, more often
//!          --causes----> what explains it, largest first --summary--> sentences
//!          --scaling, trend                where device counts or an order in time call for it
//! ```
//!
//! Only unified profiles are read, never events: a loaded run, an exported profile and a report that is dropped back give
//! the same comparison. docs/comparing.md explains the method and its limits.

mod document;

pub use document::*;

use crate::report::UnifiedProfile;

/// The most runs of one comparison; a trend may have more.
pub const MOST_RUNS: usize = 16;

/// One run of a comparison.
#[derive(Clone, Debug)]
pub struct Subject {
    /// Its name; made unique by [`compare`].
    pub name: String,
    /// What was measured of it.
    pub profile: UnifiedProfile,
    /// Power of one device in watts, where the user gives it.
    pub watts_per_device: Option<f64>,
    /// Price of one device in dollars an hour, where the user gives it.
    pub dollars_per_device_hour: Option<f64>,
}

impl Subject {
    /// A run by the name that it has itself.
    pub fn new(profile: UnifiedProfile) -> Subject {
        let metadata = &profile.metadata;
        let name = metadata.run_name.clone().unwrap_or_else(|| metadata.trace_file.clone());
        Subject { name, profile, watts_per_device: None, dollars_per_device_hour: None }
    }
}

/// What the user decides.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// Index of the run that the others are compared with.
    pub baseline: usize,
    /// The work stays the same on more devices (`false`), or grows with them (`true`); told from the batch size where absent.
    pub weak_scaling: Option<bool>,
}
