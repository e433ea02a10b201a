//! `crossprof compare`: compares runs.

use std::mem::ManuallyDrop;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crossprof::UnifiedProfile;
use crossprof::budget::ConditionReport;
use crossprof::compare::{ComparedProgram, Comparison, MOST_RUNS, Options, Subject, compare};
use crossprof::format::printable;
use crossprof::report::{Metadata, Naming, distinct_names};
use crossprof::session::program_changes;

use super::analyze::{self, Reports};
use super::args::{Compare, Group, Inputs, Scaling};
use super::baseline::paths as baseline_paths;
use super::in_order::{self, in_order};
use super::input::walk;
use super::output::{self, Outputs};
use super::output_format::OutputFormat;
use super::progress::Progress;
use super::{FAILED, FOUND, READ, complain, print_result, print_text};

/// Reads the runs, compares them, writes and prints the result, and returns the exit status.
pub(super) fn run(command: &Compare) -> u8 {
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

/// Returns the exit status (not 0 if a file is damaged), the comparison, and its runs.
fn compared(command: &Compare) -> Result<(u8, Comparison, Vec<Subject>), String> {
    for path in &command.output {
        OutputFormat::of_name(path)?;
    }
    let (status, mut subjects) = read(command)?;
    let runs = subjects.len();
    if runs < 2 {
        let found = if runs == 1 { "there is one run" } else { "there is no run" };
        return Err(format!(
            "A comparison needs at least two runs, but {found}. Specify another FILE, or a folder with several runs."
        ));
    }
    let comparison = of_subjects(&said(command), &mut subjects)?;
    Ok((status, comparison, subjects))
}

/// Facts that the user specifies about the runs of a comparison.
#[derive(Debug, Default)]
pub struct Said {
    /// Names of the first runs, in order.
    pub names: Vec<String>,
    /// Power of one device in watts: one value per run, or one value for all runs.
    pub power: Vec<f64>,
    /// Price of one device in dollars per hour: one value per run, or one value for all runs.
    pub price: Vec<f64>,
    /// Index or name of the baseline, with which the other runs are compared.
    pub baseline: Option<String>,
    /// True if the work grows with the number of devices, false if it stays the same.
    pub weak_scaling: Option<bool>,
    /// Smallest difference that is not ignored, as a fraction.
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

/// Compares two or more runs.
///
/// # Errors
///
/// Fails with a message if the user's facts do not fit the runs, or if there are too many runs.
pub(super) fn of_subjects(said: &Said, subjects: &mut [Subject]) -> Result<Comparison, String> {
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
    // Options stored in a report apply unless the user overrides them.
    let mut options = Options::of(subjects);
    if let Some(given) = &said.baseline {
        options.baseline = baseline(given, subjects)?;
    }
    options.weak_scaling = said.weak_scaling.or(options.weak_scaling);
    options.threshold = said.threshold.or(options.threshold);
    add_program_changes(subjects, options.baseline);
    let comparison = compare(subjects, &options);
    if runs > MOST_RUNS && comparison.trend.is_none() {
        return Err(format!(
            "There are {runs} runs, but at most {MOST_RUNS} can be compared. More runs can only be compared over \
                time: their names must contain their training step (step_00001000), or their profiles must \
                contain the time of the capture."
        ));
    }
    Ok(comparison)
}

/// Compares the compiled programs of each run with the compiled programs of the baseline. Does nothing for long series,
/// whose runs are not compared in detail.
fn add_program_changes(subjects: &mut [Subject], baseline: usize) {
    if subjects.len() > MOST_RUNS {
        return;
    }
    let Some(base) = subjects.get(baseline).map(|base| base.programs.clone()) else { return };
    for (_, subject) in subjects.iter_mut().enumerate().filter(|(index, _)| *index != baseline) {
        subject.program_changes = program_changes(&base, &subject.programs);
    }
}

/// Maximum total size of the files that are read at the same time, in bytes.
const MOST_BYTES_AT_ONCE: u64 = 256 << 20;

/// Reads each path separately, so a file that is given twice becomes two runs. If there are many small paths, several
/// threads read them. Large paths are read one at a time. All captures of a group become one run.
fn read(command: &Compare) -> Result<(u8, Vec<Subject>), String> {
    let outputs = Outputs::new(command.output.iter().chain(&command.output_json).chain(&command.html));
    let is_page = |path: &PathBuf| OutputFormat::of_name(path) == Ok(OutputFormat::Html);
    let draws = command.html.is_some() || command.output.iter().any(is_page);
    let compares_programs = command.files.len() <= MOST_RUNS;
    let mut reader =
        Reader { command, outputs, draws, compares_programs, status: READ, program_bytes: MOST_PROGRAM_BYTES };
    let threads = threads(&command.files);
    let read =
        in_order(command.files.len(), threads, |index| Some(reader.read(command.files.get(index)?, threads > 1)));
    let mut files = Vec::new();
    for (path, read) in command.files.iter().zip(read.into_iter().flatten()) {
        files.push(reader.captures_of(path, read?, None)?);
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
    if let Some(name) = named_baseline(command, &subjects) {
        let mut captures = Vec::new();
        for path in baseline_paths(Path::new(""), name)? {
            captures.extend(reader.captures(&path, None)?);
        }
        let baseline = together(name, captures);
        subjects.splice(0..0, baseline);
    }
    Ok((reader.status, subjects))
}

/// Returns the value of `--baseline` if it is the name of a baseline rather than a run.
fn named_baseline<'a>(command: &'a Compare, subjects: &[Subject]) -> Option<&'a str> {
    let name = command.baseline.as_deref()?;
    let is_run = name.parse().is_ok_and(|index: usize| index < subjects.len())
        || subjects.iter().any(|subject| subject.name == name)
        || command.name.iter().any(|given| given == name);
    (!is_run && super::baseline::exists(Path::new(""), name)).then_some(name)
}

/// A capture, with the file that it was read from.
struct Capture {
    profile: UnifiedProfile,
    /// Picture of the median step, for HTML output.
    median_step: Option<String>,
    programs: Vec<ComparedProgram>,
    file: String,
}

/// Returns one run per capture, each with a unique name.
fn named(captures: Vec<Capture>) -> Vec<Subject> {
    let namings = captures.iter().map(|it| Naming { file: Some(&it.file), ..it.profile.metadata.naming() });
    let names = distinct_names(&namings.collect::<Vec<_>>());
    let subjects = captures.into_iter().zip(names);
    let subject = |(Capture { profile, median_step, programs, .. }, name)| Subject {
        name,
        median_step,
        programs,
        ..Subject::new(profile)
    };
    subjects.map(subject).collect()
}

/// Returns one run that consists of several captures.
fn together(name: &str, captures: Vec<Capture>) -> Option<Subject> {
    let first = captures.first()?;
    let (median_step, programs) = (first.median_step.clone(), first.programs.clone());
    let subject = Subject::of_captures(name, captures.into_iter().map(|it| it.profile).collect())?;
    Some(Subject { median_step, programs, ..subject })
}

/// Returns true if every path is a folder with several captures of one program.
fn are_groups(command: &Compare, files: &[Vec<Capture>]) -> bool {
    let folders: Vec<Vec<&Metadata>> =
        files.iter().map(|it| it.iter().map(|capture| &capture.profile.metadata).collect()).collect();
    !command.no_groups && command.files.iter().all(|path| path.is_dir()) && crossprof::compare::are_groups(&folders)
}

/// Returns one run per folder, named after the folder.
fn grouped(folders: &[PathBuf], captures: Vec<Vec<Capture>>) -> Vec<Subject> {
    let named = folders.iter().zip(captures).filter_map(|(folder, captures)| {
        let resolved = folder.canonicalize().unwrap_or_else(|_| folder.clone());
        let name = resolved
            .file_name()
            .map_or_else(|| folder.display().to_string(), |name| name.to_string_lossy().into_owned());
        complain(&format!(
            "{}: its {} captures are compared as one run, {name}; --no-groups makes each capture a run.",
            folder.display(),
            captures.len()
        ));
        together(&name, captures)
    });
    named.collect()
}

/// Returns the number of threads that read `paths`.
fn threads(paths: &[PathBuf]) -> usize {
    let Some(threads) = in_order::threads(paths.len()) else { return 1 };
    let largest = paths.iter().map(|path| bytes_of(path)).max().unwrap_or(0).max(1);
    usize::try_from(MOST_BYTES_AT_ONCE / largest).unwrap_or(threads).clamp(1, threads)
}

/// Returns the size of a file, or the total size of the files in a folder.
fn bytes_of(path: &Path) -> u64 {
    let (mut files, mut problems) = (Vec::new(), Vec::new());
    walk(path, &mut files, &mut problems);
    let size = |file: &PathBuf| std::fs::metadata(file).map_or(0, |metadata| metadata.len());
    files.iter().map(size).fold(0, u64::saturating_add)
}

/// Captures of a path, and problems that have not been printed yet.
struct PathRead {
    captures: Vec<Capture>,
    problems: Vec<String>,
    status: u8,
}

/// Reads paths, and prints their problems.
struct Reader<'a> {
    command: &'a Compare,
    outputs: Outputs,
    /// True if median steps must be drawn.
    draws: bool,
    /// Worst exit status so far.
    status: u8,
    /// True if programs are compared. Programs of long series are not compared.
    compares_programs: bool,
    /// Number of bytes of programs that may still be kept in memory.
    program_bytes: usize,
}

/// Maximum total size of the programs that are kept for comparison. A series may have hundreds of captures.
const MOST_PROGRAM_BYTES: usize = 1 << 30;

/// Clears `programs` if they take more than `most` bytes. Returns how much of `most` is left.
fn keep_within(programs: &mut Vec<ComparedProgram>, most: usize) -> usize {
    let bytes = programs.iter().map(|program| program.bytes.len()).sum();
    most.checked_sub(bytes).unwrap_or_else(|| {
        programs.clear();
        most
    })
}

impl Reader<'_> {
    /// Reads the captures of a path. `platform` is the platform that the user specified with `--gpu` or `--tpu`.
    fn captures(&mut self, path: &Path, platform: Option<&str>) -> Result<Vec<Capture>, String> {
        let read = self.read(path, false)?;
        self.captures_of(path, read, platform)
    }

    /// Reads a path, and prints neither problems nor warnings. Shows the progress unless `is_quiet` is true.
    fn read(&self, path: &Path, is_quiet: bool) -> Result<PathRead, String> {
        let model = self.command.model.clone();
        let inputs = Inputs { files: vec![path.to_owned()], trace_file: Vec::new(), price: None, model };
        let mut progress = if is_quiet { Progress::watched(Arc::default()) } else { Progress::bar() };
        let reports = analyze::read(&inputs, &self.outputs, &mut progress)?;
        let status = reports.status();
        let Reports { profiles, session, settings, problems } = reports;
        // More paths follow, so the memory must be freed.
        let mut session = ManuallyDrop::into_inner(session);
        let runs = session.runs();
        let (mut captures, mut left) = (Vec::new(), self.program_bytes);
        for (run, profile) in runs.into_iter().zip(profiles) {
            let keeps = self.compares_programs && left > 0;
            let mut programs = if keeps { session.compared_programs(run.index, &settings) } else { Vec::new() };
            left = keep_within(&mut programs, left);
            let median_step = self.draws.then(|| session.median_step(run.index, &settings)).flatten();
            captures.push(Capture {
                profile,
                median_step,
                programs,
                file: run.files.into_iter().next().unwrap_or_default(),
            });
        }
        Ok(PathRead { captures, problems, status })
    }

    /// Prints the problems and warnings of a path, and returns its captures.
    fn captures_of(&mut self, path: &Path, mut read: PathRead, platform: Option<&str>) -> Result<Vec<Capture>, String> {
        read.problems.iter().for_each(|problem| complain(problem));
        if read.captures.is_empty() || read.status == FAILED {
            // The problem of the file has already been printed.
            return Err(format!("{}: nothing was compared, because this input could not be read.", path.display()));
        }
        self.status = self.status.max(read.status);
        for capture in &mut read.captures {
            self.program_bytes = keep_within(&mut capture.programs, self.program_bytes);
        }
        analyze::print_warnings(read.captures.iter().map(|capture| &capture.profile));
        for metadata in read.captures.iter().map(|capture| &capture.profile.metadata) {
            if let Some(platform) = platform.filter(|platform| metadata.platform != *platform) {
                let option = platform.to_lowercase();
                let (found, device) = (printable(&metadata.platform), printable(&metadata.device_type));
                complain(&format!(
                    "--{option} {}: its platform is {found} ({device}), not {platform}.",
                    path.display()
                ));
            }
        }
        Ok(read.captures)
    }
}

/// Returns one value for each run. A single value applies to all runs.
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

/// Returns the index of the run that the user gave by index or name.
fn baseline(given: &str, subjects: &[Subject]) -> Result<usize, String> {
    let named = || subjects.iter().position(|subject| subject.name == given);
    let index = given.parse().ok().filter(|index: &usize| *index < subjects.len());
    index.or_else(named).ok_or_else(|| {
        let runs: Vec<String> =
            subjects.iter().enumerate().map(|(index, run)| format!("{index} {}", printable(&run.name))).collect();
        format!("--baseline: there is no run {given}; the runs are {}.", runs.join(", "))
    })
}

/// Prints whether each condition of `--fail-on` is met. Returns true if any condition is met.
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

/// Writes the requested files, prints the result, and returns the exit status.
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
