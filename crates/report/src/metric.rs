//! Fields of the unified profile that pages show, with their path and definition.

use crate::UnifiedProfile;
use base::fields::definition;

/// Field of the unified profile. Created by [`metric!`](crate::metric!).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Metric {
    /// Path of the field as listed in docs/metrics.md (`step_timing.avg_step_time_us`).
    pub path: &'static str,
    /// Definition of the field.
    pub definition: &'static str,
}

impl Metric {
    /// Returns the field at a path. Call this function only in constants, as [`metric!`](crate::metric!) does.
    /// Elsewhere, the definitions of all fields would be compiled into the program.
    ///
    /// # Panics
    /// Panics if the profile has no such field.
    pub const fn at(path: &'static str) -> Metric {
        Metric { path, definition: definition::<UnifiedProfile>(path).sentence }
    }
}

/// Returns the [`Metric`] at a path. If the profile has no field at the path, the macro does not compile.
#[macro_export]
macro_rules! metric {
    ($path:literal) => {
        const { $crate::Metric::at($path) }
    };
}
