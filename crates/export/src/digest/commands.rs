//! The commands that a digest suggests as the next steps.

use report::{Finding, FindingSeverity, UnifiedProfile, View};
use schemars::JsonSchema;
use serde::Serialize;

use super::ids;

/// A command that the digest suggests as a next step.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct NextCommand {
    /// The command. `CAPTURE` stands for the path that was read, and `NEW` for the path of a capture after a change.
    pub command: String,
    /// Short description of the command's result.
    pub gives: String,
}

/// Returns the commands, most useful first. These commands print the rows behind the first findings, the hottest op,
/// the data to capture, and the verdict on a change.
pub(super) fn next(profile: &UnifiedProfile) -> Vec<NextCommand> {
    let mut next: Vec<NextCommand> = Vec::new();
    let mut add = |command: String, gives: &str| {
        if !next.iter().any(|it| it.command == command) {
            next.push(NextCommand { command, gives: gives.to_owned() });
        }
    };
    let fired = || profile.findings.iter().filter(|it| it.severity != FindingSeverity::NotChecked);
    if fired().next().is_some() {
        add("crossprof table findings CAPTURE".to_owned(), "all findings with evidence and remedy");
    }
    if let Some(command) = fired().find_map(rows_of) {
        add(command, "the rows behind the first finding");
    }
    let op = profile.op_statistics.as_ref().and_then(|found| found.top_ops.first());
    if let Some(op) = op.filter(|op| ids::is_plain(&op.name) && !profile.programs.is_empty()) {
        add(format!("crossprof hlo CAPTURE --op '{}'", op.name), "the hottest op with operands, users and times");
    }
    if !profile.not_measured.is_empty() {
        add("crossprof inspect CAPTURE".to_owned(), "what to record for which question");
    }
    if profile.metadata.num_devices > 0 {
        add("crossprof compare CAPTURE NEW".to_owned(), "the verdict on a change, with noise and causes");
    }
    next
}

/// Returns the command that prints the rows of a finding. Returns `None` if the finding's view has no table, or if the
/// finding's filter is not safe in a shell.
fn rows_of(finding: &Finding) -> Option<String> {
    let table = match finding.view? {
        View::Ops => "ops",
        View::Kernels => "kernels",
        View::Steps => "steps",
        View::Layers => "layers",
        View::Roofline => "roofline",
        View::Communication => "collectives",
        View::Transfers => "transfers",
        View::Serving => "serving",
        View::Input => "input-pipeline",
        View::Devices => "devices",
        View::Checklist => "checklist",
        _ => return None,
    };
    let filter = finding.filter.as_deref().unwrap_or_default();
    let is_usual = |c: char| c.is_ascii_alphanumeric() || "_.-/*=:,<> ".contains(c);
    match filter {
        "" => Some(format!("crossprof table {table} CAPTURE --top 10")),
        filter if filter.len() <= 120 && filter.chars().all(is_usual) => {
            Some(format!("crossprof table {table} CAPTURE --filter='{filter}' --top 10"))
        }
        _ => None,
    }
}
