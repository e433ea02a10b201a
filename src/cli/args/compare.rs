//! Arguments of `crossprof compare`.

use std::path::PathBuf;

use clap::ValueEnum;

use super::super::output_format::OutputFormat;
use super::Model;
use crossprof::budget::Condition;

pub(super) const HELP: &str = "\
Examples:
  crossprof compare main.xplane.pb new.xplane.pb
  crossprof compare main.json new.json --output report.html --output summary.md
  crossprof compare --gpu gpu.json --tpu tpu.json --output report.html --power 700,250 --price 2.5,1.2
  crossprof compare --group main=a0.json,a1.json,a2.json --group new=b0.json,b1.json,b2.json
  crossprof compare main new --focus timing --html           (folders with several captures: one run per folder)
  crossprof compare one two four eight --scaling strong
  crossprof compare checkpoints --format markdown
  crossprof compare new --baseline main                      (main: set by crossprof baseline set)
  crossprof compare main.json new.json --fail-on 'slower > 3 %' --fail-on 'new critical finding'

Each FILE is a profile, a folder or archive of profiles, a profile JSON or a report of an earlier comparison. Values that belong to runs
(--name, --power, --price) are in the order of the runs; docs/compare.md explains the method.

Conditions of --fail-on. Each is checked for every run, compared with the baseline:
  slower > 3 %             its typical step takes longer, beyond the noise, and by more than 3 %
  capture slower > 5 %     the same, but for all its steps together, including compilation, warm-up and stalls
  new finding              a warning or a critical finding that the baseline lacks (or: new critical finding)
  unstable                 its captures, or the baseline's, differ too much from each other

Exit status: 0 the runs were compared; 1 they were, but parts of a file are damaged or lost; 2 they were not, or a file could not be
written; 3 a condition of --fail-on is met, or cannot be checked.";

/// `crossprof compare`.
#[derive(Debug, clap::Args)]
pub(crate) struct Compare {
    /// At least two profiles, folders or archives of profiles, or reports; - is standard input
    #[arg(value_name = "FILE|DIR", required_unless_present_any = ["gpu", "tpu", "group"])]
    pub files: Vec<PathBuf>,
    /// A run on GPUs. This run is placed after the runs of FILE
    #[arg(long, value_name = "FILE|DIR")]
    pub gpu: Vec<PathBuf>,
    /// A run on TPUs. This run is placed after the runs of FILE and --gpu
    #[arg(long, value_name = "FILE|DIR")]
    pub tpu: Vec<PathBuf>,
    /// A run with several captures of the same program: its name and its captures. Such a run is placed after all other
    /// runs. May be given several times
    #[arg(long, value_name = "NAME=FILE|DIR,...", value_parser = group)]
    pub group: Vec<Group>,
    /// Treat each capture as a run. By default, if every FILE is a folder with several captures of the same program, each
    /// folder is one run
    #[arg(long)]
    pub no_groups: bool,
    /// Smallest difference between two runs that matters to you, in percent. Smaller differences are ignored, even if
    /// they are certain
    #[arg(long, value_name = "PERCENT", value_parser = threshold)]
    pub threshold: Option<f64>,
    /// Run with which all other runs are compared: its index (from 0), its name, or the name of a baseline (crossprof
    /// baseline set) [default: the baseline of a report, or else the first run]
    #[arg(long, value_name = "N|NAME")]
    pub baseline: Option<String>,
    /// Name of a run, in the order of the runs; may be given several times
    #[arg(long, value_name = "NAME")]
    pub name: Vec<String>,
    /// Power of one device of each run in watts (a single value applies to all runs): adds work per joule
    #[arg(long, value_name = "WATTS,...", value_delimiter = ',', value_parser = positive)]
    pub power: Vec<f64>,
    /// Price of one device of each run in dollars per hour (a single value applies to all runs): adds work per dollar
    #[arg(long, value_name = "DOLLARS,...", value_delimiter = ',', value_parser = positive)]
    pub price: Vec<f64>,
    /// How the work grows with the number of devices. By default, this is derived from the batch sizes
    #[arg(long, value_enum, value_name = "KIND")]
    pub scaling: Option<Scaling>,
    /// Part of the comparison to print: all parts, or only rates, kernels or times. Files written by --output always
    /// contain all parts
    #[arg(long, value_enum, default_value_t = Focus::All)]
    pub focus: Focus,
    /// Also write the comparison as a web page to this file
    #[arg(long, value_name = "OUT", num_args = 0..=1, default_missing_value = "comparison_report.html",
        value_parser = page_name)]
    pub html: Option<PathBuf>,
    /// Also write a report to this file. The extension selects the format: .html, .md or .json. May be given several
    /// times
    #[arg(long, value_name = "OUT")]
    pub output: Vec<PathBuf>,
    /// Also write the comparison as JSON to this file
    #[arg(long, alias = "output_json", value_name = "OUT")]
    pub output_json: Option<PathBuf>,
    /// Exit with status 3 if this condition is true for a run, compared with the baseline:
    /// 'slower > 3 %', 'capture slower > 5 %', 'new finding', 'new critical finding', 'unstable'.
    /// May be given several times
    #[arg(long, alias = "fail_on", value_name = "CONDITION", value_parser = condition)]
    pub fail_on: Vec<Condition>,
    /// Format of the printed comparison
    #[arg(long, value_enum, default_value_t = OutputFormat::Text)]
    pub format: OutputFormat,
    /// Facts that the traces do not contain. These facts apply to every run.
    #[command(flatten)]
    pub model: Model,
}

/// How the work grows with the number of devices.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Scaling {
    /// The work stays the same
    Strong,
    /// The work grows in proportion
    Weak,
}

/// Part of a comparison to print.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Focus {
    /// Rates and step times
    Throughput,
    /// Ops and kernels, and how busy the devices are
    Kernels,
    /// Step times, their parts and their causes
    Timing,
    /// Everything
    All,
}

/// Converts to the library's type.
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

/// Checks the optional name after `--html`, so that a profile that follows the option is not taken as its value and
/// overwritten.
fn page_name(text: &str) -> Result<PathBuf, String> {
    let path = PathBuf::from(text);
    match OutputFormat::of_name(&path) {
        Ok(OutputFormat::Html) => Ok(path),
        _ => Err("the name must end in .html; give --html last if it has no name".to_owned()),
    }
}

/// A run with several captures.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Group {
    /// Name of the run.
    pub name: String,
    /// Paths of the captures.
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
    Condition::parse(text).map_err(|error| error.to_string())
}

/// Reads a percentage and returns it as a fraction.
fn threshold(text: &str) -> Result<f64, String> {
    match text.trim().trim_end_matches('%').trim_end().parse::<f64>() {
        Ok(percent) if (0.0..=100.0).contains(&percent) => Ok(percent / 100.0),
        _ => Err("a percentage from 0 to 100 is needed".to_owned()),
    }
}

pub(super) fn positive(text: &str) -> Result<f64, String> {
    match text.trim().parse::<f64>() {
        // Sums and ratios of larger numbers would overflow.
        Ok(value) if value > 0.0 && value <= 1e12 => Ok(value),
        _ => Err("a number above 0 and at most 1e12 is needed".to_owned()),
    }
}
