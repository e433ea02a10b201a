//! Fields of the unified profile that pages show: their path, and the sentence that defines them.

use base::fields::definition;
use report::UnifiedProfile;

/// A field of the unified profile. [`metric!`](crate::metric!) makes one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Metric {
    /// Path of the field, as docs/metrics.md lists it (`step_timing.avg_step_time_us`).
    pub path: &'static str,
    /// What the field means.
    pub definition: &'static str,
}

impl Metric {
    /// The field at a path. Only for constants, for which [`metric!`](crate::metric!) sees: elsewhere the definitions of all fields
    /// would become part of the program.
    ///
    /// # Panics
    /// Where the profile has no such field.
    pub const fn at(path: &'static str) -> Metric {
        Metric { path, definition: definition::<UnifiedProfile>(path).sentence }
    }
}

/// The [`Metric`] at a path. A path without a field does not compile.
#[macro_export]
macro_rules! metric {
    ($path:literal) => {
        const { $crate::metric::Metric::at($path) }
    };
}
