//! `crossprof analyze`: prints a report about each run of the input.

use std::mem::ManuallyDrop;
use std::path::{Path, PathBuf};

use crossprof::report::FindingSeverity;
use crossprof::{Session, Settings, Severity, UnifiedProfile, export};

use super::args::{Analyze, Inputs};
use super::input::Streams;
use super::load::{self, Loaded};
use super::output::{self, Outputs};
use super::output_format::OutputFormat;
use super::progress::Progress;
use super::{DAMAGED, FAILED, FOUND, READ, complain, print_result, print_text};

/// Reads the inputs, prints the reports, and returns the exit status.
pub(super) fn run(command: &Analyze) -> u8 {
    let named = |path: &'_ PathBuf| OutputFormat::of_name(path).map(|format| (path.clone(), format));
    let files = match command.output.iter().map(named).collect::<Result<Vec<_>, String>>() {
        Ok(files) => files,
        Err(message) => {
            complain(&message);
            return FAILED;
        }
    };
    let outputs = Outputs::new(command.output.iter().chain(&command.output_json));
    let search = command.inputs.model.checkpoint_dir.is_none();
    let mut reports = match read_all(&command.inputs, Vec::new(), search, &outputs, &mut Progress::bar()) {
        Ok(reports) => reports,
        Err(message) => {
            complain(&message);
            return FAILED;
        }
    };
    reports.problems.iter().for_each(|problem| complain(problem));
    if reports.profiles.is_empty() {
        return FAILED;
    }
    if let Some(run) = reports.lake() {
        return trends_of_lake(command, &mut reports, run);
    }
    let mut status = reports.status();
    let json = command.output_json.as_ref().map(|path| (path.clone(), OutputFormat::Json));
    for (path, format) in files.into_iter().chain(json) {
        let text = format.of_runs(&reports.profiles).map_err(|message| format!("{}: {message}", path.display()));
        if let Err(message) = text.and_then(|text| output::write(&path, text)) {
            complain(&message);
            status = FAILED;
        }
    }
    match command.format.of_runs(&reports.profiles) {
        Ok(text) if command.format == OutputFormat::Text => status = print_text(&text, status),
        Ok(text) => status = print_result(&text, status),
        Err(message) => complain(&message),
    }
    if command.format != OutputFormat::Text {
        reports.print_warnings();
    }
    match command.fail_on {
        Some(limit) if status != FAILED && reports.fires(limit.least()) => FOUND,
        _ => status,
    }
}

/// Prints the trends of a lake, and returns the exit status. A lake export has no other report.
fn trends_of_lake(command: &Analyze, reports: &mut Reports, run: u32) -> u8 {
    let (file, status) = (reports.file(run), reports.status());
    let is_alone = reports.profiles.len() == 1 && command.output.is_empty() && command.output_json.is_none();
    let made = reports.session.lake_trends(run).map(|trends| {
        let trends = trends?;
        match command.format {
            OutputFormat::Text if is_alone => Ok(export::lake_trends::text(&file, trends)),
            OutputFormat::Markdown if is_alone => Ok(export::lake_trends::markdown(&file, trends)),
            _ => Err("the trends of a lake are printed alone, as --format text or markdown."),
        }
    });
    match made {
        Some(Ok(text)) => {
            let status = print_result(&text, status);
            reports.print_warnings();
            status
        }
        Some(Err(reason)) => {
            complain(&format!("{file}: {reason}"));
            FAILED
        }
        None => FAILED,
    }
}

/// Results of analysing all runs of a command.
pub(super) struct Reports {
    /// Profile of each run.
    pub profiles: Vec<UnifiedProfile>,
    /// The session that the profiles were made from. The session is never dropped, because freeing millions of events
    /// just before the process exits only wastes time.
    pub session: ManuallyDrop<Session>,
    pub settings: Settings,
    /// Inputs that could not be read, one sentence each.
    pub problems: Vec<String>,
}

impl Reports {
    /// Returns the exit status for these reports.
    pub(super) fn status(&self) -> u8 {
        let damaged = |profile: &UnifiedProfile| profile.warnings.iter().any(|w| w.severity == Severity::Damage);
        match (!self.problems.is_empty(), self.profiles.iter().any(damaged)) {
            (true, _) => FAILED,
            (false, true) => DAMAGED,
            (false, false) => READ,
        }
    }

    /// Returns the first run that is a lake export.
    fn lake(&self) -> Option<u32> {
        (0..).zip(&self.profiles).map(|(run, _)| run).find(|run| self.session.is_of_lake(*run))
    }

    fn file(&self, run: u32) -> String {
        self.profiles.get(run as usize).map_or_else(String::new, |profile| profile.metadata.trace_file.clone())
    }

    /// Returns true if any run has a finding of this severity or a worse one.
    fn fires(&self, least: FindingSeverity) -> bool {
        self.profiles.iter().flat_map(|profile| &profile.findings).any(|finding| finding.severity >= least)
    }

    /// Prints the warnings of all profiles; see [`print_warnings`].
    pub(super) fn print_warnings(&self) {
        print_warnings(&self.profiles);
    }
}

/// Prints warnings on standard error, for formats that do not contain them. Runs from the same file have the same
/// warnings, so each warning is printed only once.
pub(super) fn print_warnings<'a>(profiles: impl IntoIterator<Item = &'a UnifiedProfile>) {
    let warnings: Vec<_> = profiles.into_iter().flat_map(|profile| &profile.warnings).collect();
    for (index, warning) in warnings.iter().enumerate() {
        if !warnings.iter().take(index).any(|said| said == warning) {
            complain(&export::text::warning_line(warning));
        }
    }
}

/// Loads the inputs, lists the inputs that could not be read, and analyses every run.
///
/// # Errors
///
/// Fails if the model options are invalid, or if one of the `outputs` is also one of the inputs.
pub(super) fn reports(inputs: &Inputs, outputs: &Outputs) -> Result<Reports, String> {
    let reports = read(inputs, outputs, &mut Progress::bar())?;
    reports.problems.iter().for_each(|problem| complain(problem));
    Ok(reports)
}

/// Loads the inputs and analyses every run.
///
/// # Errors
///
/// Fails for the same reasons as [`reports`].
pub(super) fn read(inputs: &Inputs, outputs: &Outputs, progress: &mut Progress) -> Result<Reports, String> {
    read_with(inputs, Vec::new(), inputs.model.checkpoint_dir.is_none(), outputs, progress)
}

/// Loads the inputs and the streams, and analyses every run. If `search` is true, also reads the files that describe
/// the model, from the folders of the profiles and from the folders above them.
///
/// # Errors
///
/// Fails for the same reasons as [`reports`], and if an input contains the trends of a lake.
pub(super) fn read_with(
    inputs: &Inputs,
    streams: Vec<Streams>,
    search: bool,
    outputs: &Outputs,
    progress: &mut Progress,
) -> Result<Reports, String> {
    let reports = read_all(inputs, streams, search, outputs, progress)?;
    match reports.lake().map(|run| reports.file(run)) {
        Some(file) => Err(format!(
            "{file}: This is a lake export, which has no numbers of a run. crossprof view {file} shows the trends, and crossprof \
             analyze prints them."
        )),
        None => Ok(reports),
    }
}

/// Like [`read_with`], but accepts the trends of a lake.
fn read_all(
    inputs: &Inputs,
    streams: Vec<Streams>,
    search: bool,
    outputs: &Outputs,
    progress: &mut Progress,
) -> Result<Reports, String> {
    let settings = Settings { dollars_per_device_hour: inputs.price, ..load::settings(&inputs.model)? };
    settings.model_files.iter().try_for_each(|file| outputs.spare(Path::new(&file.path)))?;
    let Loaded { session, problems } = load::load(inputs.paths(), streams, search, outputs, progress)?;
    let mut session = ManuallyDrop::new(session);
    let runs = session.runs();
    let profiles = runs.iter().filter_map(|run| session.report(run.index, &settings)).collect();
    Ok(Reports { profiles, session, settings, problems })
}
