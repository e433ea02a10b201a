//! Files read and analysed as the tool does, for programs that show the results themselves.

use std::mem::ManuallyDrop;
use std::path::PathBuf;
use std::sync::Arc;

use crossprof::budget::{CheckReport, Document};
use crossprof::compare::Subject;
use crossprof::report::{Naming, distinct_names};
use crossprof::table::{self, Rows};
use crossprof::{Column, ModelConfig, Query, Session, Settings, TableName, UnifiedProfile, tables};

use super::analyze::{self, Reports};
use super::args::{Inputs, Model, Timeline, known_device};
pub use super::check::Asked;
pub use super::compare::Said;
use super::output::{self, Outputs};
use super::output_format::OutputFormat;
use super::progress::Progress;
pub use super::progress::Watched;

use super::table::{fitting, known_form};
use super::{check, compare, timeline};
use base::suggest;

/// What the user knows beside the files, as the tool's flags of these names have it.
#[derive(Clone, Debug, Default)]
pub struct Known {
    /// Steps in the capture, instead of the number found in it.
    pub num_steps: Option<u64>,
    /// Samples per step over all devices.
    pub batch_size: Option<u64>,
    /// Tokens per sample.
    pub seq_length: Option<u64>,
    /// The device whose peaks to compare with.
    pub device: Option<String>,
    /// A model configuration.
    pub model_config: Option<PathBuf>,
    /// What is measured; `main` where it is absent.
    pub window: Option<String>,
}

/// The runs of some files. Unlike those of a call of the tool, they give their memory back.
pub struct Opened {
    session: Session,
    settings: Settings,
    profiles: Vec<UnifiedProfile>,
    problems: Vec<String>,
}

impl Opened {
    /// Reads and analyses what is below `paths`; `watched` says how far it is.
    ///
    /// # Errors
    ///
    /// What is wrong, as sentences: an option cannot be read, or no run was found. What could not be read beside runs
    /// that could is reported by [`Opened::problems`].
    pub fn read(paths: &[PathBuf], known: &Known, watched: Arc<Watched>) -> Result<Opened, String> {
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
        let inputs = Inputs { files: paths.to_vec(), trace_file: Vec::new(), model };
        let Reports { profiles, session, settings, problems } =
            analyze::read(&inputs, &Outputs::default(), &mut Progress::watched(watched))?;
        let session = ManuallyDrop::into_inner(session);
        if profiles.is_empty() {
            return Err(problems.join("\n"));
        }
        Ok(Opened { session, settings, profiles, problems })
    }

    /// The run of a profile's JSON.
    ///
    /// # Errors
    ///
    /// The text is not the JSON of a profile: a sentence.
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
        if profiles.is_empty() {
            return Err("This is not the JSON of a profile.".to_owned());
        }
        Ok(Opened { session, settings, profiles, problems: Vec::new() })
    }

    /// The profile of a run with another batch size or sequence length, where these are given.
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

    /// A range of a run as `crossprof timeline` draws it, and sentences about what was left out. `output` is the name of the file that it is
    /// for: one that ends with `.json` or `.json.gz` asks for a Chrome trace, anything else for an SVG.
    ///
    /// # Errors
    ///
    /// The run has no events, or no such range or lines: a sentence.
    pub fn timeline(&mut self, run: usize, drawn: &Drawing) -> Result<(Vec<u8>, Vec<String>), String> {
        let Some(profile) = self.profiles.get(run) else { return Err(self.no_run(run)) };
        let time = |text: &Option<String>, name: &str| {
            text.as_deref().map(str::parse).transpose().map_err(|message| format!("{name}: {message}"))
        };
        let command = Timeline {
            inputs: Inputs { files: Vec::new(), trace_file: Vec::new(), model: Model::default() },
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

    fn no_run(&self, run: usize) -> String {
        format!("There is no run {run}: there are {}.", self.profiles.len())
    }

    /// The profile of each run.
    pub fn profiles(&self) -> &[UnifiedProfile] {
        &self.profiles
    }

    /// What could not be read, each as a sentence.
    pub fn problems(&self) -> &[String] {
        &self.problems
    }

    /// A run on one screen of a web page that fetches nothing and has no script: headline figures, findings, the median step.
    pub fn card(&mut self, run: usize) -> Option<String> {
        let profile = self.profiles.get(run)?;
        let title = crossprof::export::text::title(profile);
        let index = u32::try_from(run).unwrap_or(u32::MAX);
        let step = timeline::median_step(&mut self.session, index, &self.settings, &title);
        Some(crossprof::export::html::card(profile, step.as_deref()))
    }

    /// What `look` makes of a table of a run, in one of its forms (`by`; empty for its usual one), of the columns that this form has in every run,
    /// and of the rows that `query` asks for, by their index in the table.
    ///
    /// # Errors
    ///
    /// The table, its form, the column of the order or the run does not exist: a sentence.
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

/// A picture of a timeline, as the flags of `crossprof timeline` with these names describe it.
#[derive(Clone, Debug)]
pub struct Drawing {
    /// Name or index of a step.
    pub step: Option<String>,
    /// The time at which the range starts.
    pub start: Option<String>,
    /// The time at which the range ends.
    pub end: Option<String>,
    /// Patterns of names of lines.
    pub lines: Vec<String>,
    /// Width in pixels.
    pub width: u32,
    /// Whether the ground is dark.
    pub dark: bool,
    /// Whether threads of hosts are drawn where devices ran.
    pub hosts: bool,
    /// Name of the file that it is for.
    pub output: Option<PathBuf>,
}

/// The document of a comparison of runs. With `output`, the comparison is also written to that file, in the shape that its name asks for.
///
/// # Errors
///
/// What is said does not fit the runs, or the file cannot be written: a sentence.
pub fn compared(profiles: &[UnifiedProfile], said: &Said, output: Option<&PathBuf>) -> Result<String, String> {
    let output = output.map(|path| OutputFormat::of_name(path).map(|format| (path, format))).transpose()?;
    let namings: Vec<Naming<'_>> = profiles.iter().map(|profile| profile.metadata.naming()).collect();
    let names = distinct_names(&namings);
    let subject = |(profile, name): (&UnifiedProfile, String)| Subject { name, ..Subject::new(profile.clone()) };
    let mut subjects: Vec<Subject> = profiles.iter().zip(names).map(subject).collect();
    let comparison = compare::of_subjects(said, &mut subjects)?;
    if let Some((path, format)) = output {
        output::write(path, format.of_comparison(&comparison, &subjects))?;
    }
    Ok(crossprof::export::comparison::json(&comparison))
}

/// The document of a check of runs, each with the file that it is from. `baselines` are the runs of the baseline, instead of those that the
/// budget names.
///
/// # Errors
///
/// The budget is wrong, or its baseline cannot be read: sentences, the place of a mistake in lines below.
pub fn checked(
    runs: &[(UnifiedProfile, String)],
    asked: &Asked,
    baselines: Option<&[(UnifiedProfile, String)]>,
) -> Result<String, String> {
    let budget = check::read_budget(asked).map_err(|mistakes| mistakes.join("\n"))?;
    let documents = |runs: &[(UnifiedProfile, String)]| {
        Document::of_all(runs.iter().map(|(profile, file)| (profile, file.as_str())))
    };
    let mut others = Vec::new();
    match baselines {
        Some(given) => others.push(documents(given)),
        None if budget.needs_baseline() && budget.baselines.is_empty() => {
            return Err(budget.lacks_baseline("give baseline=PROFILE"));
        }
        None => {
            for path in budget.baselines.iter().filter(|_| budget.needs_baseline()) {
                let read = Opened::read(std::slice::from_ref(path), &Known::default(), Arc::default())?;
                let name = path.display().to_string();
                others.push(Document::of_all(read.profiles.iter().map(|profile| (profile, name.as_str()))));
            }
        }
    }
    let judged = budget.judge(&documents(runs), &others)?;
    let name = asked.budget.as_ref().map(|path| path.display().to_string());
    Ok(CheckReport::new(name, judged).to_json())
}

/// ` Did you mean ...?` with the words that are nearest to one; empty if none is near.
pub fn suggestion(word: &str, known: &[String]) -> String {
    let known: Vec<&str> = known.iter().map(String::as_str).collect();
    suggest::question(&suggest::words(word, &known))
}

/// The dense bf16 peak of a device in FLOP/s (fp16 where it has no bf16), by what a framework calls it.
pub fn peak_flops(device: &str) -> Option<f64> {
    use crossprof::facts::Arithmetic;
    let rates = &crossprof::facts::devices::find(device)?.rates;
    rates.get(Arithmetic::Bf16).or_else(|| rates.get(Arithmetic::Fp16))
}
