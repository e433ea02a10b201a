//! Compares the numbers of the runs: which run is better, by what ratio, and which conditions make the numbers incomparable.

use super::difference::{self, Difference};
use super::fairness::WORKLOAD;
use super::level::Level;
use super::subject::mean;
use super::t_quantile::t_quantile_9995;
use super::{
    ComparedMetric, Comparison, Direction, FairnessCheck, FairnessStatus, MetricVerdict, StepTimeChange, Subject,
    WorkUnit, are_of_several_platforms, rates,
};
use base::fields::{self, Definition};
use report::UnifiedProfile;

/// Conditions that affect the value of a metric, apart from the program's speed.
const TIME: &[&str] = &[
    "batch_size",
    "seq_length",
    "model_dimensions",
    "data_type",
    "parameter_shapes",
    "operand_types",
    "device_count",
    "capture_faults",
    "window",
];
const SAMPLES: &[&str] = &[
    "seq_length",
    "model_dimensions",
    "data_type",
    "parameter_shapes",
    "operand_types",
    "device_count",
    "capture_faults",
];
const TOKENS: &[&str] = SAMPLES;
const SAMPLES_PER_DEVICE: &[&str] =
    &["seq_length", "model_dimensions", "data_type", "parameter_shapes", "operand_types", "capture_faults"];
const SHARE: &[&str] = &["capture_faults", "window"];
const KERNELS: &[&str] = &["batch_size", "model_dimensions", "capture_faults"];
const WORK: &[&str] = &["model_dimensions", "capture_faults"];

/// Minimum difference between two percentages that matters to users, in percentage points.
pub(crate) const LEAST_POINTS: f64 = 0.1;

/// Definition of a compared metric.
struct Metric {
    path: &'static str,
    title: &'static str,
    unit: &'static str,
    direction: Direction,
    /// Absent if the metric is not a field of a profile.
    definition: Option<Definition>,
    depends_on: &'static [&'static str],
    basis: Basis,
    value: fn(&UnifiedProfile) -> Option<f64>,
}

/// Source of a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Basis {
    /// Typical step, or work per typical step. The headline uses the same value and the same test.
    TypicalStep,
    /// Another statistic of the steps. Shown without a ratio, because a second ratio of step times would contradict the
    /// ratio in the headline.
    OtherStep,
    /// Any source other than the step time.
    Own,
}

/// Call this function only in constants, because it searches for the definition by `path`.
const fn metric(
    path: &'static str,
    title: &'static str,
    (unit, direction): (&'static str, Direction),
    depends_on: &'static [&'static str],
    basis: Basis,
    value: fn(&UnifiedProfile) -> Option<f64>,
) -> Metric {
    let definition = Some(fields::definition::<UnifiedProfile>(path));
    Metric { path, title, unit, direction, definition, depends_on, basis, value }
}

/// Path of the typical step in the list of compared numbers. Only comparisons contain this number; profiles do not.
pub(crate) const TYPICAL_STEP: &str = "step_time.typical_us";

/// Returns the work per second of a capture, from its typical step.
fn per_second(profile: &UnifiedProfile, unit: WorkUnit) -> Option<f64> {
    Some(rates::per_step(profile, unit)? * 1e6 / Level::typical(profile)?.us)
}

fn per_device(profile: &UnifiedProfile, unit: WorkUnit) -> Option<f64> {
    let devices = Some(profile.metadata.num_devices).filter(|&devices| devices > 0)?;
    Some(per_second(profile, unit)? / devices as f64)
}

/// Numbers with the same meaning on every platform.
const COMMON: [Metric; 14] = [
    Metric {
        path: TYPICAL_STEP,
        title: "Typical step",
        unit: "us",
        direction: Direction::Lower,
        definition: None,
        depends_on: TIME,
        basis: Basis::TypicalStep,
        value: |p| Some(Level::typical(p)?.us),
    },
    metric("step_timing.avg_step_time_us", "Mean step", ("us", Direction::Lower), TIME, Basis::OtherStep, |p| {
        p.step_timing.avg_step_time_us
    }),
    metric("step_timing.median_step_time_us", "Median step", ("us", Direction::Lower), TIME, Basis::OtherStep, |p| {
        p.step_timing.median_step_time_us
    }),
    metric("step_timing.p95_step_time_us", "95th percentile", ("us", Direction::Lower), TIME, Basis::OtherStep, |p| {
        p.step_timing.p95_step_time_us
    }),
    metric("step_timing.device_work_us", "Device work per step", ("us", Direction::Lower), TIME, Basis::Own, |p| {
        p.step_timing.device_work_us
    }),
    metric("throughput.steps_per_sec", "Steps per second", ("1/s", Direction::Higher), TIME, Basis::TypicalStep, |p| {
        per_second(p, WorkUnit::Step)
    }),
    metric(
        "throughput.samples_per_sec",
        "Samples per second",
        ("1/s", Direction::Higher),
        SAMPLES,
        Basis::TypicalStep,
        |p| per_second(p, WorkUnit::Sample),
    ),
    metric(
        "throughput.tokens_per_sec",
        "Tokens per second",
        ("1/s", Direction::Higher),
        TOKENS,
        Basis::TypicalStep,
        |p| per_second(p, WorkUnit::Token),
    ),
    metric(
        "throughput.samples_per_sec_per_device",
        "Samples per second per device",
        ("1/s", Direction::Higher),
        SAMPLES_PER_DEVICE,
        Basis::TypicalStep,
        |p| per_device(p, WorkUnit::Sample),
    ),
    metric(
        "throughput.tokens_per_sec_per_device",
        "Tokens per second per device",
        ("1/s", Direction::Higher),
        SAMPLES_PER_DEVICE,
        Basis::TypicalStep,
        |p| per_device(p, WorkUnit::Token),
    ),
    metric(
        "compute_utilization.compute_util_percent",
        "Device busy",
        ("percent", Direction::Higher),
        SHARE,
        Basis::Own,
        |p| p.compute_utilization.as_ref().map(|it| it.compute_util_percent),
    ),
    metric(
        "compute_utilization.overhead_time_us",
        "Idle time per step",
        ("us", Direction::Lower),
        TIME,
        Basis::Own,
        |p| p.compute_utilization.as_ref().map(|it| it.overhead_time_us),
    ),
    metric(
        "step_breakdown.parts.communication_us",
        "Exposed communication per step",
        ("us", Direction::Lower),
        TIME,
        Basis::Own,
        |p| p.step_breakdown.as_ref().map(|it| it.parts.communication_us),
    ),
    metric("roofline.mfu_percent", "Model FLOPs utilisation", ("percent", Direction::Higher), SHARE, Basis::Own, |p| {
        p.roofline.as_ref().and_then(|it| it.mfu_percent)
    }),
];

/// Numbers that only one platform has, or that depend on its hardware. Scored only among runs of one platform.
const OF_A_PLATFORM: [Metric; 13] = [
    metric("step_timing.kernels_per_step", "Kernels per step", ("count", Direction::Lower), KERNELS, Basis::Own, |p| {
        p.step_timing.kernels_per_step
    }),
    metric("timeline_analysis.gap_time_percent", "Idle gaps", ("percent", Direction::Lower), SHARE, Basis::Own, |p| {
        p.timeline_analysis.as_ref().map(|it| it.gaps.gap_time_percent)
    }),
    metric(
        "multi_device.avg_utilization_percent",
        "Devices busy, mean over devices",
        ("percent", Direction::Higher),
        SHARE,
        Basis::Own,
        |p| p.multi_device.as_ref().and_then(|it| it.avg_utilization_percent),
    ),
    metric(
        "multi_device.busy_imbalance_percent",
        "Imbalance of devices",
        ("percent", Direction::Lower),
        SHARE,
        Basis::Own,
        |p| p.multi_device.as_ref().and_then(|it| it.busy_imbalance_percent),
    ),
    metric(
        "communication.hidden_percent",
        "Overlapped communication",
        ("percent", Direction::Higher),
        SHARE,
        Basis::Own,
        |p| p.communication.as_ref().and_then(|it| it.hidden_percent),
    ),
    metric("step_breakdown.duty_cycle_percent", "Duty cycle", ("percent", Direction::Higher), SHARE, Basis::Own, |p| {
        p.step_breakdown.as_ref().and_then(|it| it.duty_cycle_percent)
    }),
    metric(
        "kernel_statistics.tensor_core_percent",
        "Share of matmul time on matrix units",
        ("percent", Direction::Higher),
        SHARE,
        Basis::Own,
        |p| p.kernel_statistics.as_ref().and_then(|it| it.tensor_core_percent),
    ),
    metric(
        "kernel_statistics.occupancy_percent",
        "Theoretical occupancy",
        ("percent", Direction::Higher),
        SHARE,
        Basis::Own,
        |p| p.kernel_statistics.as_ref().and_then(|it| it.occupancy_percent),
    ),
    metric(
        "compilation.compilation_time_us",
        "Compilation in the capture",
        ("us", Direction::Lower),
        SHARE,
        Basis::Own,
        |p| p.compilation.as_ref().map(|it| it.compilation_time_us),
    ),
    metric("io_operations.io_percent", "Input pipeline", ("percent", Direction::Neither), SHARE, Basis::Own, |p| {
        p.io_operations.as_ref().map(|it| it.io_percent)
    }),
    metric("parameter_counts.total_params", "Parameters", ("count", Direction::Neither), WORK, Basis::Own, |p| {
        p.parameter_counts.as_ref().map(|it| it.total_params as f64)
    }),
    metric(
        "parameter_counts.trainable_params",
        "Trainable parameters",
        ("count", Direction::Neither),
        WORK,
        Basis::Own,
        |p| p.parameter_counts.as_ref().and_then(|it| it.trainable_params).map(|count| count as f64),
    ),
    metric(
        "parameter_counts.frozen_params",
        "Frozen parameters",
        ("count", Direction::Neither),
        WORK,
        Basis::Own,
        |p| p.parameter_counts.as_ref().and_then(|it| it.frozen_params).map(|count| count as f64),
    ),
];

/// Returns the path and the definition of every compared number of a profile.
pub fn definitions() -> impl Iterator<Item = (&'static str, Definition)> {
    COMMON.iter().chain(&OF_A_PLATFORM).filter_map(|metric| Some((metric.path, metric.definition?)))
}

/// Returns the scored numbers, and the numbers that are only shown. Omits numbers that no run has.
pub(crate) fn metrics(subjects: &[Subject], comparison: &Comparison) -> (Vec<ComparedMetric>, Vec<ComparedMetric>) {
    let common = common_work(subjects, comparison);
    let runs = &Runs::new(subjects, comparison, &common);
    let across = are_of_several_platforms(subjects);
    let compared = |metrics: &[Metric], scored: bool| -> Vec<ComparedMetric> {
        let one = |metric: &Metric| {
            let it = compare(metric, |_, profile| (metric.value)(profile), runs);
            if scored {
                return it;
            }
            ComparedMetric { winner: None, comparable: false, verdicts: vec![None; subjects.len()], ..it }
        };
        metrics.iter().map(one).filter(|it| it.values.iter().any(Option::is_some)).collect()
    };
    let mut common = compared(&COMMON, true);
    common.extend(efficiency(runs));
    let others = compared(&OF_A_PLATFORM, !across);
    if across {
        return (common, others);
    }
    common.extend(others);
    (common, Vec::new())
}

/// Returns the work that each run has in common with the baseline.
fn common_work(subjects: &[Subject], comparison: &Comparison) -> Vec<CommonWork> {
    let mut common = vec![CommonWork::Steps; subjects.len()];
    for change in &comparison.step_time {
        if let Some(common) = common.get_mut(change.run as usize) {
            *common = CommonWork::of(change);
        }
    }
    common
}

/// Returns the cost in money and energy of a million tokens or samples, or a thousand steps: the
/// reciprocals of work per dollar and per joule.
pub(crate) fn costs(subjects: &[Subject], comparison: &Comparison) -> Vec<ComparedMetric> {
    let common = common_work(subjects, comparison);
    let of = |metric: ComparedMetric| {
        let (work, per) = metric.metric.strip_prefix("efficiency.")?.split_once("_per_")?;
        let (many, amount) = if work == "steps" { ("thousand", 1e3) } else { ("million", 1e6) };
        let (what, unit, factor) = match per {
            "dollar" => ("Cost", "$", amount),
            _ => ("Energy", "Wh", amount / JOULES_PER_WH),
        };
        let cost = |rate: f64| factor / rate;
        let values: Vec<Option<f64>> = metric.values.iter().map(|rate| rate.map(cost)).collect();
        let base = values.get(comparison.baseline as usize).copied().flatten();
        let is_told = |run: usize| metric.ratios.get(run).is_some_and(Option::is_some);
        let difference = |(run, value): (usize, &Option<f64>)| Some((*value)? - base?).filter(|_| is_told(run));
        Some(ComparedMetric {
            title: format!("{what} per {many} {work}"),
            metric: format!("efficiency.{}_per_{many}_{work}", if per == "dollar" { "dollars" } else { "watt_hours" }),
            unit: unit.to_owned(),
            direction: Direction::Lower,
            differences: values.iter().enumerate().map(difference).collect(),
            values,
            spreads: metric.spreads.iter().map(|it| it.map(|[least, most]| [cost(most), cost(least)])).collect(),
            ..metric
        })
    };
    efficiency(&Runs::new(subjects, comparison, &common)).into_iter().filter_map(of).rev().collect()
}

const JOULES_PER_WH: f64 = 3600.0;

/// Returns the work per unit of energy and money, if the user enters the power or the price. The unit of work is tokens if all
/// runs record them, or else samples, or else steps.
fn efficiency(runs: &Runs<'_>) -> Vec<ComparedMetric> {
    let subjects = runs.subjects;
    type Work = (&'static str, [&'static str; 2], &'static [&'static str], fn(&UnifiedProfile) -> Option<f64>);
    const TOKENS_DONE: Work =
        ("Tokens", ["efficiency.tokens_per_joule", "efficiency.tokens_per_dollar"], TOKENS, |it| {
            per_second(it, WorkUnit::Token)
        });
    const SAMPLES_DONE: Work =
        ("Samples", ["efficiency.samples_per_joule", "efficiency.samples_per_dollar"], SAMPLES, |it| {
            per_second(it, WorkUnit::Sample)
        });
    const STEPS_DONE: Work = ("Steps", ["efficiency.steps_per_joule", "efficiency.steps_per_dollar"], TIME, |it| {
        per_second(it, WorkUnit::Step)
    });
    let of_all = |work: &Work| subjects.iter().flat_map(Subject::captures).all(|it| work.3(it).is_some());
    let (work, [per_joule, per_dollar], depends_on, rate) =
        [TOKENS_DONE, SAMPLES_DONE].into_iter().find(of_all).unwrap_or(STEPS_DONE);
    let devices = |subject: &Subject| subject.profile.metadata.num_devices.max(1) as f64;
    let mut all = Vec::new();
    for (path, title, unit, cost) in [
        (
            per_joule,
            format!("{work} per joule"),
            "1/J",
            (|it: &Subject| it.watts_per_device) as fn(&Subject) -> Option<f64>,
        ),
        (per_dollar, format!("{work} per dollar"), "1/$", |it: &Subject| {
            it.dollars_per_device_hour.map(|it| it / 3600.0)
        }),
    ] {
        if subjects.iter().all(|it| cost(it).is_none()) {
            continue;
        }
        let value = |it: &Subject, capture: &UnifiedProfile| {
            Some(rate(capture)? / (cost(it).filter(|cost| *cost > 0.0)? * devices(it)))
        };
        let metric = Metric {
            path,
            title: "",
            unit,
            direction: Direction::Higher,
            definition: None,
            depends_on,
            basis: Basis::TypicalStep,
            value: |_| None,
        };
        all.push(ComparedMetric { title, ..compare(&metric, value, runs) });
    }
    all
}

/// Compared runs and their common work.
struct Runs<'a> {
    subjects: &'a [Subject],
    baseline: usize,
    fairness: &'a [FairnessCheck],
    threshold: f64,
    /// Work that each run has in common with the baseline.
    common: &'a [CommonWork],
}

impl<'a> Runs<'a> {
    fn new(subjects: &'a [Subject], comparison: &'a Comparison, common: &'a [CommonWork]) -> Runs<'a> {
        let Comparison { fairness, threshold, baseline, .. } = comparison;
        Runs { subjects, baseline: *baseline as usize, fairness, threshold: *threshold, common }
    }
}

/// Work that two runs have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CommonWork {
    /// Each step does the same work.
    Steps,
    /// Each token or sample requires the same work, according to the known conditions. Everything
    /// except numbers per step is comparable.
    Tokens,
    /// The runs have no known work in common, so the numbers are shown without verdicts.
    Nothing,
}

impl CommonWork {
    fn of(change: &StepTimeChange) -> CommonWork {
        match change.work {
            FairnessStatus::Same => CommonWork::Steps,
            FairnessStatus::Differs if change.is_of_other_work() => CommonWork::Nothing,
            FairnessStatus::Differs | FairnessStatus::Unknown => CommonWork::Tokens,
        }
    }
}

/// One number of every run: its values by capture, and their means.
struct RunValues {
    of_captures: Vec<Vec<f64>>,
    means: Vec<Option<f64>>,
}

fn compare(
    metric: &Metric,
    value: impl Fn(&Subject, &UnifiedProfile) -> Option<f64>,
    runs: &Runs<'_>,
) -> ComparedMetric {
    let Runs { subjects, baseline, fairness, .. } = *runs;
    let of_captures = |subject: &Subject| subject.captures().iter().filter_map(|it| value(subject, it)).collect();
    let found = RunValues {
        of_captures: subjects.iter().map(of_captures).collect(),
        means: subjects.iter().map(|subject| over_captures(metric, subject, |it| value(subject, it))).collect(),
    };
    let values = &found.means;
    let base = values.get(baseline).copied().flatten();
    let with = |status: FairnessStatus| -> Vec<String> {
        let of = |name: &&&str| fairness.iter().any(|it| it.check == **name && it.status == status);
        metric.depends_on.iter().filter(of).map(|name| (*name).to_owned()).collect()
    };
    let (spoiled_by, unknown) = (with(FairnessStatus::Differs), with(FairnessStatus::Unknown));
    // A number per step in one run and per capture in the other is not comparable either.
    let same_work = !spoiled_by.iter().any(|it| it == "window" || WORKLOAD.contains(&it.as_str()));
    let common = |run: usize| runs.common.get(run).copied().unwrap_or(CommonWork::Nothing);
    let is_comparable = |run: usize| match common(run) {
        CommonWork::Steps => true,
        CommonWork::Tokens => !metric.depends_on.contains(&"batch_size"),
        CommonWork::Nothing => false,
    };
    let comparable = same_work && (0..values.len()).all(is_comparable) && values.iter().all(Option::is_some);
    let ratio = |value: &Option<f64>| {
        // Two zeros are equal, although their ratio is undefined.
        if metric.direction != Direction::Neither && value.is_some() && *value == base {
            return Some(1.0);
        }
        let (value, base) = (value.filter(|it| *it > 0.0)?, base.filter(|it| *it > 0.0)?);
        match metric.direction {
            Direction::Higher => Some(value / base),
            Direction::Lower => Some(base / value),
            Direction::Neither => None,
        }
    };
    let is_judged = metric.basis != Basis::OtherStep;
    let of_runs = |of: &dyn Fn(&Option<f64>) -> Option<f64>| -> Vec<Option<f64>> {
        let of_run = |(run, value)| of(value).filter(|_| common(run) != CommonWork::Nothing);
        values.iter().enumerate().map(of_run).collect()
    };
    let spread = |values: &Vec<f64>| {
        let most = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let least = values.iter().copied().fold(f64::INFINITY, f64::min);
        (values.len() > 1).then_some([least, most])
    };
    let is_group = subjects.iter().any(|subject| !subject.group.is_empty());
    ComparedMetric {
        metric: metric.path.to_owned(),
        title: metric.title.to_owned(),
        unit: metric.unit.to_owned(),
        direction: metric.direction,
        ratios: of_runs(&|value| ratio(value).filter(|_| is_judged)),
        differences: of_runs(&|value| Some((*value)? - base?)),
        verdicts: (0..values.len())
            .map(|run| verdict(metric, &found, runs, run).filter(|_| is_judged && same_work && is_comparable(run)))
            .collect(),
        winner: if comparable && is_judged { winner(metric, &found, runs) } else { None },
        spreads: if is_group { found.of_captures.iter().map(spread).collect() } else { Vec::new() },
        values: found.means,
        comparable,
        spoiled_by,
        unknown,
    }
}

/// Returns the number of a run. A rate over several captures is computed from their mean time, like the rate in the headline.
fn over_captures(metric: &Metric, subject: &Subject, value: impl Fn(&UnifiedProfile) -> Option<f64>) -> Option<f64> {
    if metric.basis == Basis::TypicalStep && metric.direction == Direction::Higher {
        return mean(subject.captures(), |it| value(it).filter(|rate| *rate > 0.0).map(f64::recip)).map(f64::recip);
    }
    mean(subject.captures(), value)
}

/// Returns true if `a` is better than `b`, regardless of the noise.
fn is_better(metric: &Metric, a: f64, b: f64) -> bool {
    match metric.direction {
        Direction::Higher => a > b,
        Direction::Lower => a < b,
        Direction::Neither => false,
    }
}

/// Returns true if the values of two runs differ by more than the noise and by enough to matter.
///
/// A number that is derived from the step time uses the test of the step time: between captures or, with one capture
/// per side, over the steps. Any other number is tested between captures, and more strictly, because a report makes
/// many of these tests at once. With one capture per side, only the size of the difference is tested.
fn is_clear(metric: &Metric, found: &RunValues, runs: &Runs<'_>, [run, other]: [usize; 2]) -> bool {
    let value = |run: usize| found.means.get(run).copied().flatten();
    let (Some(ours), Some(theirs), Some(subject), Some(against)) =
        (value(run), value(other), runs.subjects.get(run), runs.subjects.get(other))
    else {
        return false;
    };
    let share = runs.threshold * ours.abs().min(theirs.abs());
    // A negligible value that doubles is still negligible.
    let least = if metric.unit == "percent" { share.max(LEAST_POINTS) } else { share };
    if (ours - theirs).abs() < least || ours == theirs {
        return false;
    }
    if metric.basis == Basis::TypicalStep {
        let levels = |side: &Subject, value: f64| -> Option<Vec<Level>> {
            let levels: Vec<Level> = side.captures().iter().map(Level::typical).collect::<Option<_>>()?;
            let mean_us = levels.iter().map(|it| it.us).sum::<f64>() / levels.len() as f64;
            // A rate is tested as its reciprocal: time (or energy, or money) per unit of work.
            let is_rate = metric.direction == Direction::Higher && value > 0.0 && mean_us > 0.0;
            let factor = if is_rate { 1.0 / (value * mean_us) } else { 1.0 };
            Some(levels.into_iter().map(|it| it.scaled(factor)).collect())
        };
        let difference = levels(subject, ours).zip(levels(against, theirs));
        return difference
            .and_then(|(ours, theirs)| Difference::of_levels(&ours, &theirs))
            .is_none_or(|difference| difference.is_proven(runs.threshold));
    }
    let captures = |run: usize| found.of_captures.get(run).map_or(&[][..], Vec::as_slice);
    match difference::of_values(captures(run), captures(other)) {
        Some((error, df)) => (ours - theirs).abs() > t_quantile_9995(df) * error,
        None => true,
    }
}

/// Returns the verdict on a run's number, compared with the baseline's number.
fn verdict(metric: &Metric, found: &RunValues, runs: &Runs<'_>, run: usize) -> Option<MetricVerdict> {
    let value = |run: usize| found.means.get(run).copied().flatten();
    let (ours, theirs) = (value(run)?, value(runs.baseline)?);
    if run == runs.baseline || metric.direction == Direction::Neither {
        return None;
    }
    if ours == theirs {
        return Some(MetricVerdict::Equal);
    }
    if !is_clear(metric, found, runs, [run, runs.baseline]) {
        return Some(MetricVerdict::WithinNoise);
    }
    Some(if is_better(metric, ours, theirs) { MetricVerdict::Better } else { MetricVerdict::Worse })
}

/// Returns the best run, if each run has several captures that prove that it is better than every other run.
fn winner(metric: &Metric, found: &RunValues, runs: &Runs<'_>) -> Option<u32> {
    if runs.subjects.iter().any(|subject| subject.captures().len() < 2) {
        return None;
    }
    let mut best: Option<(usize, f64)> = None;
    for (run, value) in found.means.iter().enumerate() {
        let value = (*value)?;
        if best.is_none_or(|(_, best)| is_better(metric, value, best)) {
            best = Some((run, value));
        }
    }
    let (run, value) = best.filter(|_| metric.direction != Direction::Neither)?;
    let beats = |other: usize| {
        let theirs = found.means.get(other).copied().flatten();
        other == run
            || theirs.is_some_and(|theirs| is_better(metric, value, theirs))
                && is_clear(metric, found, runs, [run, other])
    };
    (0..found.means.len()).all(beats).then_some(run as u32)
}
