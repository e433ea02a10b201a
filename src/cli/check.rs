//! `crossprof check`: checks runs against a budget.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use crossprof::budget::file::BudgetFile;
use crossprof::budget::{self, Catalogue, CheckReport, Document, Limit, RunReport};
use crossprof::export::digest;
use crossprof::format::printable;

use super::analyze::{self, Reports};
use super::args::{Check, CheckFormat, Inputs};
use super::input::read_small;
use super::output::{self, Outputs};
use super::{FAILED, baseline, bounded, complain, print_result};

/// Largest size of a budget in bytes. Budgets are written by hand, so they are small.
const MOST_BUDGET_BYTES: u64 = 1 << 20;

/// Exit status if all limits are met.
const HELD: u8 = 0;
/// Exit status if a limit fails, or if the number of a limit is absent.
const NOT_HELD: u8 = 1;

/// Reads the inputs, judges the limits, prints the result, and returns the exit status.
pub(super) fn run(command: &Check) -> u8 {
    match check(command) {
        Ok((report, digests)) => deliver(command, &report, &digests),
        Err(messages) => {
            messages.iter().for_each(|message| complain_lines(message));
            FAILED
        }
    }
}

/// Prints a message. In a message, the lines after the first show the position of an error.
fn complain_lines(message: &str) {
    let mut lines = message.lines();
    complain(lines.next().unwrap_or_default());
    for line in lines {
        let _ = writeln!(std::io::stderr().lock(), "  {}", bounded(&printable(line)));
    }
}

/// Limits and baseline as the user specifies them.
#[derive(Debug, Default)]
pub struct Asked {
    /// Path of the budget file.
    pub budget: Option<PathBuf>,
    /// Limits in addition to the limits in the budget file.
    pub limits: Vec<String>,
    /// Paths of the baseline, which replace the paths in the budget file.
    pub baselines: Vec<PathBuf>,
    /// Name of the baseline run, or a pattern.
    pub baseline_run: Option<String>,
}

/// Limits and baseline, read and merged.
pub(super) struct Budget {
    /// The limits in the budget file, then the additional limits.
    pub limits: Vec<Limit>,
    /// Paths of the baseline.
    pub baselines: Vec<PathBuf>,
    baseline_run: Option<String>,
}

impl Budget {
    /// Returns true if any limit uses the baseline.
    pub(super) fn needs_baseline(&self) -> bool {
        self.limits.iter().any(Limit::needs_baseline)
    }

    /// Returns the message for a missing baseline. `how` describes how to specify a baseline.
    pub(super) fn lacks_baseline(&self, how: &str) -> String {
        let rule = self.limits.iter().find(|limit| limit.needs_baseline()).map_or("", |limit| &limit.text);
        format!("\"{rule}\" needs a baseline: {how}, or write baseline = \"FILE\" in the budget.")
    }

    /// Judges all limits for each run. `baselines` contains the runs of each baseline path.
    ///
    /// # Errors
    ///
    /// Fails with a message if the baseline has no run to compare with.
    pub(super) fn judge(&self, runs: &[Document], baselines: &[Vec<Document>]) -> Result<Vec<RunReport>, String> {
        let mut judged = Vec::new();
        for run in runs {
            let mut group = Vec::new();
            for runs in baselines {
                group.extend(paired(runs, run, self.baseline_run.as_deref())?);
            }
            judged.push(budget::check(&self.limits, run, &group));
        }
        Ok(judged)
    }
}

/// Returns the result and the digest of each run, or all mistakes that prevent them. The budget is read first, because
/// its errors do not depend on the profile.
fn check(command: &Check) -> Result<(CheckReport, Vec<String>), Vec<String>> {
    let budget = read_budget(&Asked {
        budget: command.budget.clone(),
        limits: command.limit.clone(),
        baselines: command.baseline.clone(),
        baseline_run: command.baseline_run.clone(),
    })?;
    let only = |message: String| vec![message];
    let needs_baseline = budget.needs_baseline();
    if needs_baseline && budget.baselines.is_empty() {
        return Err(only(budget.lacks_baseline("give --baseline FILE")));
    }
    if !needs_baseline && !command.baseline.is_empty() {
        complain("--baseline is not used: no limit mentions the baseline.");
    }
    let outputs = Outputs::new(&command.output);
    command.budget.iter().try_for_each(|path| outputs.spare(path)).map_err(only)?;
    let runs = documents(&command.inputs, &outputs).map_err(only)?;
    let (runs, digests): (Vec<Document>, Vec<String>) = chosen(runs, &command.run).map_err(only)?.into_iter().unzip();
    let mut baselines = Vec::new();
    let paths = if needs_baseline { resolved(&budget.baselines).map_err(only)? } else { Vec::new() };
    for path in &paths {
        let inputs = Inputs {
            files: vec![path.clone()],
            trace_file: Vec::new(),
            price: None,
            model: command.inputs.model.clone(),
        };
        baselines.push(documents(&inputs, &outputs).map_err(only)?.into_iter().map(|(run, _)| run).collect());
    }
    let judged = budget.judge(&runs, &baselines).map_err(only)?;
    Ok((CheckReport::new(command.budget.as_ref().map(|path| path.display().to_string()), judged), digests))
}

/// Replaces the names of baselines (`crossprof baseline set`) by the paths of their captures. A word that is a path is
/// not treated as a name.
fn resolved(baselines: &[PathBuf]) -> Result<Vec<PathBuf>, String> {
    let here = Path::new("");
    let mut paths = Vec::new();
    for path in baselines {
        match path.to_str().filter(|name| !path.exists() && baseline::exists(here, name)) {
            Some(name) => paths.extend(baseline::paths(here, name)?),
            None => paths.push(path.clone()),
        }
    }
    Ok(paths)
}

/// Reads the limits in the budget file, then the additional limits.
///
/// # Errors
///
/// Returns all mistakes. In a mistake, the lines after the first show its position.
pub(super) fn read_budget(asked: &Asked) -> Result<Budget, Vec<String>> {
    let mut catalogue = Catalogue::of_profile();
    // The schema does not list the names of the rules, but this program contains them.
    if let Ok(path) = budget::Path::parse("findings[*].id") {
        let rules: Vec<&str> = crossprof::insight::rules().map(|rule| rule.id).collect();
        catalogue.set_words(&path, &rules);
    }
    let mut mistakes = Vec::new();
    let mut found = BudgetFile::default();
    if let Some(path) = &asked.budget {
        let text = budget_text(path).map_err(|error| vec![format!("{}: cannot be read: {error}", path.display())])?;
        match BudgetFile::parse(&text, &catalogue) {
            Ok(file) => found = file,
            Err(wrong) => mistakes.extend(wrong.iter().map(|mistake| format!("{}:{mistake}", path.display()))),
        }
    }
    for rule in &asked.limits {
        match Limit::parse(rule, &catalogue) {
            Ok(limit) => found.limits.push(limit),
            Err(error) => mistakes.push(format!("--limit: {}", marked(rule, &error))),
        }
    }
    if !mistakes.is_empty() {
        return Err(mistakes);
    }
    let folder = asked.budget.as_deref().and_then(Path::parent).unwrap_or(Path::new(""));
    Ok(Budget {
        limits: found.limits,
        // The file's baseline paths are relative to the file's folder, so that a job can run in any folder.
        baselines: match asked.baselines.as_slice() {
            [] => found.baselines.iter().map(|path| folder.join(path)).collect(),
            given => given.to_vec(),
        },
        baseline_run: asked.baseline_run.clone().or(found.baseline_run),
    })
}

fn budget_text(path: &Path) -> io::Result<String> {
    let bytes = read_small(path, MOST_BUDGET_BYTES)?;
    String::from_utf8(bytes).map_err(|_| io::Error::other("it is not UTF-8 text"))
}

/// Returns a message about an invalid rule, with a mark below the position of the error.
fn marked(rule: &str, error: &expression::Error) -> String {
    let (line, marks) = expression::excerpt(rule, error.span.clone());
    format!("{error}\n{line}\n{marks}")
}

/// Returns every run of the inputs as a document whose numbers the limits select, with the digest of the run.
fn documents(inputs: &Inputs, outputs: &Outputs) -> Result<Vec<(Document, String)>, String> {
    let mut reports: Reports = analyze::reports(inputs, outputs)?;
    let files = || inputs.paths().map(|path| path.display().to_string()).collect::<Vec<_>>().join(", ");
    if reports.profiles.is_empty() || reports.status() == FAILED {
        // The problem of each file has already been printed.
        return Err(format!("{}: nothing was checked, because some inputs could not be read.", files()));
    }
    reports.print_warnings();
    let runs = reports.session.runs();
    let file = |index: usize| runs.get(index).and_then(|run| run.files.first()).map_or("", String::as_str);
    let profiles = reports.profiles.iter().enumerate().map(|(index, profile)| (profile, file(index)));
    let documents = Document::of_all(profiles).map_err(|error| error.to_string())?;
    let digests = reports.profiles.iter().map(|profile| digest::text(profile, digest::DEFAULT_BYTES));
    Ok(documents.into_iter().zip(digests).collect())
}

/// Returns the runs that `--run` names, or all runs if the option is absent.
fn chosen(runs: Vec<(Document, String)>, names: &[String]) -> Result<Vec<(Document, String)>, String> {
    if let Some(unknown) = names.iter().find(|name| !runs.iter().any(|(run, _)| run.is_called(name))) {
        return Err(format!("--run: there is no run {unknown}; {}", those(runs.iter().map(|(run, _)| run))));
    }
    Ok(runs.into_iter().filter(|(run, _)| names.is_empty() || names.iter().any(|name| run.is_called(name))).collect())
}

/// Returns the baseline of a run. If `name` is given, returns the named run, or all runs that match the pattern.
/// Without `name`, returns the only run of the baseline, or the run with the same name.
fn paired<'a>(baselines: &'a [Document], run: &Document, name: Option<&str>) -> Result<Vec<&'a Document>, String> {
    // If several runs have the same name, choosing one would be a guess.
    let called = |name: &str| {
        let mut found = baselines.iter().filter(|baseline| baseline.is_called(name));
        found.next().filter(|_| found.next().is_none())
    };
    let fitting = |pattern: &str| -> Vec<&'a Document> {
        baselines.iter().filter(|it| it.names().iter().any(|name| budget::fits_pattern(pattern, name))).collect()
    };
    let found = match (name, baselines) {
        (Some(name), _) => match called(name) {
            Some(one) => vec![one],
            None if name.contains(['*', '?']) => fitting(name),
            None => Vec::new(),
        },
        (None, [only]) => vec![only],
        (None, _) => run.names().into_iter().find_map(called).into_iter().collect(),
    };
    match (found.is_empty(), name) {
        (false, _) => Ok(found),
        (true, Some(name)) => Err(format!("The baseline has no run {name}; {}", those(baselines))),
        (true, None) => {
            let name = &run.run().run_name;
            Err(format!(
                "The baseline contains several runs, but no run called {name}. Choose one with --baseline-run \
                    NAME, or the median of all with --baseline-run '*'; {}",
                those(baselines)
            ))
        }
    }
}

fn those<'a>(runs: impl IntoIterator<Item = &'a Document>) -> String {
    let names: Vec<String> = runs.into_iter().map(|run| printable(&run.run().run_name)).collect();
    format!("the runs are {}.", names.join(", "))
}

/// Writes the requested files, prints the result, and returns the exit status.
fn deliver(command: &Check, report: &CheckReport, digests: &[String]) -> u8 {
    let mut status = if report.holds { HELD } else { NOT_HELD };
    for path in &command.output {
        let format = command.format.unwrap_or_else(|| CheckFormat::of_name(path));
        if let Err(message) = output::write(path, shaped(report, digests, format)) {
            complain(&message);
            status = FAILED;
        }
    }
    let format = if command.output.is_empty() { command.format } else { None };
    print_result(&shaped(report, digests, format.unwrap_or(CheckFormat::Text)), status)
}

fn shaped(report: &CheckReport, digests: &[String], format: CheckFormat) -> String {
    match format {
        CheckFormat::Text => budget::to_text(report),
        CheckFormat::Markdown => folded(digests) + &budget::to_markdown(report),
        CheckFormat::Junit => budget::to_junit(report),
        CheckFormat::Json => report.to_json(),
    }
}

/// Returns the digests as a folded block for assistants that read the summary. Every line of a digest begins with a word or an
/// indentation that crossprof wrote, so text from a trace cannot end the block.
fn folded(digests: &[String]) -> String {
    let digest = |digest: &String| {
        format!("<details><summary>Digest for an assistant</summary>\n\n```text\n{digest}```\n\n</details>\n\n")
    };
    digests.iter().map(digest).collect()
}
