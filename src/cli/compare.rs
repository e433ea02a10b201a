//! `crossprof compare`: runs beside each other.

use std::path::{Path, PathBuf};

use crossprof::UnifiedProfile;
use crossprof::budget::ConditionReport;
use crossprof::compare::{Comparison, MOST_RUNS, Options, Subject, compare};
use crossprof::format::printable;
use crossprof::report::{Metadata, Naming, distinct_names};

use super::analyze;
use super::args::{Compare, Group, Inputs, Scaling};
use super::output::{self, Outputs};
use super::output_format::OutputFormat;
use super::{FAILED, FOUND, READ, complain, print_result, print_text};

/// Reads, compares, writes, prints, and returns the exit status.
pub fn run(command: &Compare) -> u8 {
    match compared(command) {
        Ok((status, comparison, subjects)) => match status.max(deliver(command, &comparison, &subjects)) {
            FAILED => FAILED,
            _ if fails(command, &comparison, &subjects) => FOUND,
            status => status,
        },
        Err(message) => {
            complain(&message);
            FAILED
        }
    }
}

/// The comparison with the runs that it is of, and whether something in them is damaged.
fn compared(command: &Compare) -> Result<(u8, Comparison, Vec<Subject>), String> {
    for path in &command.output {
        OutputFormat::of_name(path)?;
    }
    let (status, mut subjects) = read(command)?;
    let runs = subjects.len();
    if runs < 2 {
        let found = if runs == 1 { "there is one run" } else { "there is no run" };
        return Err(format!(
            "A comparison needs two runs or more, and {found}: give another FILE, or a folder of several."
        ));
    }
    let comparison = of_subjects(&said(command), &mut subjects)?;
    Ok((status, comparison, subjects))
}

/// What the user says of the runs of a comparison.
#[derive(Debug, Default)]
pub struct Said {
    /// Names of the first runs.
    pub names: Vec<String>,
    /// Watts of one device: of each run, or one value of all.
    pub power: Vec<f64>,
    /// Dollars an hour of one device: of each run, or one value of all.
    pub price: Vec<f64>,
    /// Index or name of the run that the others are compared with.
    pub baseline: Option<String>,
    /// The work grows with the devices, or stays the same.
    pub weak_scaling: Option<bool>,
    /// Share from which on a difference counts.
    pub threshold: Option<f64>,
}

fn said(command: &Compare) -> Said {
    Said {
        names: command.name.clone(),
        power: command.power.clone(),
        price: command.price.clone(),
        baseline: command.baseline.clone(),
        weak_scaling: command.scaling.map(|kind| kind == Scaling::Weak),
        threshold: command.threshold,
    }
}

/// Compares runs, of which two or more are given.
///
/// # Errors
///
/// What is said does not fit the runs, or they are too many: a sentence.
pub fn of_subjects(said: &Said, subjects: &mut [Subject]) -> Result<Comparison, String> {
    let runs = subjects.len();
    if said.names.len() > runs {
        return Err(format!("--name: {} names are given for {runs} runs.", said.names.len()));
    }
    for (subject, name) in subjects.iter_mut().zip(&said.names) {
        subject.name = name.clone();
    }
    let power = of_each(&said.power, runs, "--power")?;
    let price = of_each(&said.price, runs, "--price")?;
    for ((subject, watts), dollars) in subjects.iter_mut().zip(power).zip(price) {
        subject.watts_per_device = watts.or(subject.watts_per_device);
        subject.dollars_per_device_hour = dollars.or(subject.dollars_per_device_hour);
    }
    // What a report was made with holds unless it is said otherwise.
    let mut options = Options::of(subjects);
    if let Some(given) = &said.baseline {
        options.baseline = baseline(given, subjects)?;
    }
    options.weak_scaling = said.weak_scaling.or(options.weak_scaling);
    options.threshold = said.threshold.or(options.threshold);
    let comparison = compare(subjects, &options);
    if runs > MOST_RUNS && comparison.trend.is_none() {
        return Err(format!(
            "There are {runs} runs, and at most {MOST_RUNS} can be compared. More are shown only over time: runs whose names hold \
             their training step (step_00001000), or whose profiles say when they were captured."
        ));
    }
    Ok(comparison)
}

/// The runs of every path, each path on its own: the same file twice is two runs, and only one is in memory at a time. What is found
/// for a group is one run.
fn read(command: &Compare) -> Result<(u8, Vec<Subject>), String> {
    let outputs = Outputs::new(command.output.iter().chain(&command.output_json).chain(&command.html));
    let is_page = |path: &PathBuf| OutputFormat::of_name(path) == Ok(OutputFormat::Html);
    let draws = command.html.is_some() || command.output.iter().any(is_page);
    let mut reader = Reader { command, outputs, draws, status: READ };
    let mut files = Vec::new();
    for path in &command.files {
        files.push(reader.captures(path, None)?);
    }
    let (folders, mut captures) = if are_groups(command, &files) {
        (grouped(&command.files, files), Vec::new())
    } else {
        (Vec::new(), files.into_iter().flatten().collect())
    };
    for (platform, paths) in [("GPU", &command.gpu), ("TPU", &command.tpu)] {
        for path in paths {
            captures.extend(reader.captures(path, Some(platform))?);
        }
    }
    let (others, _) = Subject::grouped(named(captures));
    let mut subjects: Vec<Subject> = folders.into_iter().chain(others).collect();
    for Group { name, files } in &command.group {
        let mut captures = Vec::new();
        for path in files {
            captures.extend(reader.captures(path, None)?);
        }
        subjects.extend(together(name, captures));
    }
    Ok((reader.status, subjects))
}

/// A capture and the file that it was read from.
struct Capture {
    profile: UnifiedProfile,
    /// The picture of its median step, for a page.
    median_step: Option<String>,
    file: String,
}

/// One run for each capture, under a name that no other has.
fn named(captures: Vec<Capture>) -> Vec<Subject> {
    let namings = captures.iter().map(|it| Naming { file: Some(&it.file), ..it.profile.metadata.naming() });
    let names = distinct_names(&namings.collect::<Vec<_>>());
    let subjects = captures.into_iter().zip(names);
    let subject = |(Capture { profile, median_step, .. }, name)| Subject { name, median_step, ..Subject::new(profile) };
    subjects.map(subject).collect()
}

/// One run of several captures.
fn together(name: &str, captures: Vec<Capture>) -> Option<Subject> {
    let median_step = captures.first()?.median_step.clone();
    let subject = Subject::of_captures(name, captures.into_iter().map(|it| it.profile).collect())?;
    Some(Subject { median_step, ..subject })
}

/// Whether every file is a folder of several captures of one program.
fn are_groups(command: &Compare, files: &[Vec<Capture>]) -> bool {
    let folders: Vec<Vec<&Metadata>> =
        files.iter().map(|it| it.iter().map(|capture| &capture.profile.metadata).collect()).collect();
    !command.no_groups && command.files.iter().all(|path| path.is_dir()) && crossprof::compare::are_groups(&folders)
}

/// One run for each folder, called as the folder is.
fn grouped(folders: &[PathBuf], captures: Vec<Vec<Capture>>) -> Vec<Subject> {
    let named = folders.iter().zip(captures).filter_map(|(folder, captures)| {
        let resolved = folder.canonicalize().unwrap_or_else(|_| folder.clone());
        let name = resolved
            .file_name()
            .map_or_else(|| folder.display().to_string(), |name| name.to_string_lossy().into_owned());
        complain(&format!(
            "{}: its {} captures are compared as one run, {name}; --no-groups makes each a run.",
            folder.display(),
            captures.len()
        ));
        together(&name, captures)
    });
    named.collect()
}

/// Reads path by path.
struct Reader<'a> {
    command: &'a Compare,
    outputs: Outputs,
    /// Median steps are drawn.
    draws: bool,
    /// The worst so far.
    status: u8,
}

impl Reader<'_> {
    /// The captures of a path; `platform` is what the user says that it is.
    fn captures(&mut self, path: &Path, platform: Option<&str>) -> Result<Vec<Capture>, String> {
        let model = self.command.model.clone();
        let inputs = Inputs { files: vec![path.to_owned()], trace_file: Vec::new(), model };
        let mut reports = analyze::reports(&inputs, &self.outputs)?;
        if reports.profiles.is_empty() || reports.status() == FAILED {
            // The file has said what is wrong with it.
            return Err(format!("{}: nothing was compared, since this could not be read.", path.display()));
        }
        self.status = self.status.max(reports.status());
        reports.print_warnings();
        for metadata in reports.profiles.iter().map(|profile| &profile.metadata) {
            if let Some(platform) = platform.filter(|platform| metadata.platform != *platform) {
                let option = platform.to_lowercase();
                let (found, device) = (printable(&metadata.platform), printable(&metadata.device_type));
                complain(&format!(
                    "--{option} {}: its platform is {found} ({device}), not {platform}.",
                    path.display()
                ));
            }
        }
        let runs = reports.session.runs();
        let (settings, draws) = (reports.settings.clone(), self.draws);
        let mut drawn = Vec::new();
        for run in runs.iter().filter(|_| draws) {
            drawn.push(reports.session.median_step(run.index, &settings));
        }
        let file = |index: usize| runs.get(index).and_then(|run| run.files.first().cloned()).unwrap_or_default();
        let captures = reports.profiles.into_iter().enumerate();
        let median_step = |index: usize| drawn.get(index).cloned().flatten();
        let capture = |(index, profile)| Capture { file: file(index), median_step: median_step(index), profile };
        Ok(captures.map(capture).collect())
    }
}

/// One value per run; a single one is of all.
fn of_each(values: &[f64], runs: usize, option: &str) -> Result<Vec<Option<f64>>, String> {
    match values {
        [] => Ok(vec![None; runs]),
        [one] => Ok(vec![Some(*one); runs]),
        several if several.len() == runs => Ok(several.iter().copied().map(Some).collect()),
        several => {
            Err(format!("{option}: {} values are given for {runs} runs; give one, or one per run.", several.len()))
        }
    }
}

/// The run that the user means, by index or name.
fn baseline(given: &str, subjects: &[Subject]) -> Result<usize, String> {
    let named = || subjects.iter().position(|subject| subject.name == given);
    let index = given.parse().ok().filter(|index: &usize| *index < subjects.len());
    index.or_else(named).ok_or_else(|| {
        let runs: Vec<String> =
            subjects.iter().enumerate().map(|(index, run)| format!("{index} {}", printable(&run.name))).collect();
        format!("--baseline: there is no run {given}; the runs are {}.", runs.join(", "))
    })
}

/// Says of each condition of `--fail-on` what became of it; whether one is met.
fn fails(command: &Compare, comparison: &Comparison, subjects: &[Subject]) -> bool {
    let mut fails = false;
    for condition in &command.fail_on {
        for ConditionReport { is_met, message } in condition.judge(comparison, subjects) {
            let verdict = if is_met { "fails" } else { "passes" };
            complain(&format!("--fail-on '{}' {verdict}: {message}", condition.text));
            fails |= is_met;
        }
    }
    fails
}

/// Writes the files that were asked for and prints; returns the exit status.
fn deliver(command: &Compare, comparison: &Comparison, subjects: &[Subject]) -> u8 {
    let mut status = READ;
    let json: Option<(&PathBuf, OutputFormat)> = command.output_json.as_ref().map(|path| (path, OutputFormat::Json));
    let page = command.html.iter().map(|path| (path, OutputFormat::Html));
    let others = command.output.iter().filter_map(|path| Some((path, OutputFormat::of_name(path).ok()?))).chain(page);
    for (path, format) in others.chain(json) {
        if let Err(message) = output::write(path, format.of_comparison(comparison, subjects)) {
            complain(&message);
            status = FAILED;
        }
    }
    let print = if command.format == OutputFormat::Text { print_text } else { print_result };
    print(&command.format.of_comparison(&comparison.focused(command.focus.into()), subjects), status)
}
