//! The result of a check. `--format json` writes this result, and all other formats are rendered from it.
//! docs/budgets.md describes its fields.

use serde::Serialize;

/// Version of the JSON document.
pub const VERSION: &str = "1.1.0";

/// Outcome of a limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// The limit holds.
    Pass,
    /// The limit does not hold.
    Fail,
    /// The run or the baseline lacks the number, and the limit is not optional. The limit fails.
    Missing,
    /// The run or the baseline lacks the number, and the limit is optional. The limit is ignored.
    Skipped,
}

impl Status {
    /// Returns the spelling used in the document.
    pub fn label(self) -> &'static str {
        match self {
            Status::Pass => "pass",
            Status::Fail => "fail",
            Status::Missing => "missing",
            Status::Skipped => "skipped",
        }
    }

    /// Returns true if this status makes the check fail.
    pub fn is_failure(self) -> bool {
        matches!(self, Status::Fail | Status::Missing)
    }
}

/// Result of one limit.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LimitReport {
    /// The rule as written.
    pub rule: String,
    /// Name of the limit in the budget.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Reason for the limit, as written in the budget.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// Outcome of the limit.
    pub status: Status,
    /// Path of `value`. Path of the worst number, if the rule covers several numbers. Absent for counts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// Unit of `value`, `bound` and `baseline`. Absent for numbers without a unit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unit: Option<String>,
    /// Value of the run, in `unit`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value: Option<f64>,
    /// Required relation of the value to the bound: `<`, `<=`, `>`, `>=`, `==`, `!=`.
    pub relation: String,
    /// The bound as a number. Absent if the bound needs a number that the baseline lacks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bound: Option<f64>,
    /// The baseline's number, if the bound refers to it. If the baseline has several runs, the median of their numbers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub baseline: Option<f64>,
    /// Smallest number among the baseline's runs, if there are several. Added in 1.1.0.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub baseline_least: Option<f64>,
    /// Largest number among the baseline's runs, if there are several. Added in 1.1.0.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub baseline_most: Option<f64>,
    /// Distance of the value from the bound, in percent of the bound. Negative if the limit fails. Absent if the bound is 0,
    /// and for `!=`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub margin_percent: Option<f64>,
    /// Number of values that were compared.
    pub matches: u64,
    /// True if the limit does not fail when the number is absent.
    pub optional: bool,
    /// Result as a sentence.
    pub message: String,
}

impl LimitReport {
    /// Returns the title of the limit: its name, or the rule if it has no name.
    pub fn title(&self) -> &str {
        self.name.as_deref().unwrap_or(&self.rule)
    }
}

/// A profile that took part in the check.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RunName {
    /// Name of the run, unique within the check.
    pub run_name: String,
    /// File that the run was read from. If there are several, the main file.
    pub file: String,
}

/// Result of one run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RunReport {
    /// Name and file of the run.
    #[serde(flatten)]
    pub run: RunName,
    /// The baseline run, if there is exactly one. Absent if no limit uses a baseline.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub baseline: Option<RunName>,
    /// The baseline runs, if there are several. The baseline is their median. Added in 1.1.0.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub baseline_group: Vec<RunName>,
    /// True if no limit fails.
    pub holds: bool,
    /// The limits, in the order of the budget.
    pub limits: Vec<LimitReport>,
}

/// Number of limits by outcome.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Counts {
    /// Number of limits that hold.
    pub pass: u64,
    /// Number of limits that do not hold.
    pub fail: u64,
    /// Number of required limits whose number is absent.
    pub missing: u64,
    /// Number of optional limits whose number is absent.
    pub skipped: u64,
}

/// Result of a check.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CheckReport {
    /// Version of this document: [`VERSION`].
    pub check_version: String,
    /// Program and version that wrote the report.
    pub generator: String,
    /// Path of the budget, as the user gave it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub budget: Option<String>,
    /// True if no limit of any run fails.
    pub holds: bool,
    /// Number of limits of all runs, by outcome.
    pub counts: Counts,
    /// The runs, in the order in which the user gave them.
    pub runs: Vec<RunReport>,
}

impl RunReport {
    /// Creates the result of a run that was compared with `baselines`.
    pub fn new(run: RunName, baselines: Vec<RunName>, limits: Vec<LimitReport>) -> RunReport {
        let holds = !limits.iter().any(|limit| limit.status.is_failure());
        let (baseline, baseline_group) = match <[RunName; 1]>::try_from(baselines) {
            Ok([only]) => (Some(only), Vec::new()),
            Err(several) => (None, several),
        };
        RunReport { run, baseline, baseline_group, holds, limits }
    }
}

impl CheckReport {
    /// Creates the result of a check from its runs.
    pub fn new(budget: Option<String>, runs: Vec<RunReport>) -> CheckReport {
        let counts = counts(runs.iter().flat_map(|run| &run.limits));
        let holds = counts.fail == 0 && counts.missing == 0;
        let generator = format!("crossprof {}", env!("CARGO_PKG_VERSION"));
        CheckReport { check_version: VERSION.to_owned(), generator, budget, holds, counts, runs }
    }

    /// Returns the document as indented JSON with a trailing newline.
    pub fn to_json(&self) -> String {
        let mut text = base::json_text::pretty(self);
        text.push('\n');
        text
    }
}

pub(super) fn counts<'a>(limits: impl Iterator<Item = &'a LimitReport>) -> Counts {
    let mut counts = Counts::default();
    for limit in limits {
        let count = match limit.status {
            Status::Pass => &mut counts.pass,
            Status::Fail => &mut counts.fail,
            Status::Missing => &mut counts.missing,
            Status::Skipped => &mut counts.skipped,
        };
        *count += 1;
    }
    counts
}
