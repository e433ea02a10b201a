//! What `crossprof compare` accepts.

use std::path::PathBuf;

use clap::ValueEnum;

use super::super::output_format::OutputFormat;
use super::Model;
use crossprof::budget::Condition;

pub const HELP: &str = "\
Examples:
  crossprof compare main.xplane.pb new.xplane.pb
  crossprof compare main.json new.json --output report.html --output summary.md
  crossprof compare --gpu gpu.json --tpu tpu.json --output report.html --power 700,250 --price 2.5,1.2
  crossprof compare --group main=a0.json,a1.json,a2.json --group new=b0.json,b1.json,b2.json
  crossprof compare main new --focus timing --html           (folders: of several captures each, one run a folder)
  crossprof compare one two four eight --scaling strong
  crossprof compare checkpoints --format markdown
  crossprof compare main.json new.json --fail-on 'slower > 3 %' --fail-on 'new critical finding'

Each FILE is a profile, a folder or archive of some, a profile JSON or a report of an earlier comparison. Values that belong to runs
(--name, --power, --price) are in the order of the runs; docs/compare.md explains the method.

Conditions of --fail-on, each of every run against the baseline:
  slower > 3 %             its typical step takes longer, beyond the noise, and by more than 3 %
  capture slower > 5 %     so do all its steps together, with compilation, warm-up and stalls
  new finding              a warning or a critical finding that the baseline lacks; so new critical finding
  unstable                 its captures, or the baseline's, differ too much among themselves

Exit status: 0 the runs were compared; 1 they were, but parts of a file are damaged or lost; 2 they were not, or a file could not be
written; 3 a condition of --fail-on is met, or cannot be checked.";

/// `crossprof compare`.
#[derive(Debug, clap::Args)]
pub struct Compare {
    /// Profiles, folders or archives of them, reports: two runs or more; - is standard input
    #[arg(value_name = "FILE|DIR", required_unless_present_any = ["gpu", "tpu", "group"])]
    pub files: Vec<PathBuf>,
    /// A run on GPUs, after FILE
    #[arg(long, value_name = "FILE|DIR")]
    pub gpu: Vec<PathBuf>,
    /// A run on TPUs, after FILE and --gpu
    #[arg(long, value_name = "FILE|DIR")]
    pub tpu: Vec<PathBuf>,
    /// A run of several captures of one program: its name and the captures, after all other runs; may be given several times
    #[arg(long, value_name = "NAME=FILE|DIR,...", value_parser = group)]
    pub group: Vec<Group>,
    /// Each capture is a run, also where every FILE is a folder of several captures of one program, which else are one run
    #[arg(long)]
    pub no_groups: bool,
    /// Percent from which on a difference of two runs counts, however sure it is
    #[arg(long, value_name = "PERCENT", value_parser = threshold)]
    pub threshold: Option<f64>,
    /// Run that the others are compared with: its index (the first is 0) or its name [default: a report's own, else the first]
    #[arg(long, value_name = "N|NAME")]
    pub baseline: Option<String>,
    /// Name of a run, in the order of the runs; may be given several times
    #[arg(long, value_name = "NAME")]
    pub name: Vec<String>,
    /// Power of one device of each run in watts (one value: of all): gives work per joule
    #[arg(long, value_name = "WATTS,...", value_delimiter = ',', value_parser = positive)]
    pub power: Vec<f64>,
    /// Price of one device of each run in dollars an hour (one value: of all): gives work per dollar
    #[arg(long, value_name = "DOLLARS,...", value_delimiter = ',', value_parser = positive)]
    pub price: Vec<f64>,
    /// How the work grows with the devices, instead of what the batch sizes say
    #[arg(long, value_enum, value_name = "KIND")]
    pub scaling: Option<Scaling>,
    /// What to print: everything, or what is about rates, kernels or times. Files of --output hold everything
    #[arg(long, value_enum, default_value_t = Focus::All)]
    pub focus: Focus,
    /// Also write the comparison as a web page to this file
    #[arg(long, value_name = "OUT", num_args = 0..=1, default_missing_value = "comparison_report.html",
        value_parser = page_name)]
    pub html: Option<PathBuf>,
    /// Also write a report to this file: as its name says .html, .md or .json. May be given several times
    #[arg(long, value_name = "OUT")]
    pub output: Vec<PathBuf>,
    /// Also write the comparison as JSON to this file
    #[arg(long, alias = "output_json", value_name = "OUT")]
    pub output_json: Option<PathBuf>,
    /// Exit with status 3 where this is true of a run against the baseline: 'slower > 3 %', 'capture slower > 5 %', 'new finding',
    /// 'new critical finding', 'unstable'. May be given several times
    #[arg(long, alias = "fail_on", value_name = "CONDITION", value_parser = condition)]
    pub fail_on: Vec<Condition>,
    /// What to print
    #[arg(long, value_enum, default_value_t = OutputFormat::Text)]
    pub format: OutputFormat,
    /// What the traces cannot know, the same of every run.
    #[command(flatten)]
    pub model: Model,
}

/// How the work grows with the devices.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Scaling {
    /// The work stays the same
    Strong,
    /// The work grows in proportion
    Weak,
}

/// What of a comparison is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Focus {
    /// Rates and step times
    Throughput,
    /// Ops and kernels, and how busy the devices are
    Kernels,
    /// Step times, their parts and what explains them
    Timing,
    /// Everything
    All,
}

/// What of a comparison is printed, for the library.
impl From<Focus> for crossprof::compare::Focus {
    fn from(focus: Focus) -> crossprof::compare::Focus {
        match focus {
            Focus::Throughput => crossprof::compare::Focus::Throughput,
            Focus::Kernels => crossprof::compare::Focus::Kernels,
            Focus::Timing => crossprof::compare::Focus::Timing,
            Focus::All => crossprof::compare::Focus::All,
        }
    }
}

/// The name after `--html` may be left out: a profile that follows must not be taken for it, and overwritten.
fn page_name(text: &str) -> Result<PathBuf, String> {
    let path = PathBuf::from(text);
    match OutputFormat::of_name(&path) {
        Ok(OutputFormat::Html) => Ok(path),
        _ => Err("the name must end in .html; give --html last where it has no name".to_owned()),
    }
}

/// A run of several captures.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    /// Name of the run.
    pub name: String,
    /// The captures.
    pub files: Vec<PathBuf>,
}

fn group(text: &str) -> Result<Group, String> {
    let (name, files) = text.split_once('=').ok_or("NAME=FILE,FILE,... is needed")?;
    let files: Vec<PathBuf> = files.split(',').filter(|file| !file.is_empty()).map(PathBuf::from).collect();
    if name.is_empty() || files.is_empty() {
        return Err("NAME=FILE,FILE,... is needed: a name and at least one capture".to_owned());
    }
    Ok(Group { name: name.to_owned(), files })
}

fn condition(text: &str) -> Result<Condition, String> {
    Condition::parse(text).map_err(|error| error.message)
}

/// A share, of a percentage.
fn threshold(text: &str) -> Result<f64, String> {
    match text.trim().trim_end_matches('%').trim_end().parse::<f64>() {
        Ok(percent) if (0.0..=100.0).contains(&percent) => Ok(percent / 100.0),
        _ => Err("a percentage from 0 to 100 is needed".to_owned()),
    }
}

fn positive(text: &str) -> Result<f64, String> {
    match text.trim().parse::<f64>() {
        // Sums and ratios of larger ones would be infinite.
        Ok(value) if value > 0.0 && value <= 1e12 => Ok(value),
        _ => Err("a number above 0, and of at most 1e12, is needed".to_owned()),
    }
}
