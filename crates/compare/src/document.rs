//! The comparison as a document: what `crossprof compare --output-json` writes, and what reports and the page show.
//!
//! Lists named `values` or `ratios` have one entry per run, in the order of `runs`. Changes (`waterfall`, `ops`, ...) are of one
//! run against the baseline and name both.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::MemoryComparison;
pub use crate::vocabulary::*;
use crate::{Drift, ExcessOp, LevelChange, OutlierRun, ScalingForecast, WorkChange};

/// Version of this shape.
pub const COMPARISON_VERSION: &str = "1.0.0";

/// Runs beside each other.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Comparison {
    /// Version of this shape: `1.0.0`.
    pub comparison_version: String,
    /// What kind of comparison the runs allow: `same_platform`, `across_platforms` (platforms or frameworks, which name ops differently),
    /// `scaling` or `trend`.
    pub kind: ComparisonKind,
    /// The answer in sentences, most important first: `answer` as one list.
    pub summary: Vec<String>,
    /// The answer by what its sentences are for.
    #[serde(default)]
    pub answer: Answer,
    /// What a million tokens (or samples, or a thousand steps) cost in money and in energy, where the user gives price and power: of the
    /// typical step, as the verdict.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub costs: Vec<ComparedMetric>,
    /// The runs.
    pub runs: Vec<ComparedRun>,
    /// Index of the run that the others are compared with.
    pub baseline: u32,
    /// Whether the runs did the same work under the same conditions.
    pub fairness: Vec<FairnessCheck>,
    /// Share from which on a difference counts, however sure it is: 0.01 unless the user says otherwise.
    #[serde(default)]
    pub threshold: f64,
    /// Step times with their noise: one entry per run other than the baseline.
    pub step_time: Vec<StepTimeChange>,
    /// What the devices do in a step, against the baseline, each with its own certainty: a step time has the noise of the host in it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub device_work: Vec<WorkChange>,
    /// Work against the baseline, where it is the same work: in tokens where all runs know them, else in samples, else in steps where power or
    /// price is known. The first sentence of the summary is of it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rates: Vec<WorkRate>,
    /// The time of all steps of each run whose steps are listed, with what the typical step leaves out.
    #[serde(default)]
    pub capture_time: Vec<CaptureTime>,
    /// Numbers that mean the same for all runs.
    pub metrics: Vec<ComparedMetric>,
    /// Numbers that only one platform has, or that mean different things on different platforms: shown, never scored.
    pub platform_metrics: Vec<ComparedMetric>,
    /// The difference of the typical steps, part by part: the deltas of one run add up to `step_time[].typical_delta_us`, to the picosecond.
    /// Where the batch sizes differ, of the times of a token or sample.
    pub waterfall: Vec<PartChange>,
    /// The typical step by what it does, where the runs name their ops differently (another platform or framework): the times of one run add
    /// up to those of `waterfall`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub phases: Vec<PhaseChange>,
    /// What explains the difference, largest first.
    pub causes: Vec<Cause>,
    /// Time by class of op (matmul, communication, ...).
    pub categories: Vec<Change>,
    /// Ops, largest difference first.
    pub ops: Vec<Change>,
    /// GPU kernels, largest difference first.
    pub kernels: Vec<Change>,
    /// Kinds of communication: how often and how long.
    pub collectives: Vec<CollectiveChange>,
    /// What fills the memory of the devices; absent unless two runs know it, and in comparisons that the web page makes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory: Option<MemoryComparison>,
    /// How well the ops of a run could be matched: one entry per run other than the baseline.
    pub matching: Vec<Matching>,
    /// Speed-up over device counts; absent where all runs have the same number of devices.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scaling: Option<Scaling>,
    /// Runs in time; absent unless there are at least three and their names or times give an order.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trend: Option<Trend>,
    /// What limits the comparison.
    pub warnings: Vec<String>,
}

impl Comparison {
    /// Are all runs files about memory alone? Their comparison has no conditions, steps or ops.
    pub fn is_of_memory_alone(&self) -> bool {
        self.fairness.is_empty()
    }

    /// Whether a run does other work than the baseline, whatever it is counted in.
    pub fn is_of_other_work(&self, run: u32) -> bool {
        self.step_time.iter().any(|change| change.run == run && change.is_of_other_work())
    }

    /// Whether times of parts and ops are of a step; else they are of each run's window, since steps are unknown.
    pub fn times_are_of_steps(&self) -> bool {
        let windows = self.fairness.iter().filter(|it| it.check == "window").flat_map(|it| it.values.iter().flatten());
        let is_of_steps = |window: &String| matches!(window.as_str(), "steps" | "given_steps");
        let has_steps = |change: &StepTimeChange| change.step_time_us.is_some() || change.baseline_us.is_some();
        windows.clone().all(is_of_steps) && (windows.count() > 0 || self.step_time.iter().any(has_steps))
    }
}

/// One of the runs.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ComparedRun {
    /// Name of the run, unique among the runs.
    pub name: String,
    /// `TPU`, `GPU`, `CPU` or `Unknown`.
    pub platform: String,
    /// Model of the device.
    pub device_type: String,
    /// Devices that ran at least one op.
    pub devices: u64,
    /// The file it was read from; of several captures the first one's.
    pub file: String,
    /// Captures of the run, where there are several.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub captures: Vec<ComparedCapture>,
    /// Power of one device, as the user gave it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub watts_per_device: Option<f64>,
    /// Price of one device, as the user gave it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dollars_per_device_hour: Option<f64>,
}

/// One capture of a run of several.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ComparedCapture {
    /// Name of the capture, unique among all captures.
    pub name: String,
    /// The file it was read from.
    pub file: String,
    /// Typical step of the capture; absent where its steps are unknown.
    pub typical_us: Option<f64>,
    /// Steps that this is of.
    pub steps: u64,
}

/// The answer of a comparison.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Answer {
    /// Who is faster, by how much, for what and how sure that is: a sentence for each run other than the baseline.
    pub verdict: Vec<String>,
    /// What limits the verdict. No other part of a report repeats them.
    pub caveats: Vec<String>,
    /// What explains the difference of two runs, the three most important sentences.
    pub causes: Vec<String>,
}

impl Answer {
    /// All sentences, most important first.
    pub(crate) fn sentences(&self) -> Vec<String> {
        self.verdict.iter().chain(&self.causes).chain(&self.caveats).cloned().collect()
    }
}

/// One condition of a fair comparison.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FairnessCheck {
    /// Key of the condition: `batch_size`, `device_count`, ...
    pub check: String,
    /// The condition's name for people.
    pub title: String,
    /// `same`, `differs` or `unknown`: a value that is missing in any run is never `same`.
    pub status: FairnessStatus,
    /// What each run has, as text; absent where unknown.
    pub values: Vec<Option<String>>,
    /// What follows where the condition is not the same.
    pub note: String,
}

/// A step time against the baseline's.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StepTimeChange {
    /// Index of the run.
    pub run: u32,
    /// The run's mean step time; absent where its steps are unknown.
    pub step_time_us: Option<f64>,
    /// The baseline's.
    pub baseline_us: Option<f64>,
    /// The run's mean step time less the baseline's.
    pub delta_us: Option<f64>,
    /// The run's typical step: the mean of its counted steps without the fastest and the slowest quarter. Of several captures their mean.
    #[serde(default)]
    pub typical_us: Option<f64>,
    /// The baseline's.
    #[serde(default)]
    pub baseline_typical_us: Option<f64>,
    /// The run's typical step less the baseline's: what `verdict` is of.
    #[serde(default)]
    pub typical_delta_us: Option<f64>,
    /// Half the width of the 95 % confidence interval of `typical_delta_us`. Absent with one capture a side of fewer than two steps.
    pub margin_us: Option<f64>,
    /// The smallest difference of typical steps that such captures show in four of five attempts. Absent with `margin_us`.
    #[serde(default)]
    pub least_provable_us: Option<f64>,
    /// Of the times alone, whatever work is done in them: `faster` or `slower` beyond the noise and the threshold; `same`, `within_noise`, `unstable`, `equal` or `unknown`.
    pub verdict: StepTimeVerdict,
    /// What the noise is estimated from: `captures` (the verdict is on the programs), `steps` (on these two captures) or `none`.
    #[serde(default)]
    pub basis: ComparisonBasis,
    /// Steps of the run and of the baseline that the means are over.
    pub steps: [u64; 2],
    /// Captures of the run and of the baseline.
    #[serde(default)]
    pub captures: [u64; 2],
    /// Degrees of freedom of the test.
    pub degrees_of_freedom: Option<f64>,
    /// Share of the difference of the typical steps that the causes listed add up to, without a straggler and the scopes of two platforms,
    /// which count time that other causes count too. Absent without causes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub explained_percent: Option<f64>,
    /// Whether a step of both does the same work: nobody is faster where that differs or is unknown.
    #[serde(default)]
    pub work: FairnessStatus,
    /// What says so: names of fairness checks, or `ops`. Empty where it is unknown.
    #[serde(default)]
    pub work_evidence: Vec<String>,
}

/// How much work a run does, against the baseline.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WorkRate {
    /// Index of the run.
    pub run: u32,
    /// `token`, `sample` or `step`.
    pub unit: WorkUnit,
    /// Units in a step of the run and of the baseline, all devices.
    pub per_step: [f64; 2],
    /// A second first; a second of one device where their numbers differ, a joule and a dollar where power and price of both are known.
    pub measures: Vec<RateMeasure>,
}

/// Work for one thing, by the typical steps.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RateMeasure {
    /// `second`, `device_second`, `joule` or `dollar`.
    pub per: WorkPer,
    /// Units for one of it, of the run and of the baseline.
    pub values: [f64; 2],
    /// 95 % interval of what the run does more, in percent of the baseline's. Absent where the noise is unknown or has no bound.
    pub interval_percent: Option<[f64; 2]>,
    /// The smallest difference that such captures show in four of five attempts.
    pub least_provable_percent: Option<f64>,
    /// `faster` where the run does more for it, `slower` where less, beyond the noise and the threshold; else as in `step_time`.
    pub verdict: StepTimeVerdict,
}

impl StepTimeChange {
    /// Whether neither a step nor a token of both does the same work, so that their numbers only stand beside each other.
    pub fn is_of_other_work(&self) -> bool {
        self.work == FairnessStatus::Differs && self.work_evidence != ["batch_size"]
    }
}

/// The steps of a run's captures, all of them but cut ones: what its typical step leaves out.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CaptureTime {
    /// Index of the run.
    pub run: u32,
    /// Number of steps, of several captures together.
    pub steps: u64,
    /// Mean time of the steps, with compilation, warm-up and stalls.
    pub us_per_step: f64,
    /// The typical step, as in `step_time`.
    pub typical_us: f64,
    /// `100 * typical_us / us_per_step`, at most 100.
    pub goodput_percent: f64,
    /// What steps lose beyond the typical one, most first.
    pub losses: Vec<TimeLoss>,
}

/// Steps that take longer than the typical one, for one reason.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TimeLoss {
    /// `compilation`, `warm_up` (the slow steps at the beginning) or `stall` (a step far out among the others).
    pub kind: TimeLossKind,
    /// The part of the step that is longest beyond its mean (`input_bound`, `host_bound`, ...); absent where the step is not split.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub part: Option<String>,
    /// The range or function of the user that the host is in for most of the idle time of these steps, where the profile holds it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host_range: Option<String>,
    /// Number of these steps.
    pub steps: u64,
    /// Time that the steps take beyond the typical step, together.
    pub lost_us: f64,
    /// The most that one of the steps takes beyond the typical step.
    pub longest_us: f64,
}

/// One number of every run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ComparedMetric {
    /// Path in the unified profile (`throughput.steps_per_sec`), or `efficiency.*` where it needs a power or price.
    pub metric: String,
    /// The metric's name for people.
    pub title: String,
    /// Unit of the values: `us`, `ms`, `percent`, `1/s`, `count`, `bytes`, `GB/s`, ...
    pub unit: String,
    /// Which values are better: `higher` or `lower`; `neither` for a number that is no merit.
    pub direction: Direction,
    /// The metric's value of each run.
    pub values: Vec<Option<f64>>,
    /// One per run: times better than the baseline (above 1 is better, whatever the direction). Absent where it has no meaning.
    pub ratios: Vec<Option<f64>>,
    /// One per run: value less the baseline's.
    pub differences: Vec<Option<f64>>,
    /// One per run, against the baseline: `better`, `worse`, `equal`, or `within_noise` where the difference is too small to count.
    /// Absent for the baseline, where a value is missing or the work differs, and for numbers that are no merit.
    pub verdicts: Vec<Option<MetricVerdict>>,
    /// One per run, the least and the most of its captures. Empty where every run is one capture, null for a run of one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub spreads: Vec<Option<[f64; 2]>>,
    /// Index of the best run; absent where none is, where the difference is within the noise, and where a run is one capture only: whether
    /// the programs differ, only a second one could show.
    pub winner: Option<u32>,
    /// Whether the values mean the same in all runs.
    pub comparable: bool,
    /// Fairness checks that differ and on which this number depends.
    pub spoiled_by: Vec<String>,
    /// Fairness checks that are unknown and on which this number depends.
    pub unknown: Vec<String>,
}

/// One part of a step against the baseline's.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PartChange {
    /// Index of the run.
    pub run: u32,
    /// Name of the part (`compute`, `communication`, `host_bound`, ...).
    pub part: String,
    /// The part's name for people.
    pub title: String,
    /// Colour class.
    pub class: String,
    /// What the part's times are for: a `step`, or where the batch sizes differ a `token` or `sample`.
    #[serde(default)]
    pub per: WorkUnit,
    /// The baseline's time, per device.
    pub baseline_us: f64,
    /// The run's time, per device.
    pub run_us: f64,
    /// The run's less the baseline's, whole picoseconds.
    pub delta_us_per_step: f64,
}

/// One phase of a step beside the baseline's.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PhaseChange {
    /// Index of the run.
    pub run: u32,
    /// Name of the phase: `matmul`, `convolution`, `matmul_or_convolution`, `attention`, `norm_elementwise`, `other_compute`,
    /// `communication`, `copies`, `idle` or `not_attributed`.
    pub phase: String,
    /// The phase's name for people.
    pub title: String,
    /// Colour class.
    pub class: String,
    /// What the phase's times are for: a `step`, or where the batch sizes differ a `token` or `sample`.
    pub per: WorkUnit,
    /// The baseline's time, per device.
    pub baseline_us: f64,
    /// The run's time, per device.
    pub run_us: f64,
    /// The run's time over the baseline's. Absent where one of them is 0.
    pub ratio: Option<f64>,
}

/// One thing that explains a part of the difference.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Cause {
    /// Index of the run.
    pub run: u32,
    /// `op`, `scope` (ops of a name scope), `uniform` (nearly all ops change alike: clocks, power or another device), `communication`, `class` (ops of a class that are too small to be listed), `straggler`, `part`, `rest` (what the others leave
    /// of a part) or `condition` (another compiler or other flags; what they cost is not known).
    pub kind: CauseKind,
    /// Name of the op, scope, part or device.
    pub name: String,
    /// Name scopes of the op, layers together (`layer_*/attn`), where known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scope: Option<String>,
    /// Source file and line of the op, where known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// Time that the cause adds to a step; negative where it saves time.
    pub delta_us_per_step: f64,
    /// Share of the whole difference.
    pub percent_of_difference: Option<f64>,
    /// A sentence with the numbers.
    pub text: String,
}

/// A class of ops, an op (or equal ops together) or a kernel against the baseline's.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Change {
    /// Index of the run.
    pub run: u32,
    /// Name in the run; in the baseline where the run has no such op.
    pub name: String,
    /// Name in the baseline, where it differs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub baseline_name: Option<String>,
    /// Class of op (`matmul`, `communication`, ...).
    pub family: String,
    /// The framework's path, where known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub framework_op: Option<String>,
    /// Source file and line, where known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// How the op was matched: `name`, `fingerprint`, `framework_path`, `similar_name`, `scope` (what is left in a name
    /// scope on both sides), `class`; `none` where it is in one run only.
    pub matched_by: MatchedBy,
    /// Whether the op computes something else than the op of the baseline that it was matched with.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub recompiled: bool,
    /// `new`, `gone`, `slower`, `faster`, `more_often`, `less_often`, `rewritten` or `same`.
    pub change: ChangeKind,
    /// Ops that are compared together, in the run and in the baseline.
    pub ops: [u64; 2],
    /// Executions of the op per step and device: of the run and of the baseline.
    pub per_step: [f64; 2],
    /// Self time per step and device: of the run and of the baseline. For exposed communication see `exposed_us`.
    pub time_us: [f64; 2],
    /// Exposed time per step and device, where it is communication.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exposed_us: Option<[f64; 2]>,
    /// The run's self time less the baseline's.
    pub delta_us_per_step: f64,
    /// How far that has to be from 0 to be more than noise (99.9 %, since many ops are tested): than what captures of one side differ by, or
    /// where each side is one capture, its steps. Absent where neither is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub margin_us: Option<f64>,
    /// Mean time of one of them: of the run over the baseline's. Absent where it is in one run only, and across platforms.
    pub slowdown: Option<f64>,
}

/// One kind of communication, in each run's window.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CollectiveChange {
    /// `all-reduce`, `all-to-all`, ...
    pub kind: String,
    /// Runs of this communication in each run's window; 0 where a run has communication measured and none of this kind.
    pub counts: Vec<u64>,
    /// Summed durations of the collectives in the window, all devices.
    pub total_time_us: Vec<f64>,
    /// Part of the total time in which no computation runs beside the collectives, all devices.
    pub exposed_time_us: Vec<f64>,
}

/// How well the ops of two runs could be matched.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Matching {
    /// Index of the run.
    pub run: u32,
    /// Self time per step and device of ops that were matched, by how; the run's time.
    pub matched_us: Vec<MatchedTime>,
    /// Self time of ops of the run and of the baseline without a partner.
    pub unmatched_us: [f64; 2],
    /// Self time of ops that the profiles do not list, of the run and of the baseline.
    pub unlisted_us: [f64; 2],
}

impl Matching {
    /// Whether both list ops and not one has a partner: these are different programs.
    pub fn is_of_strangers(&self) -> bool {
        self.matched_us.is_empty() && self.unmatched_us.iter().all(|time_us| *time_us > 0.0)
    }
}

/// Time matched in one way.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MatchedTime {
    /// `name`, `fingerprint`, `framework_path`, `similar_name` or `class`.
    pub matched_by: MatchedBy,
    /// Self time per step and device, the run's.
    pub time_us: f64,
}

/// Speed over device counts.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Scaling {
    /// `strong` (the same work on more devices), `weak` (the work grows with the devices) or `mixed` (it grows otherwise).
    pub mode: ScalingMode,
    /// Where the mode comes from: `given`, `batch_size`, or `assumed` where nothing says.
    pub mode_source: ScalingSource,
    /// Index of the run that the speed-ups are over: the fewest devices, of the first series where there are several.
    pub reference: u32,
    /// Points by device count; series after series where there are several.
    pub points: Vec<ScalingPoint>,
    /// Share of the reference's step that more devices do not make shorter, fitted by least squares (Amdahl; strong scaling only), of
    /// the first series where there are several. Absent where more devices are slower on the whole.
    pub serial_fraction: Option<f64>,
    /// 95 % interval of `serial_fraction`, from what the fit leaves of the runs (Student's t), cut to 0 to 1. Absent with fewer than two
    /// runs on more devices than the reference.
    #[serde(default)]
    pub serial_interval: Option<[f64; 2]>,
    /// Programs or platforms that scale apart; empty where there is one only.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub series: Vec<ScalingSeries>,
    /// Ops that take longer on the most devices than the ideal, biggest excess first; of each series at most 20.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub excess_ops: Vec<ExcessOp>,
    /// Twice and four times the most devices by the fitted law; empty without one (mixed scaling), and where fewer devices are faster.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub forecast: Vec<ScalingForecast>,
    /// What the forecast holds under, as a sentence.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub forecast_assumption: Option<String>,
}

/// Ops above their ideal time that are listed, of a series.
pub(crate) const MAX_EXCESS_OPS: usize = 20;

/// One program on one platform.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ScalingSeries {
    /// Name of the experiment, else of the platform: `series` of its points.
    pub name: String,
    /// Index of the run that its speed-ups are over.
    pub reference: u32,
    /// Serial fraction of the series, as that of the whole.
    pub serial_fraction: Option<f64>,
    /// Serial interval of the series, as that of the whole.
    #[serde(default)]
    pub serial_interval: Option<[f64; 2]>,
}

/// One run on some number of devices.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ScalingPoint {
    /// Index of the run.
    pub run: u32,
    /// Name of the run's series, where there are several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub series: Option<String>,
    /// Devices.
    pub devices: u64,
    /// Typical step time.
    pub step_time_us: f64,
    /// The reference's step time over this, times the growth of the work (1 for strong scaling).
    pub speedup: f64,
    /// `speedup` over the growth of the number of devices, in percent.
    pub efficiency_percent: f64,
    /// What a speed-up in proportion to the devices would be.
    pub ideal_speedup: f64,
    /// What the fitted serial fraction allows.
    pub amdahl_speedup: Option<f64>,
    /// Share of the step in exposed communication.
    pub exposed_communication_percent: Option<f64>,
    /// Share of the step in which a device is idle.
    pub idle_percent: Option<f64>,
    /// Share of the busiest device's work that perfect balance would take off it.
    pub imbalance_percent: Option<f64>,
    /// Percentage points of efficiency lost to exposed communication beyond the reference's. The three `lost_to_*` add up to
    /// `100 - efficiency_percent`; negative where there is less of it.
    pub lost_to_communication_percent: Option<f64>,
    /// Percentage points of efficiency lost to idle time beyond the reference's.
    pub lost_to_idle_percent: Option<f64>,
    /// Percentage points of efficiency lost to everything else: computation that does not shrink with the devices, transfers, and so on.
    pub lost_to_rest_percent: Option<f64>,
}

/// Runs in time.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Trend {
    /// What orders the runs: `training_step` (their names hold one) or `timestamp`.
    pub ordered_by: OrderedBy,
    /// Runs in the order of time.
    pub points: Vec<TrendPoint>,
    /// Where the step time changes for good; empty where it drifts.
    pub change_points: Vec<ChangePoint>,
    /// A line through the step times, where it explains them better than change points do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub drift: Option<Drift>,
    /// Single runs apart from those before and after them; they are part of no level and of no drift.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub outliers: Vec<OutlierRun>,
}

/// One run in time.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TrendPoint {
    /// Index of the run.
    pub run: u32,
    /// Place of the run in time (`1000` of `step_00001000`, or a timestamp).
    pub label: String,
    /// Typical step time; absent where steps are unknown.
    pub step_time_us: Option<f64>,
    /// Half the width of the 95 % confidence interval of the mean. Absent with fewer than two steps.
    pub margin_us: Option<f64>,
    /// How busy the devices are.
    pub compute_util_percent: Option<f64>,
}

/// A change for good.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ChangePoint {
    /// Index of the first run after it.
    pub run: u32,
    /// Mean of the typical step times of the runs before it, back to the last change.
    pub before_us: f64,
    /// Mean of the typical step times of the runs from it on, up to the next change.
    pub after_us: f64,
    /// Medians of the mean step times of both groups of runs.
    #[serde(default)]
    pub medians_us: [f64; 2],
    /// Runs of both groups.
    #[serde(default)]
    pub runs: [u64; 2],
    /// Parts of the step and ops that change most between the runs whose step times are the medians, with the sign of the change: at
    /// most three of each, of at least 5 % of the change.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changes: Vec<LevelChange>,
    /// A sentence with the numbers.
    pub text: String,
}
