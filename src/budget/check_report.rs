//! The result of a check: what `--format json` writes and everything else is made from. docs/budgets.md describes it.

use serde::Serialize;

/// Version of the JSON document.
pub const VERSION: &str = "1.1.0";

/// Whether a limit holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// The limit holds.
    Pass,
    /// The limit does not hold.
    Fail,
    /// The run, or the baseline, does not have the number, and the limit is not optional: this counts as a failure.
    Missing,
    /// The run, or the baseline, does not have the number, and the limit is optional: this counts as nothing.
    Skipped,
}

impl Status {
    /// The document's spelling.
    pub fn label(self) -> &'static str {
        match self {
            Status::Pass => "pass",
            Status::Fail => "fail",
            Status::Missing => "missing",
            Status::Skipped => "skipped",
        }
    }

    /// Whether the check fails because of this status.
    pub fn is_failure(self) -> bool {
        matches!(self, Status::Fail | Status::Missing)
    }
}

/// What became of one limit.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LimitReport {
    /// The rule as it was written.
    pub rule: String,
    /// What the budget calls it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Why the limit is there, in the budget's words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// Whether the limit holds.
    pub status: Status,
    /// The path of `value`: where the rule leads to several numbers, of the one that is worst. Absent for counts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// The unit of `value`, `bound` and `baseline`; absent for numbers without one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unit: Option<String>,
    /// The run's number.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value: Option<f64>,
    /// How the value has to stand to the bound: `<`, `<=`, `>`, `>=`, `==`, `!=`.
    pub relation: String,
    /// The bound as a number; absent where the baseline lacks what it needs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bound: Option<f64>,
    /// The baseline's number, where the bound looks at it; of several runs the median.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub baseline: Option<f64>,
    /// The least number of the baseline's runs, where there are several. Added in 1.1.0.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub baseline_least: Option<f64>,
    /// The largest number of the baseline's runs, where there are several. Added in 1.1.0.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub baseline_most: Option<f64>,
    /// How far the value is on the right side of the bound, in percent of it; negative where it is on the wrong side. Absent where
    /// the bound is 0 and for `!=`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub margin_percent: Option<f64>,
    /// Numbers that the rule leads to and that were compared.
    pub matches: u64,
    /// Whether an absent number does not fail the limit.
    pub optional: bool,
    /// What happened, as a sentence.
    pub message: String,
}

impl LimitReport {
    /// What the limit is called: its name, else the rule.
    pub fn title(&self) -> &str {
        self.name.as_deref().unwrap_or(&self.rule)
    }
}

/// A profile that took part.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RunName {
    /// Name of the run.
    pub run_name: String,
    /// File that the run was read from; the main one where there are several.
    pub file: String,
}

/// What became of one run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RunReport {
    /// The run.
    #[serde(flatten)]
    pub run: RunName,
    /// The run of the baseline, where that is one; absent where no limit looks at a baseline.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub baseline: Option<RunName>,
    /// The runs of the baseline, where there are several: the baseline is the median of them. Added in 1.1.0.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub baseline_group: Vec<RunName>,
    /// Whether no limit fails.
    pub holds: bool,
    /// The limits, in the order of the budget.
    pub limits: Vec<LimitReport>,
}

/// Limits by what became of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Counts {
    /// Number of limits that hold.
    pub pass: u64,
    /// Number of limits that do not hold.
    pub fail: u64,
    /// Number of limits whose number is absent.
    pub missing: u64,
    /// Number of optional limits whose number is absent.
    pub skipped: u64,
}

/// The result of a check.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CheckReport {
    /// Version of this document.
    pub check_version: String,
    /// Program and version that wrote the report.
    pub generator: String,
    /// File of the budget, as it was given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub budget: Option<String>,
    /// No limit of any run fails.
    pub holds: bool,
    /// The limits of all runs.
    pub counts: Counts,
    /// The runs, in the order in which they were given.
    pub runs: Vec<RunReport>,
}

impl RunReport {
    /// What became of a run that was compared with these ones.
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
    /// The result of these runs.
    pub fn new(budget: Option<String>, runs: Vec<RunReport>) -> CheckReport {
        let counts = counts(runs.iter().flat_map(|run| &run.limits));
        let holds = counts.fail == 0 && counts.missing == 0;
        let generator = format!("crossprof {}", env!("CARGO_PKG_VERSION"));
        CheckReport { check_version: VERSION.to_owned(), generator, budget, holds, counts, runs }
    }

    /// The document, indented, with a newline at its end.
    pub fn to_json(&self) -> String {
        // Only a map with keys that are not strings could fail here, and there is none.
        let mut text = serde_json::to_string_pretty(self).unwrap_or_default();
        text.push('\n');
        text
    }
}

/// Limits by what became of them.
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
