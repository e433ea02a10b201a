//! Files read and analysed as the tool does, for programs that show the results themselves.

use std::mem::ManuallyDrop;
use std::path::PathBuf;
use std::sync::Arc;

use crossprof::compare::{Options, Subject};
use crossprof::report::{Naming, distinct_names};
use crossprof::table::{self, Rows};
use crossprof::{Query, Session, Settings, TableName, UnifiedProfile};

use super::analyze::{self, Reports};
use super::args::{Inputs, Model};
use super::output::Outputs;
use super::progress::Progress;
pub use super::progress::Watched;

use super::table::{fitting, known_form};
use super::timeline;
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

    /// What `look` makes of a table of a run, in one of its forms (`by`; empty for its usual one), and of the rows that `query` asks for, by their
    /// index in the table.
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
        look: impl FnOnce(&dyn Rows, &[u32]) -> T,
    ) -> Result<T, String> {
        let name = TableName::from_key(name).ok_or_else(|| {
            let keys: Vec<&str> = TableName::ALL.iter().map(|name| name.key()).collect();
            let question = suggest::question(&suggest::words(name, &keys));
            format!("There is no table {name}. The tables are {}.{question}", keys.join(", "))
        })?;
        known_form(name, by)?;
        let look = |rows: &dyn Rows| {
            let found = table::asked_rows(rows, query);
            fitting(rows.name(), rows.columns(), query, found.len() as u64)?;
            Ok(look(rows, &found))
        };
        let looked = self.session.rows(u32::try_from(run).unwrap_or(u32::MAX), &self.settings, name, by, look);
        looked.unwrap_or_else(|| Err(format!("There is no run {run}: there are {}.", self.profiles.len())))
    }
}

/// The document of a comparison of runs, the first of which is the baseline.
pub fn compared(profiles: &[UnifiedProfile]) -> String {
    let namings: Vec<Naming<'_>> = profiles.iter().map(|profile| profile.metadata.naming()).collect();
    let names = distinct_names(&namings);
    let subject = |(profile, name): (&UnifiedProfile, String)| Subject { name, ..Subject::new(profile.clone()) };
    let subjects: Vec<Subject> = profiles.iter().zip(names).map(subject).collect();
    let comparison = crossprof::compare::compare(&subjects, &Options::of(&subjects));
    crossprof::export::comparison::json(&comparison)
}

/// The dense bf16 peak of a device in FLOP/s (fp16 where it has no bf16), by what a framework calls it.
pub fn peak_flops(device: &str) -> Option<f64> {
    use crossprof::facts::Arithmetic;
    let rates = &crossprof::facts::devices::find(device)?.rates;
    rates.get(Arithmetic::Bf16).or_else(|| rates.get(Arithmetic::Fp16))
}
