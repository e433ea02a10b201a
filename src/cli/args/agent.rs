//! Arguments of the commands for agents: `digest`, `inspect`, `ask`, `baseline`, `skill` and `mcp`.

use std::path::PathBuf;

use clap::{Subcommand, ValueEnum};

use super::Inputs;
use crossprof::export::digest::{DEFAULT_BYTES, LEAST_BYTES};

pub(super) const DIGEST_HELP: &str = "\
Examples:
  crossprof digest logdir
  crossprof digest host.xplane.pb --max-bytes 1000 --format json

The digest names what the capture covers, the step time and its parts, the first findings with the share of the step that each
can save at most, hot scopes and ops by id, what was not measured and how to record it, and the next commands. Items that do not
fit are left out and counted. Quoted text comes from the capture.";

pub(super) const ASK_HELP: &str = "\
Examples:
  crossprof ask open logdir
  crossprof ask table logdir table=ops sort=-total_self_time_us limit=5
  crossprof ask range logdir step=3 by=category
  crossprof ask op logdir op=op:fusion.12
  crossprof ask compare new baseline=main

Tools: open, digest, table, range, op, compare. The answer is JSON with units, definitions, evidence, warnings and what was not
measured, in at most max_bytes bytes (4000). docs/agents.md describes the tools.";

pub(super) const INSPECT_HELP: &str = "\
Examples:
  crossprof inspect logdir --for collectives
  crossprof inspect logdir

Questions: step time, ops, collectives, kernels, roofline, memory, input, host, layers, source, compare. Without a question, all
parts are checked.";

pub(super) const BASELINE_HELP: &str = "\
Examples:
  crossprof baseline set main logdir-0 logdir-1 logdir-2
  crossprof compare --baseline main new
  crossprof baseline list

Baselines are kept in the folder .crossprof of the working directory: the hash of each capture, its path, and its profile.";

/// `crossprof digest`.
#[derive(Debug, clap::Args)]
pub(crate) struct Digest {
    /// Inputs of the command.
    #[command(flatten)]
    pub inputs: Inputs,
    /// Largest size of the digest of a run in bytes
    #[arg(long, value_name = "N", default_value_t = DEFAULT_BYTES, value_parser = bytes)]
    pub max_bytes: usize,
    /// Format of the digest
    #[arg(long, value_enum, default_value_t = AgentFormat::Text)]
    pub format: AgentFormat,
}

fn bytes(text: &str) -> Result<usize, String> {
    match text.parse::<usize>() {
        Ok(bytes) if bytes >= LEAST_BYTES => Ok(bytes),
        _ => Err(format!("a number of at least {LEAST_BYTES} is needed")),
    }
}

/// Formats for agents.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum AgentFormat {
    /// Lines of text
    Text,
    /// One line of JSON
    Json,
}

/// `crossprof inspect`.
#[derive(Debug, clap::Args)]
pub(crate) struct Inspect {
    /// A profile, folder or archive
    #[arg(value_name = "FILE|DIR")]
    pub capture: PathBuf,
    /// Question that the capture should answer
    #[arg(long = "for", value_name = "QUESTION", default_value = "", hide_default_value = true)]
    pub question: String,
    /// Index of the run, if the capture contains several
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub run: usize,
    /// Format of the answer
    #[arg(long, value_enum, default_value_t = AgentFormat::Text)]
    pub format: AgentFormat,
}

/// `crossprof ask`.
#[derive(Debug, clap::Args)]
pub(crate) struct Ask {
    /// The tool: open, digest, table, range, op or compare
    #[arg(value_name = "TOOL")]
    pub tool: String,
    /// The capture, and other arguments of the tool as KEY=VALUE
    #[arg(value_name = "CAPTURE|KEY=VALUE", allow_hyphen_values = true)]
    pub arguments: Vec<String>,
}

/// `crossprof baseline`.
#[derive(Debug, clap::Args)]
pub(crate) struct Baseline {
    /// The action.
    #[command(subcommand)]
    pub action: BaselineAction,
}

/// Actions of `crossprof baseline`.
#[derive(Debug, Subcommand)]
pub(crate) enum BaselineAction {
    /// Name captures. An earlier baseline with this name is replaced
    Set {
        /// Name of the baseline: letters, digits, dots, _ and -
        #[arg(value_name = "NAME")]
        name: String,
        /// The captures.
        #[command(flatten)]
        inputs: Box<Inputs>,
    },
    /// List the baselines of this folder
    List,
    /// Remove a baseline. Its captures stay
    Remove {
        /// Name of the baseline
        #[arg(value_name = "NAME")]
        name: String,
    },
}

/// `crossprof skill`.
#[derive(Debug, clap::Args)]
pub(crate) struct Skill {
    /// The action.
    #[command(subcommand)]
    pub action: SkillAction,
}

/// Actions of `crossprof skill`.
#[derive(Debug, Subcommand)]
pub(crate) enum SkillAction {
    /// Write the skill into a folder of skills, as crossprof/SKILL.md
    Install {
        /// Folder of skills
        #[arg(value_name = "DIR", default_value = ".claude/skills")]
        folder: PathBuf,
    },
    /// Print the skill
    Show,
}

/// `crossprof mcp`.
#[cfg(feature = "mcp")]
#[derive(Debug, clap::Args)]
pub(crate) struct Mcp {
    /// Folders that may be read. Links that lead out of them are not followed [default: the working directory]
    #[arg(value_name = "FOLDER")]
    pub folders: Vec<PathBuf>,
}
