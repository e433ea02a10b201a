//! A run, examined: what was measured of it, the document that says so, and what was asked of it.

use crate::analysis::{Analysis, measure};
use crate::answers::Answers;
use crate::document::document;
use crate::{Run, Settings};
use report::{Finding, UnifiedProfile};
use trace::Trace;

/// What was made of a run with one set of settings. Nothing in it is changed after it is made.
#[derive(Clone, Debug)]
pub struct Examined {
    /// What was measured.
    pub analysis: Analysis,
    /// The document.
    pub profile: UnifiedProfile,
    answers: Answers,
}

/// Measures `run` and writes its document, without findings: the same for the same bytes and settings, on every machine.
pub fn analyse(run: &Run, settings: &Settings) -> Examined {
    let (analysis, rest) = measure(run, settings);
    let profile = document(run, settings, &analysis, rest);
    Examined { analysis, profile, answers: Answers::default() }
}

impl Examined {
    /// The document of the same run with what the rules say of it.
    pub fn with_findings(self, findings: Vec<Finding>) -> Examined {
        Examined { profile: UnifiedProfile { findings, ..self.profile }, ..self }
    }

    /// The result beside the run that it is of.
    pub fn context<'a>(&'a self, run: &'a Run) -> Context<'a> {
        Context { run, analysis: &self.analysis, profile: &self.profile, answers: &self.answers }
    }
}

/// A run together with what was made of it: what tables, pages and rules are made from.
#[derive(Clone, Copy, Debug)]
pub struct Context<'a> {
    /// The run.
    pub run: &'a Run,
    /// What was measured of the run.
    pub analysis: &'a Analysis,
    /// The document.
    pub profile: &'a UnifiedProfile,
    pub(crate) answers: &'a Answers,
}

impl<'a> Context<'a> {
    /// The run's events; those that an edge of the window cuts have the times that are left of them.
    pub fn trace(&self) -> &'a Trace {
        self.analysis.trace(self.run)
    }

    /// The run's events as they were captured.
    pub fn captured_trace(&self) -> &'a Trace {
        &self.run.trace
    }
}
