//! Headline figures of a run: the first cards of the overview. Uses only the profile.

use crate::Source;
use assessments::Assessment;
use base::{Cut, format};
use document::{Figure, Link};
use insight::limits;
use report::{FindingSeverity, Metric, Serving, Step, StepTiming, Tracing, UnifiedProfile, View, metric};
use table::Unit;
use trace::{Platform, SourceFormat};

/// Returns the figures in reading order. For an earlier result, omits figures whose data the result cannot contain.
pub(super) fn figures(source: Source<'_>) -> Vec<Figure> {
    let mut figures = vec![step_time(source), busy(source)];
    // The mean duration of an op is not informative by itself, so it is shown only if it is judged.
    figures.extend(Some(mean_kernel(source)).filter(|figure| figure.level.is_some()));
    figures.extend([compilation(source), throughput(source)]);
    figures.extend(source.profile().tracing.as_ref().map(|measured| slowed_by_tracing(source.profile(), measured)));
    if source.profile().metadata.source_format() == Some(SourceFormat::UnifiedProfile) {
        figures.retain(|figure| figure.value.is_some() || figure.note_link.is_some());
    }
    figures
}

/// Returns a figure without a value, with the reason in its note.
fn missing(source: Source<'_>, label: &str, metric: Metric, unit: Unit, view: View) -> Figure {
    Figure {
        label: label.to_owned(),
        unit,
        note: source.why_missing(metric.path).unwrap_or("not in this profile").to_owned(),
        link: Some(Link::to(view, "")),
        ..Figure::of(metric)
    }
}

/// Adds the level and the limits of an assessment to a figure.
fn judged(figure: Figure, assessment: Assessment) -> Figure {
    let limits = if assessment.level.is_some() { assessment.limits } else { String::new() };
    Figure { level: assessment.level, limits, ..figure }
}

fn step_time(source: Source<'_>) -> Figure {
    let timing = &source.profile().step_timing;
    let figure = missing(source, "Step time", metric!("step_timing.avg_step_time_us"), Unit::TimeUs, View::Steps);
    let Some(mean) = timing.avg_step_time_us else { return figure };
    let counted = timing.num_steps_counted.unwrap_or(timing.num_steps);
    let steps = format::counted(counted, "step");
    let phases_of = source.profile().serving.as_ref().filter(|serving| serving.phases.len() > 1);
    let mut note = match (phases_of, uneven(timing), timing.stddev_step_time_us) {
        (Some(serving), ..) => phases(serving),
        (None, Some(range), _) => format!("uneven: {range} over {steps}{}", warm_up(&source.profile().steps)),
        (None, None, Some(deviation)) => format!("± {} over {steps}", format::time_us(deviation)),
        (None, None, None) => format!("over {steps}"),
    };
    if let Some((count, mean_us)) = late_compilations(&source.profile().steps) {
        let (steps, takes, each) = if count == 1 { ("step", "takes", "") } else { ("steps", "take", " each") };
        note.push_str(&format!(
            "; {count} later {steps} that {} {takes} {}{each}",
            if count == 1 { "compiles" } else { "compile" },
            format::time_us(mean_us)
        ));
    }
    let compiling = source.profile().steps.iter().filter(|step| step.counted && step.compiles).count() as u64;
    if compiling > 0 {
        note.push_str(&format!("; {} of them compile", format::count(compiling)));
    }
    Figure { value: Some(mean), note, ..figure }
}

/// Lists the median time of each phase: `29 decode 973 µs, 2 mixed 20.7 ms (medians)`.
fn phases(serving: &Serving) -> String {
    let phases = serving.phases.iter().rev();
    let texts: Vec<String> = phases
        .map(|it| format!("{} {} {}", format::count(it.passes), it.phase, format::time_us(it.median_time_us)))
        .collect();
    format!("{} (medians)", texts.join(", "))
}

/// Relative spread of the steps above which their mean is not representative (our limit).
const UNEVEN: f64 = 1.0 / 3.0;

/// Returns the median and the range if the counted steps differ a lot.
fn uneven(timing: &StepTiming) -> Option<String> {
    let (least, most) = (timing.min_step_time_us?, timing.max_step_time_us?);
    let (mean, median) = (timing.avg_step_time_us?, timing.median_step_time_us?);
    let [least_time, most_time, median] = [least, most, median].map(format::time_us);
    (most - least > UNEVEN * mean).then(|| format!("median {median}, {least_time} to {most_time}"))
}

/// Describes the warm-up: the first steps, which are slower than the later steps. The warm-up steps are not counted,
/// because they would cause most of the spread.
fn warm_up(steps: &[Step]) -> String {
    let slow = || steps.iter().filter(|step| step.warm_up && !step.compiles && !step.counted && !step.partial);
    let longest = slow().map(|step| step.duration_us).fold(0.0, f64::max);
    match slow().count() {
        0 => String::new(),
        1 => format!("; the first one ({}), a slow start, is left out", format::time_us(longest)),
        count => format!("; the first {count} (up to {}), a slow start, are left out", format::time_us(longest)),
    }
}

/// Returns the number and the mean duration of complete steps that follow a counted step and include a compilation. The
/// mean over the counted steps does not show these steps.
fn late_compilations(steps: &[Step]) -> Option<(usize, f64)> {
    let late = steps.iter().skip_while(|step| !step.counted);
    let late = late.filter(|step| step.compiles && !step.counted && !step.partial);
    let (count, sum) = late.fold((0, 0.0), |(count, sum), step| (count + 1, sum + step.duration_us));
    (count > 0).then(|| (count, sum / count as f64))
}

/// Returns the figure for the slowdown caused by tracing, for captures that measured it. The slowdown shows how far the times
/// can be trusted.
fn slowed_by_tracing(profile: &UnifiedProfile, measured: &Tracing) -> Figure {
    let (traced, untraced) = (measured.traced_step_time_us, measured.untraced_step_time_us);
    let figure = Figure {
        label: "Slowed by tracing".to_owned(),
        value: Some(measured.slowed_percent()),
        unit: Unit::Percent,
        note: format!("{} per step, {} without", format::time_us(traced), format::time_us(untraced)),
        link: Some(Link::to(View::Steps, "")),
        ..Figure::of(metric!("tracing.slowdown"))
    };
    judged(figure, assessments::slowed_by_tracing(profile))
}

fn busy(source: Source<'_>) -> Figure {
    let metric = metric!("compute_utilization.compute_util_percent");
    let figure = missing(source, "Device busy", metric, Unit::Percent, View::Devices);
    let Some(usage) = &source.profile().compute_utilization else { return figure };
    let share = usage.compute_util_percent;
    let window = match usage.window.as_deref() {
        Some("steps" | "given_steps") | None => "of each step",
        Some(_) => "of each device",
    };
    let mut note = format!("{} {window}", format::time_us(usage.kernel_time_us));
    let waits = assessments::waiting_share(&source.profile().kernels);
    if waits >= LEAST_WAITING {
        note.push_str(&format!("; {} of this is only waiting", format::percent(100.0 * waits)));
    } else {
        note.push_str(&format!("; {} without a device op", format::time_us(usage.overhead_time_us)));
    }
    note.push_str(&without_computation(source.profile()));
    // If ops are missing, the idle time may not be real. For the same reason, findings do not judge the idle time.
    if base::cut(&source.profile().warnings).is_some_and(|cut| cut > Cut::Earliest) {
        note.push_str("; not judged, since events are missing");
        return Figure { value: Some(share), note, ..figure };
    }
    judged(Figure { value: Some(share), note, ..figure }, assessments::device_utilization(source.profile()))
}

/// Minimum share of exposed copies and communication in the busy time that is mentioned (our limit). A device can be
/// busy without computing.
const LEAST_WITHOUT_COMPUTATION: f64 = 0.2;

/// Returns the share of the busy time in which devices only communicate, or only copy from or to hosts and other
/// devices. Empty if this share is small.
fn without_computation(profile: &UnifiedProfile) -> String {
    let Some(breakdown) = &profile.step_breakdown else { return String::new() };
    let parts = &breakdown.parts;
    let copies = parts.h2d_us + parts.d2h_us + parts.p2p_us;
    let share = (copies + parts.communication_us) / breakdown.device_busy_us;
    // A share of no busy time is not a number.
    if share.is_nan() || share < LEAST_WITHOUT_COMPUTATION {
        return String::new();
    }
    let what = match (copies > 0.0, parts.communication_us > 0.0) {
        (true, true) => "copies and communication",
        (true, false) => "copies",
        _ => "communication",
    };
    format!("; {} of the busy time is exposed {what}", format::percent(100.0 * share))
}

/// Minimum share of waiting that is mentioned with the busy share. A smaller share does not change the judgement.
const LEAST_WAITING: f64 = 0.01;

/// Returns the mean kernel duration for GPUs, as on the Kernels page. For other platforms, returns the mean self time of ops,
/// including copies.
fn mean_kernel(source: Source<'_>) -> Figure {
    let profile = source.profile();
    let gpu = profile.kernel_statistics.as_ref().filter(|_| profile.metadata.platform() == Some(Platform::Gpu));
    if let Some(kernels) = gpu.filter(|kernels| kernels.count > 0) {
        let figure = Figure {
            label: "Mean kernel".to_owned(),
            value: Some(kernels.avg_time_us),
            unit: Unit::TimeUs,
            note: format!("over {}", format::counted(kernels.count, "kernel")),
            link: Some(Link::to(View::Kernels, "")),
            ..Figure::of(metric!("kernel_statistics.avg_time_us"))
        };
        return judged(figure, assessments::kernel_duration(profile));
    }
    let metric = metric!("kernels.kernels_by_category.*.time_us");
    let figure = missing(source, "Mean op", metric, Unit::TimeUs, View::Kernels);
    let figure = Figure { definition: MEAN_OP.to_owned(), ..figure };
    let Some((mean, count)) = limits::mean_kernel(profile) else { return figure };
    let note = format!("self time of {}", format::counted(count, "op"));
    judged(Figure { value: Some(mean), note, ..figure }, assessments::kernel_duration(profile))
}

const MEAN_OP: &str =
    "Mean self time of a device op (a kernel, a copy or a fill), without the time of ops nested in it.";

fn compilation(source: Source<'_>) -> Figure {
    let metric = metric!("compilation.compilation_time_us");
    let figure = missing(source, "Compilation", metric, Unit::TimeUs, View::Findings);
    let Some(found) = &source.profile().compilation else { return figure };
    let time = found.compilation_time_us;
    let times = if found.num_compilation_events == 1 { "time" } else { "times" };
    let in_steps = recompiles(source.profile());
    let note = format!(
        "{} {times}, {} of the whole capture{}",
        format::count(found.num_compilation_events),
        format::percent(found.compilation_percent),
        if in_steps { ", also after the first step" } else { "" }
    );
    judged(Figure { value: Some(time), note, ..figure }, assessments::compilation(source.profile()))
}

/// Returns true if programs are compiled while steps run.
fn recompiles(profile: &UnifiedProfile) -> bool {
    let mut fired = profile.findings.iter().filter(|it| it.severity != FindingSeverity::NotChecked);
    fired.any(|it| it.id == "recompilation")
}

/// Returns the most informative known rate: tokens, or else samples, or else steps.
fn throughput(source: Source<'_>) -> Figure {
    let profile = source.profile();
    let rates = &profile.throughput;
    let tokens = metric!("throughput.tokens_per_sec");
    let figure = missing(source, "Throughput", tokens, Unit::TokensPerSecond, View::Model);
    let needs_model = rates.tokens_per_sec.is_none().then(|| Link::to(View::Model, ""));
    let figure = Figure { note_link: needs_model, ..figure };
    let known = [
        (rates.tokens_per_sec, Unit::TokensPerSecond, tokens),
        (rates.samples_per_sec, Unit::SamplesPerSecond, metric!("throughput.samples_per_sec")),
        (rates.steps_per_sec, Unit::StepsPerSecond, metric!("throughput.steps_per_sec")),
    ];
    let Some((rate, unit, metric)) = known.into_iter().find_map(|(rate, unit, metric)| Some((rate?, unit, metric)))
    else {
        return figure;
    };
    let note = match (rates.tokens_per_sec_per_device, unit) {
        (Some(each), _) if profile.metadata.num_devices > 1 => format!("{} per device", format::number(each)),
        (_, Unit::StepsPerSecond) => "add the batch size for samples/s".to_owned(),
        (_, Unit::SamplesPerSecond) => "add the sequence length for tokens/s".to_owned(),
        _ => "whole run".to_owned(),
    };
    let is_hidden = late_compilations(&profile.steps).is_some();
    let note = if is_hidden { format!("in steps that compile nothing; {note}") } else { note };
    let Figure { metric, definition, .. } = Figure::of(metric);
    Figure { value: Some(rate), unit, note, metric, definition, ..figure }
}

#[cfg(test)]
mod tests {
    use super::*;
    use report::{ComputeUtilization, KernelCategory, Level, NotMeasured, StepBreakdown, StepParts};

    fn profile() -> UnifiedProfile {
        serde_json::from_str(
            r#"{"metadata":{"platform":"TPU","device_type":"TPU","trace_file":"a","framework":"JAX","num_devices":2,"profiler_version":"1.0.0"},
            "model_config":{},"step_timing":{"num_steps":3,"total_time_us":3.0,"total_kernels":9,"step_count_source":"user","avg_step_time_us":33123.456},
            "throughput":{"steps_per_sec":30.19},"kernels":{"kernels_by_category":{},"top_kernels":[]}}"#,
        )
        .unwrap()
    }

    fn all(profile: &UnifiedProfile) -> Vec<Figure> {
        figures(Source::of_profile(profile))
    }

    fn spent(profile: &mut UnifiedProfile, category: &str, time_us: f64, count: u64) {
        let category_time = KernelCategory { time_us, count, ..KernelCategory::default() };
        profile.kernels.kernels_by_category.insert(category.to_owned(), category_time);
    }

    fn usage(busy: f64) -> Option<ComputeUtilization> {
        Some(ComputeUtilization { compute_util_percent: busy, ..ComputeUtilization::default() })
    }

    #[test]
    fn a_busy_share_with_missing_events_is_not_judged() {
        let mut profile = profile();
        profile.compute_utilization = usage(2.0);
        assert_eq!(all(&profile)[1].level, Some(Level::Bad));
        profile.warnings = vec![base::Warning::new(base::WarningCode::RunsWithoutOps, "")];
        let figure = &all(&profile)[1];
        assert_eq!((figure.level, figure.value), (None, Some(2.0)));
        assert!(figure.note.ends_with("not judged, since events are missing"), "{}", figure.note);
    }

    #[test]
    fn late_compilations_are_mentioned_with_the_mean() {
        let step = |index: u64, duration_us: f64, compiles: bool| Step {
            index,
            duration_us,
            compiles,
            counted: !compiles,
            ..Step::default()
        };
        let mut profile = profile();
        let note = |profile: &UnifiedProfile, at: usize| all(profile)[at].note.clone();
        // The first compilation is expected.
        profile.steps = vec![step(0, 9_000.0, true), step(1, 10.0, false), step(2, 12.0, false)];
        assert_eq!(note(&profile, 0), "over 3 steps");
        profile.steps.extend([step(3, 4_000.0, true), step(4, 2_000.0, true)]);
        assert_eq!(note(&profile, 0), "over 3 steps; 2 later steps that compile take 3.00 ms each");
        assert_eq!(note(&profile, 3), "in steps that compile nothing; add the batch size for samples/s");
    }

    #[test]
    fn uneven_steps_are_mentioned() {
        let mut profile = profile();
        let timing = &mut profile.step_timing;
        timing.num_steps_counted = Some(3);
        (timing.avg_step_time_us, timing.median_step_time_us) = (Some(90.0), Some(80.0));
        (timing.min_step_time_us, timing.max_step_time_us) = (Some(80.0), Some(110.0));
        timing.stddev_step_time_us = Some(17.3);
        assert_eq!(all(&profile)[0].note, "± 17.3 µs over 3 steps");
        profile.step_timing.min_step_time_us = Some(79.0);
        assert_eq!(all(&profile)[0].note, "uneven: median 80.0 µs, 79.0 µs to 110 µs over 3 steps");
        let slow = Step { duration_us: 200.0, warm_up: true, ..Step::default() };
        profile.steps = vec![slow, Step { duration_us: 80.0, counted: true, ..Step::default() }];
        let note = &all(&profile)[0].note;
        assert!(note.ends_with("; the first one (200 µs), a slow start, is left out"), "{note}");
    }

    #[test]
    fn known_memory_is_shown_and_judged() {
        let mut profile = profile();
        profile.compute_utilization = Some(ComputeUtilization {
            compute_util_percent: 25.0,
            kernel_time_us: 1.0,
            overhead_time_us: 3.0,
            ..ComputeUtilization::default()
        });
        let found = all(&profile);
        assert_eq!(found[0].value, Some(33123.456));
        assert_eq!(found[1].level, Some(Level::Bad));
        assert!(found[1].note.ends_with("3.00 µs without a device op"), "{}", found[1].note);
        assert_eq!((found[3].value, found[3].unit), (Some(30.19), Unit::StepsPerSecond));
        assert_eq!(found[3].note_link.as_ref().map(|link| link.view), Some(View::Model));
    }

    #[test]
    fn busy_time_without_computation_is_mentioned() {
        let mut profile = profile();
        profile.compute_utilization = usage(99.0);
        let note = |profile: &UnifiedProfile| all(profile)[1].note.clone();
        let parts = |h2d_us, communication_us| StepParts { h2d_us, communication_us, ..StepParts::default() };
        for (parts, expected) in [
            (parts(80.0, 0.0), "; 80.0 % of the busy time is exposed copies"),
            (parts(0.0, 25.0), "; 25.0 % of the busy time is exposed communication"),
            (parts(30.0, 20.0), "; 50.0 % of the busy time is exposed copies and communication"),
            (parts(10.0, 9.0), " without a device op"),
        ] {
            let breakdown = StepBreakdown { parts, device_busy_us: 100.0, ..StepBreakdown::default() };
            profile.step_breakdown = Some(breakdown);
            assert!(note(&profile).ends_with(expected), "{}", note(&profile));
        }
        profile.step_breakdown = Some(StepBreakdown::default());
        assert!(!note(&profile).contains("exposed"));
    }

    /// A definition always belongs to the number that is shown.
    #[test]
    fn definitions_belong_to_the_shown_numbers() {
        let mut profile = profile();
        let says = |profile: &UnifiedProfile, at: usize| all(profile)[at].definition.clone();
        assert!(says(&profile, 3).starts_with("Steps per second"), "{}", says(&profile, 3));
        profile.throughput.samples_per_sec = Some(8.0);
        assert!(says(&profile, 3).starts_with("Batch size times"), "{}", says(&profile, 3));
        spent(&mut profile, "loop fusion", 140.0, 10);
        let mean = |profile: &UnifiedProfile| mean_kernel(Source::of_profile(profile));
        assert_eq!((mean(&profile).label.as_str(), mean(&profile).definition), ("Mean op", MEAN_OP.to_owned()));
        assert!(all(&profile).iter().all(|figure| figure.label != "Mean op"), "nothing judges it");
        profile.metadata.platform = "GPU".to_owned();
        profile.kernel_statistics = Some(report::KernelStatistics { count: 4, avg_time_us: 2.5, ..Default::default() });
        let kernels = mean(&profile);
        assert_eq!((kernels.label.as_str(), kernels.value), ("Mean kernel", Some(2.5)));
        assert_eq!(
            (kernels.definition.as_str(), kernels.note.as_str()),
            ("Mean duration of a kernel.", "over 4 kernels")
        );
    }

    #[test]
    fn an_earlier_result_shows_its_data() {
        let mut profile = profile();
        let labels = |profile: &UnifiedProfile| all(profile).into_iter().map(|it| it.label).collect::<Vec<_>>();
        assert_eq!(labels(&profile).len(), 4);
        profile.metadata.source_format = Some("unified_profile".to_owned());
        assert_eq!(labels(&profile), ["Step time", "Throughput"]);
    }

    #[test]
    fn short_ops_are_bad_only_where_the_host_launches_them() {
        let mut profile = profile();
        spent(&mut profile, "loop fusion", 140.0, 10);
        let mut of = |platform: &str| {
            profile.metadata.platform = platform.to_owned();
            let figure = mean_kernel(Source::of_profile(&profile));
            (figure.value, figure.level)
        };
        assert_eq!(of("GPU"), (Some(14.0), Some(Level::Warning)));
        assert_eq!(of("TPU"), (Some(14.0), None));
    }

    #[test]
    fn short_kernels_of_a_busy_gpu_are_not_bad() {
        let mut profile = profile();
        profile.metadata.platform = "GPU".to_owned();
        spent(&mut profile, "matmul", 140.0, 10);
        let mut at = |busy: f64| {
            profile.compute_utilization = usage(busy);
            mean_kernel(Source::of_profile(&profile)).level
        };
        assert_eq!((at(96.0), at(70.0)), (None, Some(Level::Warning)));
    }

    #[test]
    fn a_device_that_waits_is_busy_but_not_good() {
        let mut profile = profile();
        profile.compute_utilization = usage(100.0);
        spent(&mut profile, "loop fusion", 34.0, 1);
        assert_eq!(all(&profile)[1].level, Some(Level::Good));
        spent(&mut profile, "copy-done", 966.0, 1);
        let busy = all(&profile).swap_remove(1);
        assert_eq!(busy.level, Some(Level::Bad));
        assert!(busy.note.ends_with("96.6 % of this is only waiting"), "{}", busy.note);
    }

    #[test]
    fn the_slow_down_by_tracing_is_shown_where_it_was_measured() {
        let mut profile = profile();
        assert_eq!(all(&profile).len(), 4);
        let mut at = |traced_step_time_us: f64| {
            let slowdown = traced_step_time_us / 50_000.0;
            let measured =
                Tracing { slowdown, traced_step_time_us, untraced_step_time_us: 50_000.0, ..Tracing::default() };
            profile.tracing = Some(measured);
            let figure = all(&profile).swap_remove(4);
            (figure.value.map(f64::round), figure.level, figure.note)
        };
        assert_eq!(at(52_000.0), (Some(4.0), Some(Level::Good), "52.0 ms per step, 50.0 ms without".to_owned()));
        assert_eq!((at(60_000.0).1, at(80_000.0).1), (Some(Level::Warning), Some(Level::Bad)));
        assert_eq!(at(49_000.0).0, Some(-2.0));
    }

    #[test]
    fn missing_figures_have_a_reason() {
        let mut profile = profile();
        let reason = "The trace holds no compile span.".to_owned();
        profile.not_measured.push(NotMeasured { field: "compilation".into(), reason: reason.clone(), remedy: None });
        let compilation = all(&profile).swap_remove(2);
        assert_eq!((compilation.value, compilation.note), (None, reason));
    }

    #[test]
    fn compilation_between_steps_is_not_good_however_short() {
        let mut profile = profile();
        profile.compilation =
            Some(report::Compilation { compilation_time_us: 92.5e3, num_compilation_events: 3, ..Default::default() });
        assert_eq!(all(&profile)[2].level, Some(Level::Good));
        let mut with = |severity: &str| {
            let finding = format!(
                r#"{{"id":"recompilation","severity":"{severity}","confidence":"high","title":"","message":"","remedy":"","evidence":[]}}"#
            );
            profile.findings = vec![serde_json::from_str(&finding).unwrap()];
            all(&profile).swap_remove(2)
        };
        assert_eq!(with("critical").level, Some(Level::Bad));
        assert_eq!(with("warning").level, Some(Level::Warning));
        assert!(with("note").note.ends_with("of the whole capture, also after the first step"));
        assert_eq!(with("not_checked").level, Some(Level::Good));
    }
}
