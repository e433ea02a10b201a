//! Reads and analyses files like the command line, for programs that show the results themselves.

use std::mem::ManuallyDrop;
use std::path::PathBuf;
use std::sync::Arc;

use clap::ValueEnum;
use crossprof::budget::{CheckReport, Document};
use crossprof::compare::{ComparedProgram, Subject};
use crossprof::export::digest;
pub use crossprof::hlo::{InstructionIdentity, instruction_identity};
use crossprof::report::{Naming, distinct_names};
use crossprof::session::HloProgram;
use crossprof::table::{self, Rows};
use crossprof::{Column, ModelConfig, Query, Session, Settings, TableName, UnifiedProfile, tables};

pub use super::agent::Registry;
use super::analyze::{self, Reports};
use super::args::{Hlo, Inputs, Model, Timeline, known_device};
pub use super::check::Asked;
pub use super::compare::Said;
use super::hlo::Runs;
pub use super::input::{Stream, Streams};
use super::output::{self, Outputs};
use super::output_format::OutputFormat;
use super::progress::Progress;
pub use super::progress::Watched;

use super::table::{fitting, known_form};
use super::{check, compare, hlo, load, timeline};
pub use base::framework_path::name_without_number;
use base::suggest;

/// Facts that the user gives in addition to the files. Each field corresponds to the command-line flag with the same name.
#[derive(Clone, Debug, Default)]
pub struct Known {
    /// Number of steps in the capture. Replaces the number that is found in the capture.
    pub num_steps: Option<u64>,
    /// Samples per step over all devices.
    pub batch_size: Option<u64>,
    /// Tokens per sample.
    pub seq_length: Option<u64>,
    /// Device whose peak rates are used instead of the peak rates in the profile.
    pub device: Option<String>,
    /// Path of a model configuration.
    pub model_config: Option<PathBuf>,
    /// Part of the capture to measure. `main` if absent.
    pub window: Option<String>,
    /// Price of one device in dollars per hour.
    pub price: Option<f64>,
}

/// The runs of some files. Dropping the runs frees their memory. The command line, in contrast, never drops its runs.
pub struct Opened {
    pub(super) session: Session,
    pub(super) settings: Settings,
    pub(super) profiles: Vec<UnifiedProfile>,
    problems: Vec<String>,
}

impl Opened {
    /// Reads and analyses the files below `paths`, and the `streams`. `watched` receives the progress.
    ///
    /// # Errors
    ///
    /// Fails with messages if an option is invalid, or if no run was found. If only some of the files could not be read,
    /// [`Opened::problems`] lists them.
    pub fn read(
        paths: &[PathBuf],
        streams: Vec<Streams>,
        known: &Known,
        watched: Arc<Watched>,
    ) -> Result<Opened, String> {
        Opened::read_with(paths, streams, known, true, &mut Progress::watched(watched))
    }

    /// Reads and analyses the files below `paths`, and the `streams`. If `searches` is true, also reads the sidecar
    /// files that describe the model, from the folders of the profiles and from the folders above them.
    ///
    /// # Errors
    ///
    /// Fails for the same reasons as [`Opened::read`].
    pub(super) fn read_with(
        paths: &[PathBuf],
        streams: Vec<Streams>,
        known: &Known,
        searches: bool,
        progress: &mut Progress,
    ) -> Result<Opened, String> {
        known.device.as_deref().map(known_device).transpose().map_err(|message| format!("device: {message}"))?;
        let window = known.window.as_deref().map(str::parse).transpose()?.unwrap_or_default();
        let model = Model {
            num_steps: known.num_steps,
            batch_size: known.batch_size,
            seq_length: known.seq_length,
            device: known.device.clone(),
            model_config: known.model_config.clone(),
            window,
            checkpoint_dir: None,
        };
        let inputs = Inputs { files: paths.to_vec(), trace_file: Vec::new(), price: known.price, model };
        let Reports { profiles, session, settings, problems } =
            analyze::read_with(&inputs, streams, searches, &Outputs::default(), progress)?;
        let session = ManuallyDrop::into_inner(session);
        if profiles.is_empty() {
            return Err(problems.join("\n"));
        }
        Ok(Opened { session, settings, profiles, problems })
    }

    /// Opens the run in a profile's JSON.
    ///
    /// # Errors
    ///
    /// Fails with a message if the text is not the JSON of a profile.
    pub fn of_document(text: &str) -> Result<Opened, String> {
        let mut session = Session::new();
        let file = session.begin("profile.json", Some(text.len() as u64));
        session.push(file, text.as_bytes());
        if let Some(error) = session.finish(file).error {
            return Err(error.to_string());
        }
        let settings = Settings::default();
        let profiles: Vec<UnifiedProfile> =
            session.runs().iter().filter_map(|run| session.report(run.index, &settings)).collect();
        if profiles.is_empty() || session.is_of_lake(0) {
            return Err("This is not the JSON of a profile.".to_owned());
        }
        Ok(Opened { session, settings, profiles, problems: Vec::new() })
    }

    /// Returns the profile of a run. A given batch size or sequence length replaces the value in the run.
    pub fn profile_of(
        &mut self,
        run: usize,
        batch_size: Option<u64>,
        seq_length: Option<u64>,
    ) -> Option<UnifiedProfile> {
        if batch_size.is_none() && seq_length.is_none() {
            return self.profiles.get(run).cloned();
        }
        let given = ModelConfig { batch_size, seq_length, ..ModelConfig::default() };
        let settings = Settings { model: self.settings.model.overridden_by(&given), ..self.settings.clone() };
        self.session.report(u32::try_from(run).ok()?, &settings)
    }

    /// Draws a range of a run like `crossprof timeline`. Also returns messages about parts of the range that were left
    /// out. The name in `output` selects the format: a Chrome trace if it ends with `.json` or `.json.gz`, and
    /// otherwise an SVG.
    ///
    /// # Errors
    ///
    /// Fails with a message if the run has no events, or if the range or the tracks do not exist.
    pub fn timeline(&mut self, run: usize, drawn: &Drawing) -> Result<(Vec<u8>, Vec<String>), String> {
        let Some(profile) = self.profiles.get(run) else { return Err(self.no_run(run)) };
        let time = |text: &Option<String>, name: &str| {
            text.as_deref().map(str::parse).transpose().map_err(|message| format!("{name}: {message}"))
        };
        let command = Timeline {
            inputs: Inputs { files: Vec::new(), trace_file: Vec::new(), price: None, model: Model::default() },
            step: drawn.step.clone(),
            from: time(&drawn.start, "start")?,
            to: time(&drawn.end, "end")?,
            line: drawn.lines.clone(),
            width: drawn.width,
            colours: None,
            dark: drawn.dark,
            hosts: drawn.hosts,
            output: drawn.output.clone(),
        };
        let index = u32::try_from(run).unwrap_or(u32::MAX);
        let mut left_out = Vec::new();
        let of = (&mut self.session, &self.settings);
        let made = timeline::drawn(&command, of, &[index], std::slice::from_ref(profile), &mut left_out)?;
        Ok((made.bytes, left_out))
    }

    /// Prints a compiled program of a run like `crossprof hlo`: its text, graph or script, or its difference from a program of
    /// another run.
    ///
    /// # Errors
    ///
    /// Fails with a message if there is no such run, program or op, or if an option has an unknown value.
    pub fn hlo(&mut self, run: usize, asked: &AskedHlo, against: Against<'_>) -> Result<String, String> {
        if run >= self.profiles.len() {
            return Err(self.no_run(run));
        }
        let command = Hlo {
            inputs: Inputs { files: Vec::new(), trace_file: Vec::new(), price: None, model: Model::default() },
            program: asked.program.clone(),
            op: asked.op.clone(),
            radius: asked.radius,
            computation: asked.computation.clone(),
            by: known_value("by", &asked.by)?,
            open: asked.open.clone(),
            tuples: false,
            constants: false,
            bitcasts: false,
            all_users: false,
            critical_path: asked.critical_path,
            against: None,
            against_program: asked.against_program.clone(),
            format: Some(known_value("format", &asked.format)?),
            output: None,
        };
        let index = |run: usize| u32::try_from(run).ok();
        let mut runs = Runs::all(&mut self.session, &self.settings, &self.profiles);
        runs.only = index(run);
        let made = match against {
            Against::Nothing => hlo::made(&command, &mut runs, None),
            Against::RunOfSame(other) => {
                runs.only_other = index(other);
                let command = Hlo { against: Some(PathBuf::new()), ..command };
                hlo::made(&command, &mut runs, None)
            }
            Against::RunOf(opened, other) => {
                let mut others = Runs::all(&mut opened.session, &opened.settings, &opened.profiles);
                others.only = index(other);
                hlo::made(&command, &mut runs, Some(&mut others))
            }
        };
        made.map(|(_, text)| text)
    }

    /// Returns the compiled programs of a run, most time first.
    pub fn programs(&mut self, run: usize) -> Vec<HloProgram> {
        let index = u32::try_from(run).unwrap_or(u32::MAX);
        self.session.hlo_programs(index, &self.settings).unwrap_or_default()
    }

    /// Returns the programs of a run, for comparison with the programs of other runs.
    pub fn compared_programs(&mut self, run: usize) -> Vec<ComparedProgram> {
        self.session.compared_programs(u32::try_from(run).unwrap_or(u32::MAX), &self.settings)
    }

    fn no_run(&self, run: usize) -> String {
        format!("There is no run {run}: the input contains {}, counted from 0.", self.profiles.len())
    }

    /// Returns the digest of a run as text or JSON of at most `max_bytes` bytes. `None` if there is no such run.
    pub fn digest(&self, run: usize, max_bytes: usize, as_json: bool) -> Option<String> {
        let make = if as_json { digest::json } else { digest::text };
        Some(make(self.profiles.get(run)?, max_bytes))
    }

    /// Returns the profile of each run.
    pub fn profiles(&self) -> &[UnifiedProfile] {
        &self.profiles
    }

    /// Returns the inputs that could not be read, one sentence each.
    pub fn problems(&self) -> &[String] {
        &self.problems
    }

    /// Renders a run as a self-contained web page without scripts: headline figures, findings and the median step. The
    /// page fits on one screen.
    pub fn card(&mut self, run: usize) -> Option<String> {
        let profile = self.profiles.get(run)?;
        let title = crossprof::export::text::title(profile);
        let index = u32::try_from(run).unwrap_or(u32::MAX);
        let step = timeline::median_step(&mut self.session, index, &self.settings, &title);
        Some(crossprof::export::html::card(profile, step.as_deref()))
    }

    /// Calls `look` with a table of a run and returns the result. `by` selects the table's form (empty for the default).
    /// `look` receives the table, the columns that the form has in any run, and the indices of the rows that `query`
    /// selects.
    ///
    /// # Errors
    ///
    /// Fails with a message if the table, its form, the sort column or the run does not exist.
    pub fn rows<T>(
        &mut self,
        run: usize,
        name: &str,
        by: &str,
        query: &Query,
        look: impl FnOnce(TableName, &[Column], &dyn Rows, &[u32]) -> T,
    ) -> Result<T, String> {
        let name = TableName::from_key(name).ok_or_else(|| {
            let keys: Vec<&str> = TableName::ALL.iter().map(|name| name.key()).collect();
            let question = suggest::question(&suggest::words(name, &keys));
            format!("There is no table {name}. The tables are {}.{question}", keys.join(", "))
        })?;
        known_form(name, by)?;
        let look = |rows: &dyn Rows| {
            let found = table::asked_rows(rows, query);
            fitting(name.key(), rows.columns(), query, found.len() as u64)?;
            Ok(look(name, &tables::columns_of_form(name, by), rows, &found))
        };
        let looked = self.session.rows(u32::try_from(run).unwrap_or(u32::MAX), &self.settings, name, by, look);
        looked.unwrap_or_else(|| Err(self.no_run(run)))
    }
}

/// Settings of a timeline picture. Each field corresponds to the flag of `crossprof timeline` with the same name.
#[derive(Clone, Debug)]
pub struct Drawing {
    /// Name or index of a step.
    pub step: Option<String>,
    /// Time at which the range starts.
    pub start: Option<String>,
    /// Time at which the range ends.
    pub end: Option<String>,
    /// Patterns that the names of the drawn tracks match.
    pub lines: Vec<String>,
    /// Width in pixels.
    pub width: u32,
    /// True for a dark background.
    pub dark: bool,
    /// True if host threads are drawn even though the run has devices.
    pub hosts: bool,
    /// Name of the file to write. The extension of this name selects the format.
    pub output: Option<PathBuf>,
}

/// Returns the value of an option with this name.
fn known_value<T: ValueEnum>(option: &str, name: &str) -> Result<T, String> {
    T::from_str(name, false).map_err(|_| {
        let values = T::value_variants().iter().filter_map(ValueEnum::to_possible_value);
        let names: Vec<String> = values.map(|value| value.get_name().to_owned()).collect();
        format!("{option}: there is no {name}; the values are {}", names.join(", "))
    })
}

/// Options of `crossprof hlo`. Each field corresponds to the flag with the same name.
#[derive(Clone, Debug)]
pub struct AskedHlo {
    /// Name, number or fingerprint of the program.
    pub program: Option<String>,
    /// Name of the instruction whose neighbourhood is printed.
    pub op: Option<String>,
    /// Number of steps from the op to the farthest operands and users.
    pub radius: u32,
    /// Name of the computation that is printed.
    pub computation: Option<String>,
    /// How instructions are grouped in a graph.
    pub by: String,
    /// Paths of groups to open.
    pub open: Vec<String>,
    /// True to print the chain of dependent instructions with the most device time.
    pub critical_path: bool,
    /// Name, number or fingerprint of the other program.
    pub against_program: Option<String>,
    /// Format of the result.
    pub format: String,
}

/// Run that contains the other program of a comparison.
pub enum Against<'a> {
    /// No other run. The other program, if any, is in the same run.
    Nothing,
    /// Another run of the same files.
    RunOfSame(usize),
    /// A run of other files.
    RunOf(&'a mut Opened, usize),
}

/// Compares runs and returns the comparison as JSON. Each run is passed with its compiled programs. If `output` is
/// given, also writes the comparison to that file. The extension of the file selects the format.
///
/// # Errors
///
/// Fails with a message if the user's facts do not fit the runs, or if the file cannot be written.
pub fn compared(
    runs: Vec<(UnifiedProfile, Vec<ComparedProgram>)>,
    said: &Said,
    output: Option<&PathBuf>,
) -> Result<String, String> {
    let output = output.map(|path| OutputFormat::of_name(path).map(|format| (path, format))).transpose()?;
    let namings: Vec<Naming<'_>> = runs.iter().map(|(profile, _)| profile.metadata.naming()).collect();
    let names = distinct_names(&namings);
    let mut subjects = Vec::with_capacity(runs.len());
    for ((profile, programs), name) in runs.into_iter().zip(names) {
        subjects.push(Subject { name, programs, ..Subject::new(profile) });
    }
    let comparison = compare::of_subjects(said, &mut subjects)?;
    if let Some((path, format)) = output {
        output::write(path, format.of_comparison(&comparison, &subjects))?;
    }
    Ok(crossprof::export::comparison::json(&comparison))
}

/// Checks runs against limits and returns the result as JSON. Each run is passed with the file that it came from.
/// `baselines` contains the runs of the baseline, which replace the runs that the budget names.
///
/// # Errors
///
/// Fails if the budget is wrong or its baseline cannot be read. In a message, the lines after the first show the
/// position of a mistake.
pub fn checked(
    runs: &[(UnifiedProfile, String)],
    asked: &Asked,
    baselines: Option<&[(UnifiedProfile, String)]>,
) -> Result<String, String> {
    let budget = check::read_budget(asked).map_err(|mistakes| mistakes.join("\n"))?;
    let documents = |runs: &[(UnifiedProfile, String)]| {
        Document::of_all(runs.iter().map(|(profile, file)| (profile, file.as_str()))).map_err(|error| error.to_string())
    };
    let mut others = Vec::new();
    match baselines {
        Some(given) => others.push(documents(given)?),
        None if budget.needs_baseline() && budget.baselines.is_empty() => {
            return Err(budget.lacks_baseline("give baseline=PROFILE"));
        }
        None => {
            for path in budget.baselines.iter().filter(|_| budget.needs_baseline()) {
                let read = Opened::read(std::slice::from_ref(path), Vec::new(), &Known::default(), Arc::default())?;
                let name = path.display().to_string();
                let found = Document::of_all(read.profiles.iter().map(|profile| (profile, name.as_str())));
                others.push(found.map_err(|error| error.to_string())?);
            }
        }
    }
    let judged = budget.judge(&documents(runs)?, &others)?;
    let name = asked.budget.as_ref().map(|path| path.display().to_string());
    Ok(CheckReport::new(name, judged).to_json())
}

/// Returns true if these bytes describe a model: a `config.json` or a `crossprof.json`.
pub fn describes_model(bytes: &[u8]) -> bool {
    load::model_of("config.json", bytes).is_ok()
}

/// Returns ` Did you mean ...?` with the nearest words, or an empty text if none is close.
pub fn suggestion(word: &str, known: &[String]) -> String {
    let known: Vec<&str> = known.iter().map(String::as_str).collect();
    suggest::question(&suggest::words(word, &known))
}

/// Returns the columns of a table. `None` if there is no such table.
pub fn columns_of(table: &str) -> Option<Vec<Column>> {
    Some(tables::columns_of(TableName::from_key(table)?))
}

/// Returns the dense bf16 peak of a device in FLOP/s (fp16 if it has no bf16). `device` may also be the name that a
/// framework gives the device.
pub fn peak_flops(device: &str) -> Option<f64> {
    use crossprof::facts::Arithmetic;
    let rates = &crossprof::facts::devices::find(device)?.rates;
    rates.get(Arithmetic::Bf16).or_else(|| rates.get(Arithmetic::Fp16))
}
