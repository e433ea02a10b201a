//! Arguments of `crossprof hlo`.

use std::path::PathBuf;

use clap::ValueEnum;

use super::Inputs;

pub(super) const HELP: &str = "\
Examples:
  crossprof hlo host.xplane.pb
  crossprof hlo host.xplane.pb --op fusion.273
  crossprof hlo host.xplane.pb --program 'jit_step(17)' --op fusion.273 --radius 2 --output fusion.svg
  crossprof hlo host.xplane.pb --program jit_step --by layers --open 'forward/layer_*' --output layers.svg
  crossprof hlo host.xplane.pb --program jit_step --critical-path
  crossprof hlo dumps --program jit_step --format json > step.json      for Model Explorer
  crossprof hlo dumps --program jit_step --format node-data > times.json
  crossprof hlo host.xplane.pb --op fusion.273 --output fusion.py       run one op alone, with JAX
  crossprof hlo dumps-main --against dumps-new --program jit_step
  crossprof hlo dumps --program 'jit_step(3)' --against-program 'jit_step(57)' --format json > difference.json

The text shows the self time of each instruction in front of the instruction. The ops table contains the same times. A graph
shows a whole computation in groups, which --open opens, or the neighbourhood of --op. Like XProf, it leaves out some
instructions: --tuples, --constants, --bitcasts and --all-users include them.";

/// `crossprof hlo`.
#[derive(Debug, clap::Args)]
pub(crate) struct Hlo {
    /// Inputs of the command.
    #[command(flatten)]
    pub inputs: Inputs,
    /// The program: its name with or without the number (`jit_step(17)`), its number, or its fingerprint. An earlier stage of a
    /// dump follows a colon (`jit_step:before_optimizations`). Not needed if there is only one program, or if only one
    /// program contains the op
    #[arg(long, value_name = "PROGRAM")]
    pub program: Option<String>,
    /// Print the neighbourhood of the instruction with this name
    #[arg(long, value_name = "NAME", conflicts_with = "computation")]
    pub op: Option<String>,
    /// Number of steps from --op to the farthest operands and users
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub radius: u32,
    /// Print this computation. By default, text and JSON contain all computations, and pictures show the entry
    /// computation
    #[arg(long, value_name = "NAME")]
    pub computation: Option<String>,
    /// How instructions are grouped in a graph
    #[arg(long, value_enum, default_value_t = HloGroups::Layers)]
    pub by: HloGroups,
    /// Open a group or an instruction of a graph, named by its path in the picture (`forward/layer_*/%while.3`). `all` opens all.
    /// May be given several times
    #[arg(long, value_name = "PATH")]
    pub open: Vec<String>,
    /// Include tuple and get-tuple-element instructions in a graph. Without this option, edges pass through these
    /// instructions
    #[arg(long)]
    pub tuples: bool,
    /// Draw constants as nodes, instead of writing them into their users
    #[arg(long)]
    pub constants: bool,
    /// Count bitcasts as steps of --radius
    #[arg(long)]
    pub bitcasts: bool,
    /// Include all users of instructions with more than 16 users, and all operands of tuples
    #[arg(long, alias = "all_users")]
    pub all_users: bool,
    /// Print the chain of dependent instructions with the most device time, instead of the program
    #[arg(long, alias = "critical_path", conflicts_with_all = ["op", "format"])]
    pub critical_path: bool,
    /// Compare the program with a program of this input, and print the instructions that are new, gone or changed. The
    /// other inputs are A, and this input is B. By default, crossprof compares programs with the same name.
    /// Instructions are matched by structure
    #[arg(long, value_name = "FILE|DIR", conflicts_with_all = ["op", "computation", "critical_path"])]
    pub against: Option<PathBuf>,
    /// The program of B to compare with: its name, number or fingerprint, as for --program. Without --against, B is the
    /// same input as A
    #[arg(long, alias = "against_program", value_name = "PROGRAM", conflicts_with_all = ["op", "computation", "critical_path"])]
    pub against_program: Option<String>,
    /// Format of the result. By default, the extension of --output decides. Without --output, the result is text
    #[arg(long, value_enum)]
    pub format: Option<HloFormat>,
    /// File to write, instead of printing the result
    #[arg(long, value_name = "FILE")]
    pub output: Option<PathBuf>,
}

/// Formats of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum HloFormat {
    /// HLO text with the time of each instruction
    Text,
    /// The graph for Graphviz
    Dot,
    /// The graph for Model Explorer
    Json,
    /// The times of the instructions as node data for Model Explorer
    NodeData,
    /// A picture of the graph
    Svg,
    /// A Python script that runs the instruction of --op alone, with JAX
    Jax,
}

/// How instructions are grouped in a graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum HloGroups {
    /// Name scopes. Numbered layers with the same structure are one group
    Layers,
    /// Name scopes, with a separate group for each layer
    Scopes,
    /// Only called computations are groups
    Computations,
}

impl Hlo {
    /// Returns true if two programs are compared.
    pub(crate) fn compares(&self) -> bool {
        self.against.is_some() || self.against_program.is_some()
    }

    /// Returns the format of the result.
    pub(crate) fn format(&self) -> HloFormat {
        let extension =
            self.output.as_ref().and_then(|path| path.extension()).map(|it| it.to_string_lossy().to_lowercase());
        self.format.unwrap_or(match extension.as_deref() {
            Some("svg") => HloFormat::Svg,
            Some("py") => HloFormat::Jax,
            Some("dot" | "gv") => HloFormat::Dot,
            Some("json") => HloFormat::Json,
            _ => HloFormat::Text,
        })
    }
}
