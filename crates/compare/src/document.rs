//! Data model of a comparison: written by `crossprof compare --output-json`, and rendered by
//! reports and the page.
//!
//! Lists named `values` or `ratios` have one entry per run, in the order of `runs`. Each change
//! (`waterfall`, `ops`, ...) compares one run with the baseline and contains the values of both.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use crate::vocabulary::*;
use crate::{MemoryComparison, ProgramChange};
use crate::{Scaling, Trend, WorkChange};

/// Version of this format.
pub const COMPARISON_VERSION: &str = "1.0.0";

/// Comparison of several runs.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Comparison {
    /// Version of this format: `1.0.0`.
    pub comparison_version: String,
    /// Kind of comparison that fits the runs: `same_platform`, `across_platforms` (platforms or frameworks that name
    /// ops differently), `scaling` or `trend`.
    pub kind: ComparisonKind,
    /// Sentences of `answer` in one list, most important first.
    pub summary: Vec<String>,
    /// Answer, with its sentences grouped by purpose.
    #[serde(default)]
    pub answer: Answer,
    /// Cost of a million tokens (or a million samples, or a thousand steps) in money and energy, if the user enters the price
    /// and the power. Like the verdict, the cost is based on the typical step.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub costs: Vec<ComparedMetric>,
    /// Compared runs.
    pub runs: Vec<ComparedRun>,
    /// Index of the run that the other runs are compared with.
    pub baseline: u32,
    /// Checks that the runs did the same work under the same conditions.
    pub fairness: Vec<FairnessCheck>,
    /// Smallest relative difference that is treated as a change, even if smaller differences are certain. The default
    /// is 0.01.
    #[serde(default)]
    pub threshold: f64,
    /// Step times with their noise: one entry per run other than the baseline.
    pub step_time: Vec<StepTimeChange>,
    /// Work of the devices in a step of each run, compared with a step of the baseline. Tested separately, because a
    /// step time also includes noise from the host.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub device_work: Vec<WorkChange>,
    /// Rate of work, compared with the baseline's rate, if the work is the same. The unit is tokens if all runs record
    /// them, or else samples. If neither tokens nor samples are known, but the power or the price is, the unit is
    /// steps. The first sentence of the summary is about this rate.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rates: Vec<WorkRate>,
    /// Time of all steps of each run that lists its steps, including the time that the typical step
    /// excludes.
    #[serde(default)]
    pub capture_time: Vec<CaptureTime>,
    /// Numbers that mean the same in all runs.
    pub metrics: Vec<ComparedMetric>,
    /// Numbers that only one platform has, or that mean different things on different platforms. Reports show these
    /// numbers but never score them.
    pub platform_metrics: Vec<ComparedMetric>,
    /// Difference between the typical steps, by part. The deltas of one run add up to `step_time[].typical_delta_us`, to the
    /// picosecond. If the batch sizes differ, times are per token or sample.
    pub waterfall: Vec<PartChange>,
    /// Typical step by kind of work, if the runs name their ops differently (on another platform or in another framework). The
    /// times of one run add up to the run's times in `waterfall`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub phases: Vec<PhaseChange>,
    /// Self time spent in each phase of the training step and in each layer of the model, if the ops of both runs have
    /// framework paths. Lists the phases in the order of a step, and then the layers, the largest difference first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub layers: Vec<LayerChange>,
    /// Causes of the difference, largest first.
    pub causes: Vec<Cause>,
    /// Time by class of op (matmul, communication, ...).
    pub categories: Vec<Change>,
    /// Ops, largest difference first.
    pub ops: Vec<Change>,
    /// GPU kernels, largest difference first.
    pub kernels: Vec<Change>,
    /// Communication by kind: count and time.
    pub collectives: Vec<CollectiveChange>,
    /// Memory of the devices by content. Present only if at least two runs record their memory. Absent in comparisons
    /// that the web page makes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory: Option<MemoryComparison>,
    /// Differences between the compiled programs of each run and the programs of the baseline, most device time first.
    /// Present only if the files of both runs contain their programs (HLO); results that were read from JSON contain no
    /// programs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub programs: Vec<ProgramChange>,
    /// Results of matching the ops of each run to the ops of the baseline: one entry per run other than the baseline.
    pub matching: Vec<Matching>,
    /// Speed-up by number of devices. Absent if all runs have the same number of devices.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scaling: Option<Scaling>,
    /// Runs over time. Present only if the names or the times of at least three runs give an order.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trend: Option<Trend>,
    /// Progress of one job between its captures. Present only if all runs used the same devices and record a capture
    /// time and the number of their first training step, and if the steps between two captures fit in the time between
    /// the captures.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub progress: Option<super::Progress>,
    /// Limits of the comparison.
    pub warnings: Vec<String>,
}

impl Comparison {
    /// Returns true if the files of all runs contain only memory data. A comparison of such runs has no conditions,
    /// steps or ops.
    pub fn is_of_memory_alone(&self) -> bool {
        self.fairness.is_empty()
    }

    /// Returns true if neither a step nor a token of the run represents the same work as in the baseline.
    pub fn is_of_other_work(&self, run: u32) -> bool {
        self.step_time.iter().any(|change| change.run == run && change.is_of_other_work())
    }

    /// Returns true if the times of parts and ops are per step. If the steps are unknown, returns false, and times cover each
    /// run's window.
    pub fn times_are_of_steps(&self) -> bool {
        let windows = self.fairness.iter().filter(|it| it.check == "window").flat_map(|it| it.values.iter().flatten());
        let is_of_steps =
            |window: &String| report::WindowKind::named(window).is_some_and(report::WindowKind::has_steps);
        let has_steps = |change: &StepTimeChange| change.step_time_us.is_some() || change.baseline_us.is_some();
        windows.clone().all(is_of_steps) && (windows.count() > 0 || self.step_time.iter().any(has_steps))
    }
}

/// One compared run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ComparedRun {
    /// Name of the run, unique among the runs.
    pub name: String,
    /// Platform: `TPU`, `GPU`, `CPU` or `Unknown`.
    pub platform: String,
    /// Model of the device.
    pub device_type: String,
    /// Number of devices that ran at least one op.
    pub devices: u64,
    /// File that the run was read from. If the run has several captures, this is the file of the first.
    pub file: String,
    /// Captures of the run, if there are several.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub captures: Vec<ComparedCapture>,
    /// Power of one device in watts, as given by the user.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub watts_per_device: Option<f64>,
    /// Price of one device in dollars per hour, as given by the user.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dollars_per_device_hour: Option<f64>,
}

/// One capture of a run with several captures.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ComparedCapture {
    /// Name of the capture, unique among all captures.
    pub name: String,
    /// File that the capture was read from.
    pub file: String,
    /// Typical step of the capture. Absent if its steps are unknown.
    pub typical_us: Option<f64>,
    /// Number of steps that the typical step is computed from.
    pub steps: u64,
}

/// Answer of a comparison.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Answer {
    /// Verdicts: which run is faster, by how much, in which unit, and how certain the difference is. One sentence per
    /// run other than the baseline.
    pub verdict: Vec<String>,
    /// Limits of the verdict. Other parts of a report do not repeat these limits.
    pub caveats: Vec<String>,
    /// Three most important sentences that explain the difference between two runs.
    pub causes: Vec<String>,
}

impl Answer {
    /// Returns all sentences, most important first.
    pub(crate) fn sentences(&self) -> Vec<String> {
        self.verdict.iter().chain(&self.causes).chain(&self.caveats).cloned().collect()
    }
}

/// One condition of a fair comparison.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FairnessCheck {
    /// Key of the condition: `batch_size`, `device_count`, ...
    pub check: String,
    /// Display name of the condition.
    pub title: String,
    /// Result: `same`, `differs` or `unknown`. The result is never `same` if a run lacks the value.
    pub status: FairnessStatus,
    /// Value of each run, as text. Absent if unknown.
    pub values: Vec<Option<String>>,
    /// Consequence for the comparison if the runs differ in this condition.
    pub note: String,
}

/// Step time of a run, compared with the baseline's step time.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StepTimeChange {
    /// Index of the run.
    pub run: u32,
    /// Mean step time of the run. Absent if its steps are unknown.
    pub step_time_us: Option<f64>,
    /// Mean step time of the baseline.
    pub baseline_us: Option<f64>,
    /// Mean step time of the run minus the baseline's mean step time.
    pub delta_us: Option<f64>,
    /// Typical step of the run: the mean of its counted steps without the fastest and the slowest quarter. For several
    /// captures, it is the mean over the captures.
    #[serde(default)]
    pub typical_us: Option<f64>,
    /// Typical step of the baseline.
    #[serde(default)]
    pub baseline_typical_us: Option<f64>,
    /// Typical step of the run minus the baseline's typical step. `verdict` is about this difference.
    #[serde(default)]
    pub typical_delta_us: Option<f64>,
    /// Half the width of the 95 % confidence interval of `typical_delta_us`. Absent if each side is one capture, and one of
    /// these captures has fewer than two steps.
    pub margin_us: Option<f64>,
    /// Smallest difference between typical steps that captures like these would prove in four out of five attempts
    /// (80 % power). Absent if `margin_us` is absent.
    #[serde(default)]
    pub least_provable_us: Option<f64>,
    /// Verdict on the times alone, regardless of the work: `faster` or `slower` beyond the noise and
    /// the threshold; `same`, `within_noise`, `unstable`, `equal` or `unknown`.
    pub verdict: StepTimeVerdict,
    /// Source of the noise estimate: `captures` (the verdict is about the programs), `steps` (about
    /// these two captures) or `none`.
    #[serde(default)]
    pub basis: ComparisonBasis,
    /// Number of steps that the means of the run and of the baseline cover.
    pub steps: [u64; 2],
    /// Number of captures of the run and of the baseline.
    #[serde(default)]
    pub captures: [u64; 2],
    /// Degrees of freedom of the test.
    pub degrees_of_freedom: Option<f64>,
    /// Sum of the listed causes, in percent of the difference between the typical steps. Excludes stragglers, and
    /// scopes if the runs are from two platforms, because other causes also include their time. Absent if there are no
    /// causes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub explained_percent: Option<f64>,
    /// Result of the check that both runs do the same work in a step: `same`, `differs` or `unknown`. If the work differs or is
    /// unknown, neither run is called faster.
    #[serde(default)]
    pub work: FairnessStatus,
    /// Evidence for `work`: names of fairness checks, or `ops`. Empty if `work` is `unknown`.
    #[serde(default)]
    pub work_evidence: Vec<String>,
}

/// Rate at which a run does work, compared with the baseline's rate.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WorkRate {
    /// Index of the run.
    pub run: u32,
    /// Unit of the work: `token`, `sample` or `step`.
    pub unit: WorkUnit,
    /// Units of work that all devices together do per step, in the run and in the baseline.
    pub per_step: [f64; 2],
    /// Rates per second come first. Rates per device second follow if the device counts differ. Rates per joule and per
    /// dollar follow if the power and the price of both runs are known.
    pub measures: Vec<RateMeasure>,
}

/// Work per second, joule or dollar, computed from the typical steps.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RateMeasure {
    /// Denominator of the rate: `second`, `device_second`, `joule` or `dollar`.
    pub per: WorkPer,
    /// Rate of the run and of the baseline.
    pub values: [f64; 2],
    /// 95 % confidence interval of the run's advantage, in percent of the baseline's rate. Absent if
    /// the noise is unknown or unbounded.
    pub interval_percent: Option<[f64; 2]>,
    /// Smallest difference that captures like these would prove in four out of five attempts (80 % power), in percent.
    pub least_provable_percent: Option<f64>,
    /// `faster` or `slower` if the run's rate is higher or lower, beyond the noise and the threshold. The other values
    /// have the same meaning as in `step_time`.
    pub verdict: StepTimeVerdict,
}

impl StepTimeChange {
    /// Returns true if neither a step nor a token represents the same work in both runs. Reports then show the numbers
    /// of the runs without a verdict.
    pub fn is_of_other_work(&self) -> bool {
        self.work == FairnessStatus::Differs && self.work_evidence != ["batch_size"]
    }
}

/// All steps of a run's captures except partial steps, with the time that the typical step excludes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CaptureTime {
    /// Index of the run.
    pub run: u32,
    /// Number of steps, over all captures.
    pub steps: u64,
    /// Mean time of the steps, including compilation, warm-up and stalls.
    pub us_per_step: f64,
    /// Typical step, as in `step_time`.
    pub typical_us: f64,
    /// `100 * typical_us / us_per_step`, at most 100.
    pub goodput_percent: f64,
    /// Time lost beyond the typical step by cause, largest first.
    pub losses: Vec<TimeLoss>,
}

/// Steps that take longer than the typical step for the same reason.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TimeLoss {
    /// Reason: `compilation`, `warm_up` (the slow steps at the beginning) or `stall` (a step that is an
    /// extreme outlier).
    pub kind: TimeLossKind,
    /// Part of the step whose time exceeds the part's mean by the most (`input_bound`, `host_bound`, ...). Absent if
    /// the step has no breakdown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub part: Option<String>,
    /// Range or user function that the host is in for most of the idle time of these steps, if the
    /// profile records it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host_range: Option<String>,
    /// Number of steps with this loss.
    pub steps: u64,
    /// Total time by which these steps exceed the typical step.
    pub lost_us: f64,
    /// Largest loss of a single step.
    pub longest_us: f64,
}

/// One number with its value in every run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ComparedMetric {
    /// Path in the unified profile (`throughput.steps_per_sec`), or `efficiency.*` if the metric requires a power or
    /// price.
    pub metric: String,
    /// Display name of the metric.
    pub title: String,
    /// Unit of the values: `us`, `ms`, `percent`, `1/s`, `count`, `bytes`, `GB/s`, ...
    pub unit: String,
    /// Direction in which values are better: `higher`, `lower`, or `neither`.
    pub direction: Direction,
    /// Value of each run.
    pub values: Vec<Option<f64>>,
    /// Ratio of each run to the baseline, inverted if lower values are better, so that a ratio above 1 is always better. Absent
    /// if the ratio has no meaning.
    pub ratios: Vec<Option<f64>>,
    /// Value of each run minus the baseline's value.
    pub differences: Vec<Option<f64>>,
    /// Verdict on each run, compared with the baseline: `better`, `worse`, `equal`, or `within_noise` if the difference is too
    /// small to matter. Absent for the baseline and for numbers without a better direction, and if a value is missing or the
    /// work differs.
    pub verdicts: Vec<Option<MetricVerdict>>,
    /// Smallest and largest value among the captures of each run. Null for a run with one capture. Empty if every run has only
    /// one capture.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub spreads: Vec<Option<[f64; 2]>>,
    /// Index of the best run. Absent if no run is best, or if the difference is within the noise. Also absent if a run
    /// has only one capture, because only a second capture could show whether the programs differ.
    pub winner: Option<u32>,
    /// True if the values mean the same in all runs.
    pub comparable: bool,
    /// Fairness checks that affect this number and in which the runs differ.
    pub spoiled_by: Vec<String>,
    /// Fairness checks that affect this number and whose result is unknown.
    pub unknown: Vec<String>,
}

/// Time of one part of a step in a run and in the baseline.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PartChange {
    /// Index of the run.
    pub run: u32,
    /// Name of the part (`compute`, `communication`, `host_bound`, ...).
    pub part: String,
    /// Display name of the part.
    pub title: String,
    /// Colour class.
    pub class: String,
    /// Unit that the times refer to: a `step`, or a `token` or `sample` if the batch sizes differ.
    #[serde(default)]
    pub per: WorkUnit,
    /// Time of the baseline, per device.
    pub baseline_us: f64,
    /// Time of the run, per device.
    pub run_us: f64,
    /// Time of the run minus the baseline's time, in whole picoseconds.
    pub delta_us_per_step: f64,
}

/// Time of one kind of work in a step, in a run and in the baseline.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PhaseChange {
    /// Index of the run.
    pub run: u32,
    /// Name of the phase: `matmul`, `convolution`, `matmul_or_convolution`, `attention`,
    /// `norm_elementwise`, `other_compute`, `communication`, `copies`, `idle` or `not_attributed`.
    pub phase: String,
    /// Display name of the phase.
    pub title: String,
    /// Colour class.
    pub class: String,
    /// Unit that the times refer to: a `step`, or a `token` or `sample` if the batch sizes differ.
    pub per: WorkUnit,
    /// Time of the baseline, per device.
    pub baseline_us: f64,
    /// Time of the run, per device.
    pub run_us: f64,
    /// Time of the run divided by the baseline's time. Absent if either time is 0.
    pub ratio: Option<f64>,
}

/// Time of a phase of the training step or of a layer of the model, in a run and in the baseline.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LayerChange {
    /// Index of the run.
    pub run: u32,
    /// Kind: `phase` or `layer`. The phases add up to the time of all ops. A layer includes the layers whose path begins with
    /// its own path.
    pub kind: LayerKind,
    /// Name of the phase (`forward`, `backward`, `recomputed`, `update`, `other`) or path of the layer:
    /// `jit_train_step/layer_*/attention`. The path comes from the run, or from the baseline if the run does not list the
    /// layer.
    pub name: String,
    /// Path in the baseline. Present only if the program has a different name in the baseline.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub baseline_name: Option<String>,
    /// Number of layers that the path stands for, in the run and in the baseline. 0 for phases, and if a run does not list the
    /// layer.
    pub members: [u64; 2],
    /// Self time per step per device, in the run and in the baseline. Null if a run does not list the layer, because
    /// the program lacks it or it takes less than 0.5 % of the op time.
    pub time_us: [Option<f64>; 2],
    /// Time during which a collective of the layer runs and its device computes nothing, per step per device, in the
    /// run and in the baseline. Absent if the layer has no collective in either run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exposed_us: Option<[f64; 2]>,
    /// Self time of the run minus the baseline's self time. Absent if either time is unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delta_us_per_step: Option<f64>,
    /// Smallest `delta_us_per_step` that exceeds the noise (at 99.9 %). The noise is the variation among the captures
    /// of one side. Absent if each side has only one capture.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub margin_us: Option<f64>,
}

/// One cause of the difference between a run and the baseline.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Cause {
    /// Index of the run.
    pub run: u32,
    /// Kind of cause: `op`, `scope` (ops of a name scope), `uniform` (nearly all ops change alike:
    /// clocks, power or another device), `communication`, `class` (ops of a class that are too small to
    /// list), `straggler`, `part`, `rest` (the remainder of a part that no other cause explains) or
    /// `condition` (another compiler or other flags, whose cost is unknown).
    pub kind: CauseKind,
    /// Name of the op, scope, part or device.
    pub name: String,
    /// Name scopes of the op with layers merged (`layer_*/attn`), if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scope: Option<String>,
    /// Source file and line of the op, if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// Time that the cause adds to a step. Negative if it saves time.
    pub delta_us_per_step: f64,
    /// Share of the whole difference between the step times, in percent.
    pub percent_of_difference: Option<f64>,
    /// Sentence that describes the cause with its numbers.
    pub text: String,
}

/// Change of a class of ops, of an op (or a group of ops that are compared together) or of a kernel, from the baseline
/// to a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Change {
    /// Index of the run.
    pub run: u32,
    /// Name in the run, or in the baseline if the run has no such op.
    pub name: String,
    /// Name in the baseline, if it differs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub baseline_name: Option<String>,
    /// Class of op (`matmul`, `communication`, ...).
    pub family: String,
    /// Framework path, if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub framework_op: Option<String>,
    /// Source file and line, if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// Method by which the op was matched: `name`, `fingerprint`, `framework_path`, `similar_name`,
    /// `scope` (the remaining ops of a name scope on both sides), `class`, or `none` if only one run
    /// has it.
    pub matched_by: MatchedBy,
    /// True if the op and the matching op of the baseline compute different things.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub recompiled: bool,
    /// Kind of change: `new`, `gone`, `slower`, `faster`, `more_often`, `less_often`, `rewritten` or
    /// `same`.
    pub change: ChangeKind,
    /// Number of ops that are compared together, in the run and in the baseline.
    pub ops: [u64; 2],
    /// Executions of the op per step per device, in the run and in the baseline.
    pub per_step: [f64; 2],
    /// Self time per step per device, in the run and in the baseline. For exposed communication, see `exposed_us`.
    pub time_us: [f64; 2],
    /// Exposed time per step per device, if the op is communication.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exposed_us: Option<[f64; 2]>,
    /// Self time of the run minus the baseline's self time.
    pub delta_us_per_step: f64,
    /// Smallest `delta_us_per_step` that exceeds the noise (at 99.9 %, because many ops are tested). The noise is the
    /// variation among the captures of one side. If each side is one capture, the noise is the variation among the
    /// steps of the captures. Absent if the noise is unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub margin_us: Option<f64>,
    /// Mean time of one execution in the run divided by the mean time in the baseline. Absent across platforms, and if only one
    /// run has the op.
    pub slowdown: Option<f64>,
}

/// One kind of communication, in each run's window.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CollectiveChange {
    /// Kind of collective: `all-reduce`, `all-to-all`, ...
    pub kind: String,
    /// Executions of this kind in each run's window. 0 if the run's communication was measured and does not include this kind.
    pub counts: Vec<u64>,
    /// Total duration of the collectives in the window, over all devices.
    pub total_time_us: Vec<f64>,
    /// Part of the total time during which no computation runs concurrently, over all devices.
    pub exposed_time_us: Vec<f64>,
}

/// Result of matching the ops of two runs.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Matching {
    /// Index of the run.
    pub run: u32,
    /// Self time per step per device of the run's matched ops, by method of matching.
    pub matched_us: Vec<MatchedTime>,
    /// Self time of ops without a match, in the run and in the baseline.
    pub unmatched_us: [f64; 2],
    /// Self time of ops that the profiles do not list, in the run and in the baseline.
    pub unlisted_us: [f64; 2],
}

impl Matching {
    /// Returns true if both runs list ops but no op has a match, which means that they ran different programs.
    pub fn is_of_strangers(&self) -> bool {
        self.matched_us.is_empty() && self.unmatched_us.iter().all(|time_us| *time_us > 0.0)
    }
}

/// Time of the ops that were matched by one method.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MatchedTime {
    /// Method: `name`, `fingerprint`, `framework_path`, `similar_name` or `class`.
    pub matched_by: MatchedBy,
    /// Self time of the run's ops per step per device.
    pub time_us: f64,
}
