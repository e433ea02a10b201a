//! Computes the speed-up on more devices, and the causes of lost efficiency.
//!
//! ```text
//! runs --platform, experiment--> series --fewest devices--> reference
//!      speed-up   = step time of the reference / step time * growth of the work
//!      efficiency = speed-up / growth of the devices
//! ```
//!
//! Ignores runs without a step time or a device count, and programs that ran on only one number of devices.

mod amdahl;
mod document;
mod doubling;
mod excess;
mod line;

use std::cmp::Ordering;

use super::difference::differ;
use super::op_noise::OpNoise;
use super::{ScalingMode, ScalingSource, Subject};
use super::{matching, steps};
use amdahl::AmdahlFit;
use base::{format, sort};
pub use document::{ExcessOp, Scaling, ScalingForecast, ScalingPoint, ScalingSeries};
use doubling::DoublingFit;
use report::{StepBreakdown, UnifiedProfile, methods_of_paths};

/// Minimum percentage that a sentence mentions.
const LEAST_PERCENT: f64 = 1.0;

/// Compares runs with different device counts on one platform. Returns `None` if there are no such runs.
///
/// `weak` is true if the user states that the work grows with the devices. If `weak` is `None`, the batch sizes
/// determine the kind of scaling.
pub(crate) fn scaling(subjects: &[Subject], weak: Option<bool>) -> Option<Scaling> {
    let series = series(subjects);
    let (mode, mode_source) = mode(&series, weak);
    // There is no evidence that the work is the same, and the ops show that the programs differ.
    if mode_source == ScalingSource::Assumed && series.iter().any(Series::has_strangers) {
        return None;
    }
    let mut scaling = Scaling { mode, mode_source, ..Scaling::default() };
    let several = series.len() > 1;
    for series in &series {
        let reference = series.runs.first()?;
        let mut points: Vec<ScalingPoint> = series.runs.iter().map(|run| point(run, reference, mode)).collect();
        let fit = if mode == ScalingMode::Strong { fit(&points) } else { None };
        let name = several.then(|| series.name.clone());
        for point in &mut points {
            point.series.clone_from(&name);
            point.amdahl_speedup = fit.map(|fit| fit.speedup(point.ideal_speedup));
        }
        let (serial_fraction, serial_interval) = (fit.map(|fit| fit.serial), fit.and_then(|fit| fit.interval));
        if scaling.points.is_empty() {
            scaling.reference = reference.index;
            (scaling.serial_fraction, scaling.serial_interval) = (serial_fraction, serial_interval);
        }
        if let Some(name) = name.clone() {
            scaling.series.push(ScalingSeries { name, reference: reference.index, serial_fraction, serial_interval });
        }
        if let Some(most) = series.on_most_devices() {
            let share = work(most, reference, mode) * reference.devices as f64 / most.devices as f64;
            let ops = excess::excess_ops(most, reference, share);
            scaling.excess_ops.extend(ops.into_iter().map(|op| ExcessOp { series: name.clone(), ..op }));
            // If steps get longer with more devices, the law does not fit the runs, and so cannot predict other runs.
            let law = fit.filter(|_| series.turns_at().is_none());
            let forecast = match mode {
                ScalingMode::Strong => {
                    law.map(|it| it.forecast(reference.devices, reference.step_time_us, most.devices))
                }
                ScalingMode::Weak => weak_fit(&points, reference).map(|it| it.forecast(reference, most)),
                ScalingMode::Mixed => None,
            };
            let forecast = forecast.into_iter().flatten();
            scaling.forecast.extend(forecast.map(|size| ScalingForecast { series: name.clone(), ..size }));
        }
        scaling.points.extend(points);
    }
    let assumption = if mode == ScalingMode::Weak { doubling::ASSUMPTION } else { amdahl::ASSUMPTION };
    scaling.forecast_assumption = (!scaling.forecast.is_empty()).then(|| assumption.to_owned());
    (!scaling.points.is_empty()).then_some(scaling)
}

fn weak_fit(points: &[ScalingPoint], reference: &ScaledRun<'_>) -> Option<DoublingFit> {
    let more = points.iter().filter(|point| point.devices > reference.devices);
    let runs: Vec<(f64, f64)> =
        more.map(|point| (point.ideal_speedup, point.step_time_us / reference.step_time_us)).collect();
    DoublingFit::of(&runs)
}

/// Data of a run that scaling uses.
#[derive(Clone)]
struct ScaledRun<'a> {
    index: u32,
    name: &'a str,
    devices: u64,
    step_time_us: f64,
    batch: Option<u64>,
    profile: &'a UnifiedProfile,
}

/// Runs of one program on one platform, sorted by number of devices and then by step time.
struct Series<'a> {
    name: String,
    runs: Vec<ScaledRun<'a>>,
}

impl Series<'_> {
    /// Returns true if a run lists its ops but has no op in common with the reference, which means that the run
    /// executed a different program.
    fn has_strangers(&self) -> bool {
        let Some(known) = self.runs.first().and_then(|reference| steps::ops(reference.profile)) else { return false };
        let is_stranger = |run: &ScaledRun<'_>| {
            steps::ops(run.profile)
                .is_some_and(|own| matching::ops(0, &own, &known, &OpNoise::default(), None).1.is_of_strangers())
        };
        self.runs.iter().any(is_stranger)
    }

    /// Returns the run on the most devices. If several runs have that many devices, returns the fastest of them.
    fn on_most_devices(&self) -> Option<&ScaledRun<'_>> {
        let most = self.runs.last()?.devices;
        self.runs.iter().find(|run| run.devices == most)
    }

    /// Returns the fastest run if it does not have the most devices, and is faster beyond the noise of the steps. By
    /// Amdahl's law, more devices are never slower.
    fn turns_at(&self) -> Option<&ScaledRun<'_>> {
        let last = self.on_most_devices()?;
        let best = self.runs.iter().min_by(|a, b| a.step_time_us.total_cmp(&b.step_time_us))?;
        let is_slower = best.devices < last.devices && differ(best.profile, last.profile)?;
        is_slower.then_some(best)
    }

    fn scales(&self) -> bool {
        self.runs.first().zip(self.runs.last()).is_some_and(|(first, last)| first.devices < last.devices)
    }
}

/// Groups the runs into programs that were measured on several device counts: by platform and experiment, or by the
/// name of a method, if the paths contain it next to the number of devices (`4gpu/lcam_trace`). If the experiment has a
/// different name for each device count (`exp_1chip`, `exp_4chips`), groups by platform only.
fn series(subjects: &[Subject]) -> Vec<Series<'_>> {
    let runs: Vec<ScaledRun<'_>> =
        subjects.iter().zip(0..).filter_map(|(subject, index)| run(subject, index)).collect();
    let paths: Vec<&str> = subjects.iter().map(|subject| subject.profile.metadata.trace_file.as_str()).collect();
    let methods = methods_of_paths(&paths);
    let method = |run: &ScaledRun<'_>| {
        let methods = methods.as_ref()?;
        methods.get(run.index as usize).filter(|method| !method.is_empty()).cloned()
    };
    let experiment = |run: &ScaledRun<'_>| run.profile.metadata.experiment_name.clone().or_else(|| method(run));
    let mut series = group(&runs, &|run| (platform(run), experiment(run)));
    // If paths name devices and methods, there is no fallback, because one method on few devices and another method on many
    // devices are not a scaling series.
    if series.is_empty() && methods.is_none() {
        series = group(&runs, &|run| (platform(run), None));
    }
    series
}

fn run(subject: &Subject, index: u32) -> Option<ScaledRun<'_>> {
    let profile = &subject.profile;
    Some(ScaledRun {
        index,
        name: &subject.name,
        devices: Some(profile.metadata.num_devices).filter(|&devices| devices > 0)?,
        step_time_us: subject.typical_step_us()?,
        batch: profile.model_config.batch_size.filter(|&batch| batch > 0),
        profile,
    })
}

fn platform(run: &ScaledRun<'_>) -> String {
    run.profile.metadata.platform.clone()
}

type SeriesKey = (String, Option<String>);

fn group<'a>(runs: &[ScaledRun<'a>], key: &dyn Fn(&ScaledRun<'_>) -> SeriesKey) -> Vec<Series<'a>> {
    let keys = sort::set(runs.iter().map(key));
    let several_platforms = keys.iter().any(|(platform, _)| keys.iter().any(|(other, _)| other != platform));
    let series = keys.iter().map(|of_series| {
        let mut runs: Vec<ScaledRun<'a>> = runs.iter().filter(|run| key(run) == *of_series).cloned().collect();
        sort::sort_by(&mut runs, by_devices);
        let (platform, experiment) = of_series;
        let name = match experiment {
            Some(experiment) if several_platforms => format!("{experiment} ({platform})"),
            Some(experiment) => experiment.clone(),
            None => platform.clone(),
        };
        Series { name, runs }
    });
    series.filter(Series::scales).collect()
}

/// Orders runs independently of the order in which they were given.
fn by_devices(a: &ScaledRun<'_>, b: &ScaledRun<'_>) -> Ordering {
    let times = || a.step_time_us.total_cmp(&b.step_time_us);
    a.devices.cmp(&b.devices).then_with(times).then_with(|| a.name.cmp(b.name))
}

/// Determines how the work grows with the devices, and the source of that information.
///
/// | batch sizes of each program | scaling |
/// |---|---|
/// | the same | strong: the same work on more devices |
/// | in proportion to the devices | weak: each device has the same work |
/// | known and neither | mixed: speed-ups compare samples per second |
/// | unknown | strong, assumed |
fn mode(series: &[Series<'_>], weak: Option<bool>) -> (ScalingMode, ScalingSource) {
    if let Some(weak) = weak {
        return (if weak { ScalingMode::Weak } else { ScalingMode::Strong }, ScalingSource::Given);
    }
    let runs = || series.iter().flat_map(|series| series.runs.iter().zip(series.runs.first().into_iter().cycle()));
    if runs().any(|(run, _)| run.batch.is_none()) {
        return (ScalingMode::Strong, ScalingSource::Assumed);
    }
    let wide = |value: u64| u128::from(value);
    let proportional = |(run, reference): (&ScaledRun<'_>, &ScaledRun<'_>)| {
        run.batch.zip(reference.batch).is_some_and(|(batch, of_reference)| {
            wide(batch) * wide(reference.devices) == wide(of_reference) * wide(run.devices)
        })
    };
    if runs().all(|(run, reference)| run.batch == reference.batch) {
        (ScalingMode::Strong, ScalingSource::BatchSize)
    } else if runs().all(proportional) {
        (ScalingMode::Weak, ScalingSource::BatchSize)
    } else {
        (ScalingMode::Mixed, ScalingSource::BatchSize)
    }
}

/// Returns the work of a step of the run, relative to a step of the reference.
fn work(run: &ScaledRun<'_>, reference: &ScaledRun<'_>, mode: ScalingMode) -> f64 {
    let batches = run.batch.zip(reference.batch).map(|(batch, of_reference)| batch as f64 / of_reference as f64);
    match mode {
        ScalingMode::Strong => 1.0,
        ScalingMode::Mixed => batches.unwrap_or(1.0),
        // The user's choice applies. If the batch sizes also grow, the growth is computed from them, because it is more exact.
        ScalingMode::Weak => {
            batches.filter(|growth| *growth != 1.0).unwrap_or(run.devices as f64 / reference.devices as f64)
        }
    }
}

/// Compares one run with the reference. The lost efficiency is a sum over the parts of a device's step.
///
/// ```text
/// 1 - efficiency = sum over parts of (part - work / devices * part of the reference) / step
/// ```
///
/// `work` and `devices` are the growth factors. Communication and idle time are two of the parts. Other parts are, for
/// example, computation that does not shrink with the number of devices, and transfers.
fn point(run: &ScaledRun<'_>, reference: &ScaledRun<'_>, mode: ScalingMode) -> ScalingPoint {
    let devices = run.devices as f64 / reference.devices as f64;
    let work = work(run, reference, mode);
    let speedup = reference.step_time_us / run.step_time_us * work;
    let efficiency_percent = 100.0 * speedup / devices;
    let breakdown = |run: &ScaledRun<'_>| run.profile.step_breakdown.clone().filter(|steps| steps.duration_us > 0.0);
    let (ours, theirs) = (breakdown(run), breakdown(reference));
    let lost = |part: fn(&StepBreakdown) -> f64| {
        let (ours, theirs) = (ours.as_ref()?, theirs.as_ref()?);
        let share = part(theirs) / theirs.duration_us * reference.step_time_us * work / devices;
        Some(without_dust(100.0 * (part(ours) / ours.duration_us - share / run.step_time_us)))
    };
    let share = |part: fn(&StepBreakdown) -> f64| ours.as_ref().map(|steps| 100.0 * part(steps) / steps.duration_us);
    let busy = run.profile.compute_utilization.as_ref().map(|section| 100.0 - section.compute_util_percent);
    let (lost_to_communication, lost_to_idle) = (lost(communication), lost(idle));
    let rest = |(communication, idle): (f64, f64)| without_dust(100.0 - efficiency_percent - communication - idle);
    ScalingPoint {
        run: run.index,
        series: None,
        devices: run.devices,
        step_time_us: run.step_time_us,
        speedup,
        efficiency_percent,
        ideal_speedup: devices,
        amdahl_speedup: None,
        exposed_communication_percent: share(communication),
        idle_percent: share(idle).or(busy),
        imbalance_percent: run.profile.multi_device.as_ref().and_then(|section| section.busy_imbalance_percent),
        lost_to_communication_percent: lost_to_communication,
        lost_to_idle_percent: lost_to_idle,
        lost_to_rest_percent: lost_to_communication.zip(lost_to_idle).map(rest),
    }
}

/// Replaces a percentage that is only a rounding error by 0, without a sign.
fn without_dust(percent: f64) -> f64 {
    if percent.abs() < 1e-9 { 0.0 } else { percent }
}

fn communication(steps: &StepBreakdown) -> f64 {
    steps.parts.communication_us
}

fn idle(steps: &StepBreakdown) -> f64 {
    let parts = &steps.parts;
    let causes = [parts.barrier_us, parts.compile_us, parts.input_bound_us, parts.host_bound_us, parts.kernel_wait_us];
    causes.into_iter().flatten().sum::<f64>() + parts.other_idle_us
}

/// Fits Amdahl's law to the runs of a series that have more devices than the reference.
fn fit(points: &[ScalingPoint]) -> Option<AmdahlFit> {
    let more = points.iter().filter(|point| point.ideal_speedup > 1.0);
    AmdahlFit::of(&more.map(|point| (point.ideal_speedup, point.speedup)).collect::<Vec<_>>())
}

/// Describes the scaling in sentences: for each program, the speed on the most devices and the
/// limit of the law.
pub(crate) fn sentences(scaling: &Scaling, subjects: &[Subject]) -> Vec<String> {
    let mut sentences = Vec::new();
    let (serial_fraction, serial_interval) = (scaling.serial_fraction, scaling.serial_interval);
    let only = [ScalingSeries { name: String::new(), reference: scaling.reference, serial_fraction, serial_interval }];
    let series = if scaling.series.is_empty() { &only[..] } else { &scaling.series };
    for series in series {
        let of_series = |point: &&ScalingPoint| point.series.as_ref().is_none_or(|name| *name == series.name);
        let points: Vec<&ScalingPoint> = scaling.points.iter().filter(of_series).collect();
        // The fastest of the runs on the most devices.
        let most = points.iter().map(|point| point.devices).max();
        let Some(last) = points.iter().find(|point| Some(point.devices) == most) else { continue };
        let Some(reference) = points.iter().find(|point| point.run == series.reference) else { continue };
        let name = if series.name.is_empty() { String::new() } else { format!("{}: ", series.name) };
        sentences.push(format!("{name}{}", reached(scaling.mode, last, reference)));
        if scaling.mode == ScalingMode::Strong {
            let turn = turning_point(&points, last, subjects).map(|text| format!("{name}{text}"));
            sentences.extend(turn.or_else(|| limit(&name, series, last, reference)));
        }
        let of_name = |name: &Option<String>| name.as_ref().is_none_or(|name| *name == series.name);
        let ops: Vec<&ExcessOp> = scaling.excess_ops.iter().filter(|op| of_name(&op.series)).collect();
        sentences.extend(excess(&ops, last).map(|text| format!("{name}{text}")));
        let sizes: Vec<&ScalingForecast> = scaling.forecast.iter().filter(|size| of_name(&size.series)).collect();
        sentences.extend(forecast(&sizes, scaling.mode).map(|text| format!("{name}{text}")));
    }
    if scaling.mode_source == ScalingSource::Assumed {
        let unknown = |point: &&ScalingPoint| {
            let subject = subjects.get(point.run as usize);
            subject.is_some_and(|subject| subject.profile.model_config.batch_size.is_none())
        };
        let runs = scaling.points.iter().filter(unknown).count();
        sentences.push(format!(
            "Strong scaling was assumed (the same work on more devices): the batch size of {runs} of {} runs is \
                unknown. Specify the batch size, or state the kind of scaling.",
            scaling.points.len()
        ));
    }
    sentences
}

fn reached(mode: ScalingMode, last: &ScalingPoint, reference: &ScalingPoint) -> String {
    let of_reference = reference.devices;
    let ratio = reference.step_time_us / last.step_time_us;
    let what = match mode {
        ScalingMode::Strong if ratio >= 1.0 => format!("a step is {ratio:.2}x faster than on {of_reference}"),
        ScalingMode::Strong => format!("a step is {:.2}x slower than on {of_reference}", 1.0 / ratio),
        _ => format!(
            "a step does {:.2}x the work in {:.2}x the time that it takes on {of_reference}",
            last.speedup / ratio,
            1.0 / ratio
        ),
    };
    let shares = [(last.exposed_communication_percent, "exposed communication"), (last.idle_percent, "idle time")];
    let shares = shares.into_iter().filter_map(|(percent, what)| {
        percent
            .filter(|percent| *percent >= LEAST_PERCENT)
            .map(|percent| format!("{percent:.0} % of the step is {what}"))
    });
    let imbalance = last.imbalance_percent.filter(|percent| *percent >= LEAST_PERCENT);
    let imbalance =
        imbalance.map(|percent| format!("perfect balance would reduce the busiest device's work by {percent:.0} %"));
    let lost: Vec<String> = shares.chain(imbalance).collect();
    let lost = if lost.is_empty() { String::new() } else { format!("; {}", lost.join(", ")) };
    format!("On {} {what}: {:.0} % parallel efficiency{lost}.", devices(last.devices), last.efficiency_percent)
}

/// Describes the case in which fewer devices are faster than the most devices, beyond the noise of the steps. By
/// Amdahl's law, more devices are never slower.
fn turning_point(points: &[&ScalingPoint], last: &ScalingPoint, subjects: &[Subject]) -> Option<String> {
    let profile = |point: &ScalingPoint| Some(&subjects.get(point.run as usize)?.profile);
    let faster = |a: &&ScalingPoint, b: &&ScalingPoint| a.step_time_us.total_cmp(&b.step_time_us);
    let best = points.iter().copied().min_by(faster)?;
    let is_slower = best.devices < last.devices && differ(profile(best)?, profile(last)?)?;
    is_slower.then(|| {
        format!(
            "More than {} make a step longer: {} on {}, {} on {}.",
            devices(best.devices),
            format::time_us(best.step_time_us),
            best.devices,
            format::time_us(last.step_time_us),
            last.devices
        )
    })
}

/// Number of ops that the sentence about the excess names.
const NAMED_OPS: usize = 3;

/// Names the ops with the largest excess over ideal scaling.
fn excess(ops: &[&ExcessOp], last: &ScalingPoint) -> Option<String> {
    let named: Vec<String> = ops
        .iter()
        .take(NAMED_OPS)
        .map(|op| {
            let (measured, ideal) = (format::time_us(op.measured_us), format::time_us(op.ideal_us));
            let ideal =
                if op.ideal_us > 0.0 { format!("{measured} instead of {ideal}") } else { format!("{measured}, new") };
            format!("{} ({ideal})", op.name)
        })
        .collect();
    (!named.is_empty())
        .then(|| format!("Ops furthest above their ideal time on {}: {}.", devices(last.devices), named.join(", ")))
}

/// Describes the forecast for device counts that were not measured.
fn forecast(sizes: &[&ScalingForecast], mode: ScalingMode) -> Option<String> {
    let size = |it: &&ScalingForecast| {
        let interval =
            it.interval_us.map(|[low, high]| format!(" ({} to {})", format::time_us(low), format::time_us(high)));
        format!("{}{} on {}", format::time_us(it.step_time_us), interval.unwrap_or_default(), it.devices)
    };
    let sizes: Vec<String> = sizes.iter().map(size).collect();
    (!sizes.is_empty()).then(|| {
        let (by, holds) = match mode {
            ScalingMode::Weak => ("Judging by what each doubling adds", "each further doubling adds as much"),
            ScalingMode::Strong | ScalingMode::Mixed => ("By Amdahl's law", "nothing grows with the devices"),
        };
        format!("{by}, a step would take {}, as long as {holds}.", sizes.join(" and "))
    })
}

fn devices(count: u64) -> String {
    format::counted(count, "device")
}

fn limit(name: &str, series: &ScalingSeries, last: &ScalingPoint, reference: &ScalingPoint) -> Option<String> {
    match series.serial_fraction {
        Some(serial) if serial >= 0.001 => {
            let interval = series.serial_interval.map(|[low, high]| {
                format!(" (95 % interval {} to {})", format::percent(100.0 * low), format::percent(100.0 * high))
            });
            Some(format!(
                "{name}Amdahl's law fits these times with {}{} of the step on {} that more devices do not shorten: \
                    at most {:.1}x faster on any number of devices.",
                format::percent(100.0 * serial),
                interval.unwrap_or_default(),
                devices(reference.devices),
                1.0 / serial
            ))
        }
        None if last.speedup < 1.0 => {
            Some(format!("{name}More devices make a step longer, which Amdahl's law does not describe."))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests;
