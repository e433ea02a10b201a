//! Compares runs: which is faster, by how much beyond the noise, why, and whether the comparison is
//! fair.
//!
//! ```text
//! profiles --fairness--> conditions        same, differs, unknown
//!          --scored----> metrics           ratio, winner, reasons why it is incomparable
//!          --difference> step times        between captures, else over the steps of each
//!          --waterfall-> parts of a step   deltas that add up exactly
//!          --matching--> ops, kernels      new, gone, slower, faster, more often
//!          --causes----> causes, largest first --summary--> sentences
//!          --scaling, trend                if device counts differ, or if runs have an order in time
//! ```
//!
//! Reads only unified profiles, never events, so that a loaded run, an exported profile and a
//! reloaded report give the same comparison. docs/compare.md explains the method and its limits.

#![warn(clippy::indexing_slicing, clippy::panic, clippy::unwrap_used)]

mod agreement;
mod capture_time;
mod causes;
mod collectives;
mod device_work;
mod difference;
mod document;
#[cfg(feature = "example")]
pub mod example;
mod fairness;
mod focus;
mod folders;
mod groups;
mod headline;
mod label;
mod layers;
mod level;
mod live_memory;
mod matching;
mod memory;
pub mod noise;
mod op_noise;
mod phases;
mod products;
mod program_changes;
mod programs;
mod progress;
mod rates;
mod scaling;
mod scored;
mod step_time;
mod steps;
mod subject;
mod summary;
mod t_quantile;
mod trend;
mod uniform;
mod vocabulary;
mod waterfall;
mod whole_capture;
mod work;

#[cfg(test)]
mod tests;

pub use causes::{per_step, signed};
pub use device_work::{WorkChange, WorkMeasure, WorkVerdict};
pub use difference::DEFAULT_THRESHOLD;
pub use document::*;
pub use focus::Focus;
pub use folders::are_groups;
pub use groups::{GroupDifference, LevelChanges, compare_groups, level_changes, value_margin};
pub use level::{Correlation, Level};
pub use live_memory::MemoryLineChange;
pub use matching::scope as merged_scope;
pub use memory::{MemoryBuffersChange, MemoryClassChange, MemoryComparison};
pub use program_changes::{AspectChange, ComparedProgram, InstructionChange, ProgramChange, ProgramNumbers};
pub use progress::{Progress, ProgressInterval};
pub use scaling::{ExcessOp, Scaling, ScalingForecast, ScalingPoint, ScalingSeries};
pub use scored::definitions;
pub use subject::Subject;
pub use summary::conditions;
pub use trend::{ChangePoint, Drift, LevelChange, OutlierRun, Trend, TrendPoint};
pub use whole_capture::new_findings;

use base::Ps;
use products::Products;
use report::{Framework, Naming, distinct_names};
use std::collections::BTreeSet;
use work::OpsAlike;

/// Maximum number of runs that are compared in detail. A trend may have more runs.
pub const MOST_RUNS: usize = 16;

impl Comparison {
    /// Returns the runs that are compared in detail. If there are more than [`MOST_RUNS`], returns the baseline, the
    /// first and the last run in time, the runs at which the step time changes, and outliers.
    pub fn detailed(&self) -> BTreeSet<u32> {
        if self.runs.len() <= MOST_RUNS {
            return (0..).zip(&self.runs).map(|(run, _)| run).collect();
        }
        let trend = self.trend.as_ref();
        let points = || trend.into_iter().flat_map(|trend| trend.points.iter().map(|point| point.run));
        let changes = trend.into_iter().flat_map(|trend| trend.change_points.iter().map(|change| change.run));
        let outliers = trend.into_iter().flat_map(|trend| trend.outliers.iter().map(|outlier| outlier.run));
        let ends = points().take(1).chain(points().last());
        let mut chosen = BTreeSet::from([self.baseline]);
        for run in ends.chain(changes).chain(outliers) {
            if chosen.len() < MOST_RUNS {
                chosen.insert(run);
            }
        }
        chosen
    }
}

/// Returns true if the runs are from different platforms, so that the comparison is about hardware.
fn are_of_several_platforms(subjects: &[Subject]) -> bool {
    subjects.windows(2).any(|pair| matches!(pair, [a, b] if a.profile.metadata.platform != b.profile.metadata.platform))
}

/// Returns true if the runs name the same work differently: on different platforms, or with
/// frameworks that use different compilers.
fn name_ops_differently(ours: &Subject, theirs: &Subject) -> bool {
    // Libraries built on JAX use the same compiler.
    let framework = |subject: &Subject| subject.profile.metadata.framework();
    let compiler = |subject: &Subject| Some(framework(subject)).filter(|it| *it != Framework::Unknown);
    let differ = compiler(ours).zip(compiler(theirs)).is_some_and(|(ours, theirs)| ours != theirs);
    differ || ours.profile.metadata.platform != theirs.profile.metadata.platform
}

impl Options {
    /// Returns the options that the runs of a report were compared with. If the runs do not come from a report, the
    /// first run is the baseline.
    pub fn of(subjects: &[Subject]) -> Options {
        let is_baseline = |it: &Subject| it.profile.metadata.compared.comparison_baseline == Some(true);
        let scaling = subjects.iter().find_map(|it| it.profile.metadata.compared.comparison_scaling.as_deref());
        Options {
            baseline: subjects.iter().position(is_baseline).unwrap_or(0),
            weak_scaling: scaling.map(|scaling| scaling == "weak"),
            threshold: subjects.iter().find_map(|it| it.profile.metadata.compared.comparison_threshold),
        }
    }
}

/// Options that the user sets.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Options {
    /// Index of the run that the other runs are compared with.
    pub baseline: usize,
    /// Weak scaling (`true`: the work grows with the devices) or strong scaling (`false`: the work
    /// stays the same). Derived from the batch sizes if absent.
    pub weak_scaling: Option<bool>,
    /// Smallest relative difference that is treated as a change, even if smaller differences are certain. [`DEFAULT_THRESHOLD`]
    /// if absent.
    pub threshold: Option<f64>,
}

/// Compares runs. The same profiles always give the same document. Fewer than two runs give a
/// document without changes.
pub fn compare(subjects: &[Subject], options: &Options) -> Comparison {
    let subjects = &named(subjects);
    let Some(last) = subjects.len().checked_sub(1) else { return Comparison::default() };
    let baseline = options.baseline.min(last);
    let Some(base) = subjects.get(baseline) else { return Comparison::default() };
    let across = subjects.iter().any(|it| name_ops_differently(it, base));
    let is_of_memory = live_memory::is_all(subjects);
    // The conditions concern steps.
    let fairness = if is_of_memory { Vec::new() } else { fairness::fairness(subjects) };
    // Steps of different models do not scale, unless the user requests it.
    let is_other_model =
        fairness.iter().any(|it| it.check == "parameter_shapes" && it.status == FairnessStatus::Differs);
    let scaling = scaling::scaling(subjects, options.weak_scaling)
        .filter(|it| !is_other_model || it.mode_source != ScalingSource::Assumed);
    let trend = trend::trend(subjects);
    let kind = match (across, &scaling, &trend) {
        (true, ..) => ComparisonKind::AcrossPlatforms,
        (_, Some(_), _) => ComparisonKind::Scaling,
        (_, _, Some(trend)) if trend.ordered_by == OrderedBy::TrainingStep => ComparisonKind::Trend,
        _ => ComparisonKind::SamePlatform,
    };
    let threshold = options.threshold.unwrap_or(DEFAULT_THRESHOLD);
    let mut comparison = Comparison {
        comparison_version: COMPARISON_VERSION.to_owned(),
        kind,
        runs: subjects.iter().map(run).collect(),
        baseline: baseline as u32,
        fairness,
        threshold,
        capture_time: subjects.iter().enumerate().filter_map(|(run, it)| capture_time::capture_time(run, it)).collect(),
        collectives: collectives::collectives(subjects),
        scaling,
        trend,
        progress: progress::progress(subjects),
        ..Comparison::default()
    };
    let unit = rates::unit(subjects);
    comparison.memory = memory::memory(subjects, baseline);
    let detailed = comparison.detailed();
    let of_run = |(run, subject): (u32, &Subject)| {
        subject.program_changes.iter().map(|it| ProgramChange { run, ..it.clone() }).collect::<Vec<_>>()
    };
    let others = (0..).zip(subjects).filter(|(run, _)| *run != comparison.baseline && detailed.contains(run));
    comparison.programs = others.flat_map(of_run).collect();
    if is_of_memory {
        comparison.answer.verdict = live_memory::sentences(comparison.memory.as_ref(), subjects, baseline);
        comparison.summary = comparison.answer.sentences();
        return comparison;
    }
    if let Some(memory) = &mut comparison.memory {
        memory.buffers.retain(|buffers| detailed.contains(&buffers.run));
        memory.lines.retain(|line| detailed.contains(&line.run));
    }
    for (index, subject) in subjects.iter().enumerate().filter(|(index, _)| *index != baseline) {
        if u32::try_from(index).is_ok_and(|run| detailed.contains(&run)) {
            add_run(&mut comparison, index, subject, base, unit);
        } else {
            // The answer for this run is its place in the trend.
            let mut change = step_time::step_time_change(index, subject, base, comparison.threshold);
            (change.work, change.work_evidence) = work::work(subject, base, OpsAlike::Unknown);
            comparison.rates.extend(rates::rate(&change, unit, subject, base, comparison.threshold));
            comparison.step_time.push(change);
        }
    }
    (comparison.metrics, comparison.platform_metrics) = scored::metrics(subjects, &comparison);
    if !comparison.times_are_of_steps() {
        for metric in comparison.metrics.iter_mut().chain(&mut comparison.platform_metrics) {
            metric.title = metric.title.replace(" per step", "");
        }
    }
    // The answer for a series is about the whole series. Sentences about individual runs follow.
    let mut sentences: Vec<String> =
        comparison.scaling.iter().flat_map(|it| scaling::sentences(it, subjects)).collect();
    if comparison.kind == ComparisonKind::Trend {
        sentences.extend(comparison.trend.iter().flat_map(|it| trend::sentences(it, subjects)));
    }
    comparison.answer = summary::answer(&comparison, subjects);
    comparison.answer.verdict.splice(..0, sentences);
    comparison.summary = comparison.answer.sentences();
    comparison.costs = scored::costs(subjects, &comparison);
    comparison
}

/// Adds all differences between one run and the baseline.
fn add_run(comparison: &mut Comparison, index: usize, subject: &Subject, base: &Subject, unit: WorkUnit) {
    let across = name_ops_differently(subject, base);
    let mut step_time = step_time::step_time_change(index, subject, base, comparison.threshold);
    if steps::window(&subject.profile) != steps::window(&base.profile) {
        let both_timed = step_time.step_time_us.is_some() && step_time.baseline_us.is_some();
        let unknown = if both_timed { "Where the steps of" } else { "The steps of" };
        let remedy = if both_timed {
            "Steps that the program annotates (jax.profiler.StepTraceAnnotation) can be compared by their parts."
        } else {
            "Specify the number of steps."
        };
        let begin = if both_timed { " begin is unknown" } else { " are unknown" };
        comparison.warnings.push(format!(
            "{unknown} {} or {}{begin}. One run is measured per step and the other over its whole window, so neither \
                the parts nor the ops of a step are compared. {remedy}",
            subject.name, base.name
        ));
        (step_time.work, step_time.work_evidence) = work::work(subject, base, OpsAlike::Unknown);
        comparison.rates.extend(rates::rate(&step_time, unit, subject, base, comparison.threshold));
        comparison.step_time.push(step_time);
        return;
    }
    comparison.device_work.extend(device_work::changes(index, subject, base, comparison.threshold));
    let parts = waterfall::waterfall(index, subject, base, waterfall::StepKind::Typical);
    let products = Products::of(subject, base);
    let mut ops = Vec::new();
    let mut alike = OpsAlike::Unknown;
    match (steps::ops(&subject.profile), steps::ops(&base.profile)) {
        (Some(ours), Some(theirs)) => {
            let noise = op_noise::OpNoise::new([subject, base], [&ours, &theirs]);
            let matched = matching::ops(index, &ours, &theirs, &noise, across.then_some(products));
            ops = matched.0;
            if !across {
                alike = OpsAlike::of(&ops, &matched.1, [&ours, &theirs]);
                let kernels = matching::kernels(index, &ours, &theirs);
                // Devices of two vendors run the same program with different kernels, so no kernel is treated as new or gone.
                if kernels.iter().any(|it| it.matched_by != MatchedBy::None) {
                    comparison.kernels.extend(kernels);
                }
            }
            comparison.matching.push(matched.1);
        }
        (None, None) => comparison.warnings.push(format!(
            "Neither {} nor {} has device ops in the measured time, so ops cannot be compared.",
            base.name, subject.name
        )),
        (ours, _) => {
            let lacks = if ours.is_none() { &subject.name } else { &base.name };
            comparison.warnings.push(format!(
                "{lacks} lists no ops of a step, so ops cannot be compared: analyse its trace again to get these ops."
            ));
        }
    }
    (step_time.work, step_time.work_evidence) = work::work(subject, base, alike);
    let rate = rates::rate(&step_time, unit, subject, base, comparison.threshold);
    let [our_classes, their_classes] = [subject, base].map(|it| products.classes(steps::families(&it.profile)));
    let classes = matching::families(index, &our_classes, &their_classes, !across);
    // If the work differs, a difference in time has no causes.
    let is_other_work = step_time.work == FairnessStatus::Differs;
    let is_other_model = step_time.is_of_other_work();
    let (causes, explained_percent) = causes::causes(&causes::Evidence {
        change: &step_time,
        threshold: comparison.threshold,
        subject,
        baseline: base,
        baseline_run: comparison.baseline as usize,
        parts: &parts,
        ops: &ops,
        classes: &classes,
        collectives: &comparison.collectives,
        across,
    });
    let (causes, explained_percent) = if is_other_work { (Vec::new(), None) } else { (causes, explained_percent) };
    let conditions = if causes.is_empty() || across {
        Vec::new()
    } else {
        causes::conditions(&comparison.fairness, index, comparison.baseline as usize)
    };
    comparison.causes.extend(causes.into_iter().chain(conditions));
    if across {
        ops.retain(|op| op.matched_by == MatchedBy::FrameworkPath);
    }
    if is_other_model {
        ops.clear();
        comparison.kernels.retain(|it| it.run as usize != index);
    } else {
        comparison.categories.extend(classes);
        comparison.layers.extend(layers::layers(index, subject, base));
    }
    ops.retain(|op| op.change != ChangeKind::Same || op.delta_us_per_step != 0.0);
    ops.truncate(MOST_CHANGES);
    comparison.ops.extend(ops);
    // Steps with different batch sizes are compared by their time per token or sample.
    let is_of_units = rate.as_ref().filter(|_| is_other_work);
    let parts = match is_of_units {
        Some(rate) => waterfall::per_unit(parts, rate.unit, rate.per_step),
        None => parts,
    };
    if across {
        comparison.phases.extend(phases::phases(&parts, &our_classes, &their_classes));
    }
    comparison.waterfall.extend(parts);
    comparison.rates.extend(rate);
    comparison.step_time.push(StepTimeChange { explained_percent, ..step_time });
}

/// Maximum number of ops that are listed for one run.
const MOST_CHANGES: usize = 100;

/// Returns the subjects with unique names.
fn named(subjects: &[Subject]) -> Vec<Subject> {
    let names: Vec<_> = subjects.iter().map(|it| Naming { name: &it.name, ..it.profile.metadata.naming() }).collect();
    let named = distinct_names(&names).into_iter().zip(subjects);
    named.map(|(name, subject)| Subject { name, ..subject.clone() }).collect()
}

fn run(subject: &Subject) -> ComparedRun {
    let metadata = &subject.profile.metadata;
    ComparedRun {
        name: subject.name.clone(),
        platform: metadata.platform.clone(),
        device_type: metadata.device_type.clone(),
        devices: metadata.num_devices,
        file: metadata.trace_file.clone(),
        captures: captures(subject),
        watts_per_device: subject.watts_per_device,
        dollars_per_device_hour: subject.dollars_per_device_hour,
    }
}

/// Lists the captures of a run if it has several.
fn captures(subject: &Subject) -> Vec<ComparedCapture> {
    let namings: Vec<_> = subject.group.iter().map(|it| it.metadata.naming()).collect();
    let named = distinct_names(&namings).into_iter().zip(&subject.group);
    named
        .map(|(name, profile)| ComparedCapture {
            name,
            file: profile.metadata.trace_file.clone(),
            typical_us: Level::typical(profile).map(|level| level.us),
            steps: Level::typical_steps(profile).unwrap_or(0),
        })
        .collect()
}

/// Rounds a time to whole picoseconds, so that the differences of parts add up exactly.
fn us_to_ps(us: f64) -> Ps {
    Ps::new((us * 1e6).round() as i64)
}
