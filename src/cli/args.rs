//! Arguments of the command line.

mod agent;
mod compare;
mod hlo;
mod named;
#[cfg(feature = "view")]
mod view;

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use base::suggest;

#[cfg(feature = "mcp")]
pub(super) use agent::Mcp;
pub(super) use agent::{AgentFormat, Ask, Baseline, BaselineAction, Digest, Inspect, Skill, SkillAction};
pub(super) use compare::{Compare, Group, Scaling};
pub(super) use hlo::{Hlo, HloFormat, HloGroups};
#[cfg(feature = "view")]
pub(super) use view::View;

use super::output_format::OutputFormat;
use super::time::Time;
use crossprof::report::FindingSeverity;
pub(super) use named::known_device;
use named::{Device, Tables};

use clap::{Parser, Subcommand, ValueEnum};

const EXAMPLES: &str = "\
Examples:
  crossprof analyze host.xplane.pb
  crossprof analyze logdir --batch-size 16 --seq-length 2048
  crossprof analyze trace.json.gz --num-steps 5 --output-json profile.json
  crossprof analyze host.xplane.pb --output report.html
  curl -s https://host/trace.json.gz | crossprof analyze -
  crossprof table kernels host.xplane.pb --format csv > kernels.csv
  crossprof table steps logdir
  crossprof table ops host.xplane.pb --filter 'category:fusion -copy' --sort=-total_self_time_us --top 20
  crossprof table op-tree host.xplane.pb --by scope
  crossprof table range host.xplane.pb --from 1.20s --to 1.25s --line 'GPU:0' --by category
  crossprof table events host.xplane.pb --from 1.20s --to 1.25s --line 'GPU:0/Stream*'
  crossprof table events host.xplane.pb --line 'TPU:0/XLA Ops' --top 5 --arguments --format json
  crossprof analyze logdir --fail-on warning
  crossprof check logdir --limit 'step_timing.avg_step_time_us < 150 ms'
  crossprof compare main new --output report.html

crossprof searches a folder for profiles: each plugins/profile/<run> is one run. It also reads archives (zip, tar, tar.gz) of
such a folder.

Exit status: 0 the profile was read; 1 it was read, but parts of it are damaged or lost (the warnings say which);
2 a file is not a profile, the result cannot be written, or an argument is wrong; 3 a finding has the severity of --fail-on, or a
higher one.";

const CHECK_HELP: &str = "\
Examples:
  crossprof check logdir --limit 'step_timing.avg_step_time_us < 150 ms'
  crossprof check logdir --budget budget.toml --baseline main.json
  crossprof check logdir --budget budget.toml --output junit.xml --output summary.md

A limit consists of the path of a number in the profile, a comparison and a bound:
  compute_utilization.compute_util_percent >= 70
  throughput.steps_per_sec >= 0.97 * baseline
  multi_device.device_stats[*].utilization_percent >= 60 %
  count(findings[severity=critical]) == 0
  slower <= 3 %                               than the baseline, beyond the noise
docs/budgets.md describes limits and the budget file.

Exit status: 0 every limit holds; 1 a limit does not hold, or its number is absent; 2 the budget is wrong, or a file is not a
profile.";

/// Analyses JAX profiles from TPUs, GPUs and CPUs.
#[derive(Debug, Parser)]
#[command(name = "crossprof", version, after_help = EXAMPLES, arg_required_else_help = true)]
pub(super) struct Args {
    /// The command to run. `analyze` if none is given.
    #[command(subcommand)]
    pub command: Command,
}

/// The subcommands.
#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// Report step time, device utilisation, kernels and more for each run
    #[command(after_help = EXAMPLES)]
    Analyze(Analyze),
    /// Print one table for each run
    #[command(after_help = EXAMPLES)]
    Table(Table),
    /// Check the numbers of each run against limits
    #[command(after_help = CHECK_HELP)]
    Check(Check),
    /// Compare runs: which is faster, by how much beyond the noise, why, and whether the comparison is fair
    #[command(after_help = compare::HELP)]
    Compare(Compare),
    /// Draw the timeline of a step or of any range as an SVG. Two runs are drawn one above the other, and ops are coloured by
    /// the time that they gained or lost
    Timeline(Timeline),
    /// Print a compiled program or the neighbourhood of one op: as HLO text with the time of each instruction, or as a graph
    #[command(after_help = hlo::HELP)]
    Hlo(Hlo),
    /// Serve the page and the profiles below a folder on this machine, and open the browser
    #[cfg(feature = "view")]
    #[command(after_help = view::HELP)]
    View(View),
    /// Summarise each run for an agent, within a limit in bytes
    #[command(after_help = agent::DIGEST_HELP)]
    Digest(Digest),
    /// Check whether a capture contains the data that a question needs, and name the options that record missing data
    #[command(after_help = agent::INSPECT_HELP)]
    Inspect(Inspect),
    /// Call a tool for agents, and print its answer as JSON
    #[command(after_help = agent::ASK_HELP)]
    Ask(Ask),
    /// Name captures, to compare later captures with them
    #[command(after_help = agent::BASELINE_HELP)]
    Baseline(Baseline),
    /// Write a file that teaches agents to work with profiles
    Skill(Skill),
    /// Serve the tools for agents over the Model Context Protocol, on standard input and output. Read-only
    #[cfg(feature = "mcp")]
    Mcp(Mcp),
    /// Print the JSON Schema of a document
    Schema(Schema),
    /// Print a shell completion script for this command
    #[command(after_help = COMPLETIONS_HELP)]
    Completions(Completions),
    /// Print the licences of the software that this program contains
    Notices,
}

const COMPLETIONS_HELP: &str = "\
Examples:
  crossprof completions bash > ~/.local/share/bash-completion/completions/crossprof
  crossprof completions zsh > ~/.zfunc/_crossprof          (a folder of fpath)
  crossprof completions fish > ~/.config/fish/completions/crossprof.fish";

/// `crossprof completions`.
#[derive(Debug, clap::Args)]
pub(super) struct Completions {
    /// The shell to complete for
    #[arg(value_enum)]
    pub shell: clap_complete::Shell,
}

/// Inputs that most commands share.
#[derive(Debug, clap::Args)]
pub(super) struct Inputs {
    /// Profiles, folders or archives of profiles; - is standard input
    #[arg(value_name = "FILE|DIR", required_unless_present = "trace_file")]
    pub files: Vec<PathBuf>,
    /// Same as FILE or DIR (also --logdir)
    #[arg(long, aliases = ["trace_file", "logdir"], value_name = "FILE|DIR", hide_short_help = true)]
    pub trace_file: Vec<PathBuf>,
    /// Price of one device in dollars per hour: adds the price of lost time
    #[arg(long, value_name = "DOLLARS", value_parser = compare::positive)]
    pub price: Option<f64>,
    /// Facts that the trace does not contain.
    #[command(flatten)]
    pub model: Model,
}

impl Inputs {
    /// Returns all given paths, in order.
    pub(super) fn paths(&self) -> impl Iterator<Item = &PathBuf> {
        self.files.iter().chain(&self.trace_file)
    }
}

/// Facts that the trace does not contain.
#[derive(Clone, Debug, Default, clap::Args)]
pub(super) struct Model {
    /// Number of steps in the capture, instead of the number found in it
    #[arg(long, alias = "num_steps", value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub num_steps: Option<u64>,
    /// Samples per step over all devices, for samples/s
    #[arg(long, alias = "batch_size", value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub batch_size: Option<u64>,
    /// Tokens per sample, for tokens/s (with --batch-size)
    #[arg(long, alias = "seq_length", value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub seq_length: Option<u64>,
    /// Device whose peak rates are used instead of the device in the profile (`h100-sxm`, `tpu-v5e`, `v4-8`; see
    /// docs/metrics.md)
    #[arg(long, value_name = "DEVICE", value_parser = Device, hide_possible_values = true)]
    pub device: Option<String>,
    /// Model configuration: a Hugging Face config.json or a crossprof.json
    #[arg(long, alias = "model_config", value_name = "FILE")]
    pub model_config: Option<PathBuf>,
    /// Part of the capture to measure: main (the counted steps, or the active span if there are none), all, active,
    /// steps:FIRST-LAST, or FROM-TO in microseconds from the start of the capture
    #[arg(long, value_name = "WINDOW", default_value_t, hide_default_value = true)]
    pub window: crossprof::WindowChoice,
    /// Folder of the checkpoint, whose config.json or crossprof.json describes the model. Without this option,
    /// crossprof looks for these files next to the profile and in the folders above it
    #[arg(long, alias = "checkpoint_dir", value_name = "DIR")]
    pub checkpoint_dir: Option<PathBuf>,
}

/// `crossprof analyze`.
#[derive(Debug, clap::Args)]
pub(super) struct Analyze {
    /// Inputs of the command.
    #[command(flatten)]
    pub inputs: Inputs,
    /// Also write the profile as JSON to this file (an array if there are several runs)
    #[arg(long, alias = "output_json", value_name = "OUT")]
    pub output_json: Option<PathBuf>,
    /// Also write the report to this file. The extension selects the format: .html (one self-contained page), .md
    /// (Markdown) or .json. May be given several times
    #[arg(long, value_name = "OUT")]
    pub output: Vec<PathBuf>,
    /// Format of the printed report
    #[arg(long, value_enum, default_value_t = OutputFormat::Text)]
    pub format: OutputFormat,
    /// Exit with status 3 if a run has a finding of this severity or a higher one
    #[arg(long, alias = "fail_on", value_enum, value_name = "SEVERITY")]
    pub fail_on: Option<FailOn>,
}

/// `crossprof table`.
#[derive(Debug, clap::Args)]
#[command(mut_arg("files", |files| files.required_unless_present("columns")), after_long_help = named::tables_help())]
pub(super) struct Table {
    /// The table to print
    #[arg(value_name = "TABLE", value_parser = Tables, hide_possible_values = true, required_unless_present = "columns")]
    pub table: Option<crossprof::TableName>,
    /// Print the columns of this table, or of all tables, instead of rows: key, heading, unit, type and meaning. Reads no FILE
    #[arg(long, value_name = "TABLE", num_args = 0..=1, default_missing_value = "", hide_possible_values = true,
        value_parser = named::OneOrAll, conflicts_with_all = ["files", "trace_file"])]
    pub columns: Option<named::OneOrAllTables>,
    /// Inputs of the command.
    #[command(flatten)]
    pub inputs: Inputs,
    /// Print only rows that contain all of these words, and none of the words that start with a minus. `column:word` and
    /// `column>number` test one column
    #[arg(long, value_name = "WORDS", default_value = "", hide_default_value = true)]
    pub filter: String,
    /// Sort by this column. A minus in front of the column puts the largest value first (--sort=-total_self_time_us)
    #[arg(long, value_name = "COLUMN", allow_hyphen_values = true)]
    pub sort: Option<String>,
    /// Print at most this many rows
    #[arg(long, value_name = "N")]
    pub top: Option<u32>,
    /// Print only these columns, in this order: keys or headings, separated by commas. `leading` selects the columns that
    /// the page shows first, and `all` selects every column. On a terminal, the default is `leading`
    #[arg(long, value_name = "COLUMNS", conflicts_with = "columns")]
    pub select: Option<String>,
    /// For the events and range tables: start at this time, measured from the start of the capture (1.20s, 15ms, 800us,
    /// 30ns, 5ps; a plain number is in microseconds)
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    pub from: Option<Time>,
    /// For the events and range tables: end at this time
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    pub to: Option<Time>,
    /// For the events and range tables: include only the track with this name, the tracks of the process with this name
    /// ('GPU:0', 'GPU:*/Stream #13*'), or the tracks that ran ops of the device with this name ('CPU:2'). * matches any
    /// text. May be given several times
    #[arg(long, value_name = "PATTERN")]
    pub line: Vec<String>,
    /// For the events table: also print all arguments of each listed event. To get the arguments, crossprof reads the
    /// file a second time
    #[arg(long)]
    pub arguments: bool,
    /// Form of the table, if it has several. [`forms`] lists them
    #[arg(long, value_name = "FORM", default_value = "", hide_default_value = true, help = forms())]
    pub by: String,
    /// For the memory-what-if table: the change to evaluate, as
    /// `rematerialize=SCOPE,...; donate=NUMBER,...; batch=SIZE; without=BUFFER,...`
    #[arg(long, value_name = "CHANGE", conflicts_with = "by")]
    pub change: Option<String>,
    /// Format of the printed table
    #[arg(long, value_enum, default_value_t = TableFormat::Text)]
    pub format: TableFormat,
}

impl Table {
    /// Returns the table to print.
    pub(super) fn name(&self) -> crossprof::TableName {
        // clap requires a table unless columns are requested.
        self.table.unwrap_or(crossprof::TableName::Steps)
    }
}

/// Lists the tables that have several forms, and these forms.
fn forms() -> String {
    let tables = crossprof::TableName::ALL.into_iter().filter_map(|table| {
        let (last, others) = table.forms().split_last()?;
        Some(format!("{} by {} or {last}", table.key(), others.join(", ")))
    });
    format!("Form of the table. The tables with several forms are: {}", tables.collect::<Vec<_>>().join("; "))
}

/// `crossprof timeline`.
#[derive(Debug, clap::Args)]
pub(super) struct Timeline {
    /// Inputs of the command.
    #[command(flatten)]
    pub inputs: Inputs,
    /// Draw the step with this name, or with this index if no step has the name
    #[arg(long, value_name = "STEP", conflicts_with_all = ["from", "to"])]
    pub step: Option<String>,
    /// Start at this time, measured from the start of the capture (1.20s, 15ms, 800us; a plain number is in microseconds)
    #[arg(long, value_name = "TIME")]
    pub from: Option<Time>,
    /// End at this time
    #[arg(long, value_name = "TIME")]
    pub to: Option<Time>,
    /// Draw only the tracks with this name, selected by track, process or both (GPU:0/Stream*), or by the device whose ops ran
    /// on them (CPU:2). May be given several times
    #[arg(long, value_name = "PATTERN")]
    pub line: Vec<String>,
    /// Width of the picture in pixels
    #[arg(long, value_name = "PIXELS", default_value_t = 1600, value_parser = clap::value_parser!(u32).range(400..=20_000))]
    pub width: u32,
    /// Colour ops by their class (own), or by the time that they gained or lost between two runs (change). The default is
    /// change for two runs whose ops can be compared, and own otherwise
    #[arg(long, alias = "colors", value_enum)]
    pub colours: Option<Colours>,
    /// Draw on a dark background
    #[arg(long)]
    pub dark: bool,
    /// Also draw host threads if the run has devices
    #[arg(long)]
    pub hosts: bool,
    /// File to write: an SVG, or a Chrome trace of the range if the name ends with .json or .json.gz. Without this option,
    /// the SVG is printed
    #[arg(long, value_name = "FILE")]
    pub output: Option<PathBuf>,
}

/// Colours of ops in a timeline.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Colours {
    /// The class of the op
    Own,
    /// The time that the op gained or lost between two runs
    Change,
}

/// `crossprof check`.
#[derive(Debug, clap::Args)]
pub(super) struct Check {
    /// Inputs of the command.
    #[command(flatten)]
    pub inputs: Inputs,
    /// Budget: limits in TOML (docs/budgets.md)
    #[arg(long, value_name = "TOML", required_unless_present = "limit")]
    pub budget: Option<PathBuf>,
    /// A limit, in addition to the limits of the budget: 'step_timing.avg_step_time_us < 150 ms'. May be given several
    /// times
    #[arg(long, value_name = "RULE")]
    pub limit: Vec<String>,
    /// Baseline of the limits, instead of the baseline in the budget: a profile, folder, archive or named baseline. If
    /// this option is given several times, the baseline is the median of the given profiles
    #[arg(long, value_name = "FILE|DIR")]
    pub baseline: Vec<PathBuf>,
    /// Baseline run to compare with, if the baseline contains several runs. The default is the run with the same name.
    /// A pattern ('main-*') selects all matching runs, and the baseline is their median
    #[arg(long, alias = "baseline_run", value_name = "NAME")]
    pub baseline_run: Option<String>,
    /// Check only this run, if the profile contains several
    #[arg(long, value_name = "NAME")]
    pub run: Vec<String>,
    /// Format of the printed result, or of the file that --output names
    #[arg(long, value_enum)]
    pub format: Option<CheckFormat>,
    /// Also write the result to this file. The format comes from --format or, without that option, from the file's
    /// extension (.xml for JUnit, .md for Markdown, .json). Standard output then shows text. May be given several times
    #[arg(long, value_name = "OUT")]
    pub output: Vec<PathBuf>,
}

/// `crossprof schema`.
#[derive(Debug, clap::Args)]
pub(super) struct Schema {
    /// The document whose schema is printed
    #[arg(value_enum, default_value_t = Document::Profile)]
    pub document: Document,
}

/// Documents that have a schema.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Document {
    /// Written by `crossprof analyze`
    Profile,
    /// Written by `crossprof compare`
    Comparison,
    /// Written by `crossprof digest --format json`
    Digest,
}

/// Formats of the result of a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum CheckFormat {
    /// A readable table
    Text,
    /// Markdown, for a pull request or a job summary
    Markdown,
    /// XML for the test view of a CI system
    Junit,
    /// The complete result as JSON, for programs
    Json,
}

impl CheckFormat {
    /// Returns the format that the file's extension selects.
    pub(super) fn of_name(path: &std::path::Path) -> CheckFormat {
        let extension = path.extension().map(|it| it.to_string_lossy().to_lowercase());
        match extension.as_deref() {
            Some("xml") => CheckFormat::Junit,
            Some("md" | "markdown") => CheckFormat::Markdown,
            Some("json") => CheckFormat::Json,
            _ => CheckFormat::Text,
        }
    }
}

/// Severities for `--fail-on`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum FailOn {
    /// Any finding
    Note,
    /// A warning or a critical finding
    Warning,
    /// A critical finding
    Critical,
}

impl FailOn {
    /// Returns the lowest severity that makes the command fail.
    pub(super) fn least(self) -> FindingSeverity {
        match self {
            FailOn::Note => FindingSeverity::Note,
            FailOn::Warning => FindingSeverity::Warning,
            FailOn::Critical => FindingSeverity::Critical,
        }
    }
}

/// Formats of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum TableFormat {
    /// Aligned, readable columns
    Text,
    /// Exact numbers, one line per row
    Csv,
    /// An array of objects
    Json,
}

/// Commands that only the Python package has.
const OF_PYTHON: [&str; 2] = ["scale", "lake"];

/// Returns the arguments. If they name no command (`crossprof FILE`, `crossprof --trace_file FILE`), inserts `analyze`.
/// `commands` contains the names of all commands.
///
/// # Errors
///
/// Fails with a message if the first word is neither a command nor a file, but resembles a command.
pub(super) fn with_default_command(
    arguments: impl Iterator<Item = OsString>,
    commands: &[&str],
) -> Result<Vec<OsString>, String> {
    let mut arguments: Vec<OsString> = arguments.collect();
    let Some(first) = arguments.get(1) else { return Ok(arguments) };
    let others = ["help", "-h", "--help", "-V", "--version"];
    if !commands.iter().chain(&others).any(|known| first == known) {
        if let Some(word) = first.to_str().filter(|_| !Path::new(first).exists()) {
            if OF_PYTHON.contains(&word) {
                return Err(format!(
                    "`crossprof {word}` is part of the Python package: pip install crossprof, and call its crossprof."
                ));
            }
            let is_name = word.chars().all(|letter| letter.is_ascii_alphabetic());
            let near = if is_name { suggest::words(word, commands) } else { Vec::new() };
            if !near.is_empty() {
                return Err(format!("{word} is neither a command nor a file.{}", suggest::question(&near)));
            }
        }
        arguments.insert(1, "analyze".into());
    }
    Ok(arguments)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<Args, clap::Error> {
        let commands = ["analyze", "table"];
        Args::try_parse_from(with_default_command(line.split(' ').map(OsString::from), &commands).unwrap())
    }

    #[test]
    fn a_file_alone_is_analysed_and_both_spellings_work() {
        for line in [
            "crossprof --trace_file t.json --num_steps 5 --output_json o.json",
            "crossprof t.json --num-steps 5 --output-json o.json",
            "crossprof analyze t.json --num-steps=5 --output-json=o.json",
        ] {
            let Command::Analyze(analyze) = parse(line).unwrap().command else { panic!("{line}") };
            assert_eq!(analyze.inputs.paths().collect::<Vec<_>>(), [&PathBuf::from("t.json")], "{line}");
            assert_eq!(analyze.inputs.model.num_steps, Some(5));
            assert_eq!(analyze.output_json, Some(PathBuf::from("o.json")));
        }
    }

    #[test]
    fn commands_of_the_python_package_are_named() {
        let call = |commands: &[&str]| {
            with_default_command(["crossprof", "lake", "sql"].map(OsString::from).into_iter(), commands)
        };
        assert!(call(&["analyze"]).unwrap_err().contains("pip install crossprof"));
        assert_eq!(call(&["analyze", "lake"]).unwrap().len(), 3);
    }

    #[test]
    fn a_word_that_is_nearly_a_command_is_no_file() {
        let parse = |word: &str| {
            with_default_command(["crossprof", word].map(OsString::from).into_iter(), &["analyze", "table"])
        };
        let message = parse("anlyze").unwrap_err();
        assert!(message.contains("anlyze is neither a command nor a file. Did you mean analyze?"), "{message}");
        for word in ["tables.json", "Cargo.toml", "logs", "--num-steps=2"] {
            assert_eq!(parse(word).unwrap()[1], "analyze", "{word}");
        }
    }

    #[test]
    fn wrong_calls_are_refused() {
        for line in [
            "crossprof",
            "crossprof analyze",
            "crossprof table nope t.json",
            "crossprof t.json --num-steps 0",
            "crossprof t.json --window 7",
        ] {
            assert!(parse(line).is_err(), "{line}");
        }
    }
}
