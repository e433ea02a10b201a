//! `crossprof analyze`: the report of every run.

use std::mem::ManuallyDrop;

use crossprof::report::FindingSeverity;
use crossprof::{Session, Settings, Severity, UnifiedProfile, export};

use super::args::{Analyze, Inputs, ReportFormat};
use super::load::{self, Loaded};
use super::{DAMAGED, FAILED, FOUND, READ, complain, print_result};

/// Reads, reports, and returns the exit status.
pub fn run(command: &Analyze) -> u8 {
    let reports = match reports(&command.inputs) {
        Ok(reports) => reports,
        Err(message) => {
            complain(&message);
            return FAILED;
        }
    };
    if reports.profiles.is_empty() {
        return FAILED;
    }
    let json = match reports.profiles.as_slice() {
        [only] => export::json::profile(only),
        several => export::json::profiles(several),
    };
    let mut status = reports.status();
    if let Some(path) = &command.output_json
        && let Err(error) = std::fs::write(path, &json)
    {
        complain(&format!("{}: cannot be written: {error}", path.display()));
        status = FAILED;
    }
    match command.format {
        ReportFormat::Json => {
            print_result(&json);
            reports.print_warnings();
        }
        ReportFormat::Text => {
            let texts: Vec<String> = reports.profiles.iter().map(export::text::report).collect();
            print_result(&texts.join("\n"));
        }
    }
    match command.fail_on {
        Some(limit) if status != FAILED && reports.fires(limit.least()) => FOUND,
        _ => status,
    }
}

/// The reports of all runs of a call.
pub struct Reports {
    /// One a run.
    pub profiles: Vec<UnifiedProfile>,
    /// What they were made from. It ends with the process: giving millions of events back before that only takes time.
    pub session: ManuallyDrop<Session>,
    /// What the user gave.
    pub settings: Settings,
    /// A named file was no profile.
    failed: bool,
}

impl Reports {
    /// The exit status that the reports call for.
    pub fn status(&self) -> u8 {
        let damaged = |profile: &UnifiedProfile| profile.warnings.iter().any(|w| w.severity == Severity::Damage);
        match (self.failed, self.profiles.iter().any(damaged)) {
            (true, _) => FAILED,
            (false, true) => DAMAGED,
            (false, false) => READ,
        }
    }

    /// Whether a finding of this severity, or a worse one, fires.
    fn fires(&self, least: FindingSeverity) -> bool {
        self.profiles.iter().flat_map(|profile| &profile.findings).any(|finding| finding.severity >= least)
    }

    /// Warnings for formats that have no place for them. Runs of one file have those of the file in common: they are said once.
    pub fn print_warnings(&self) {
        let warnings: Vec<_> = self.profiles.iter().flat_map(|profile| &profile.warnings).collect();
        for (index, warning) in warnings.iter().enumerate() {
            if !warnings.iter().take(index).any(|said| said == warning) {
                complain(&export::text::warning_line(warning));
            }
        }
    }
}

/// Loads the inputs and analyses every run.
pub fn reports(inputs: &Inputs) -> Result<Reports, String> {
    let settings = load::settings(&inputs.model)?;
    let Loaded { session, failed } = load::load(inputs.paths());
    let mut session = ManuallyDrop::new(session);
    let runs = session.runs();
    let profiles = runs.iter().filter_map(|run| session.report(run.index, &settings)).collect();
    Ok(Reports { profiles, session, settings, failed })
}
