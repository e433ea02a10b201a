//! Combines a run with its measurements, its report and cached values.

use crate::analysis::{Analysis, measure};
use crate::common::cache::Cache;
use crate::profile::document::document;
use report::{Finding, UnifiedProfile};
use run::{Run, Settings};
use trace::Trace;

/// Measurements and report of a run with one set of settings. Immutable.
#[derive(Clone, Debug)]
pub struct Examined {
    /// The measurements.
    pub analysis: Analysis,
    /// The report.
    pub profile: UnifiedProfile,
    cache: Cache,
}

/// Measures `run` and builds its report, without findings. The same bytes and settings give the same result on every
/// machine.
pub fn analyse(run: &Run, settings: &Settings) -> Examined {
    let (analysis, rest) = measure(run, settings);
    let profile = document(run, settings, &analysis, rest);
    Examined { analysis, profile, cache: Cache::default() }
}

impl Examined {
    /// Adds findings to the report.
    pub fn with_findings(self, findings: Vec<Finding>) -> Examined {
        Examined { profile: UnifiedProfile { findings, ..self.profile }, ..self }
    }

    /// Combines the results with `run`, which must be the run that was measured.
    pub fn context<'a>(&'a self, run: &'a Run) -> Context<'a> {
        Context { run, analysis: &self.analysis, profile: &self.profile, cache: &self.cache }
    }
}

/// A run with its measurements, its report and cached values. Tables, pages and rules read a `Context`.
#[derive(Clone, Copy, Debug)]
pub struct Context<'a> {
    /// The run.
    pub run: &'a Run,
    /// Measurements of the run.
    pub analysis: &'a Analysis,
    /// The report.
    pub profile: &'a UnifiedProfile,
    pub(crate) cache: &'a Cache,
}

impl<'a> Context<'a> {
    /// Returns the run's events. Events that cross an edge of the window are cut at this edge.
    pub fn trace(&self) -> &'a Trace {
        self.analysis.trace(self.run)
    }

    /// Returns the run's events as they were captured.
    pub fn captured_trace(&self) -> &'a Trace {
        &self.run.trace
    }
}
