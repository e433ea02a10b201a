//! Figures of the steps page, for the mean over the devices or for one device.

use super::chart::step_name;
use base::format;
use document::{Figure, Link};
use metrics::{Breakdown, Context, MeanPart, StepPart};
use report::{Metric, StepTiming, UnifiedProfile, View, WindowKind, metric};
use table::Unit;
use tables::part_metric;

/// Input of the figures.
struct Shown<'a> {
    profile: &'a UnifiedProfile,
    window: WindowKind,
    mean: &'a MeanPart,
    /// Communication in flight, in microseconds. Absent if only the overlapped share is known.
    in_flight_us: Option<f64>,
    overlap_percent: Option<f64>,
    has_steps: bool,
    knows_launches: bool,
    duty_percent: Option<f64>,
    /// Position and duration of the longest counted step. Absent if there are no steps.
    longest: Option<(u64, f64)>,
    /// Column of steps in the table of the page.
    step_key: &'static str,
}

/// Returns the figures for the mean over the devices, or for one device.
pub(super) fn of_trace(context: &Context<'_>, mean: &MeanPart, device: Option<u32>) -> Vec<Figure> {
    let breakdown = &context.analysis.step_breakdown;
    figures(&Shown {
        profile: context.profile,
        window: breakdown.window,
        mean,
        in_flight_us: Some(mean.communication_us),
        overlap_percent: mean.communication_overlap_percent(),
        has_steps: breakdown.has_steps,
        knows_launches: breakdown.knows_launches,
        duty_percent: breakdown.duty_cycle.and_then(|duty| duty.percent()),
        longest: longest(breakdown, device),
        step_key: "step",
    })
}

/// Returns the figures from a profile. If the profile has no breakdown of steps, returns only the figures of the step
/// times.
pub(super) fn of_profile(profile: &UnifiedProfile) -> Vec<Figure> {
    let timing = &profile.step_timing;
    let Some(breakdown) = &profile.step_breakdown else {
        let figures = [
            ("Mean step", metric!("step_timing.avg_step_time_us"), timing.avg_step_time_us),
            ("Longest step", metric!("step_timing.max_step_time_us"), timing.max_step_time_us),
        ];
        return figures.into_iter().chain(spread(timing)).map(of_timing).collect();
    };
    let mean = MeanPart {
        num_steps: breakdown.num_steps.unwrap_or(1),
        duration_us: breakdown.duration_us,
        parts_us: breakdown.parts.values_us().map(Option::unwrap_or_default),
        host_busy_us: breakdown.host_busy_us,
        ..MeanPart::default()
    };
    let counted = profile.steps.iter().filter(|step| step.counted);
    let longest = counted.fold(None, |longest: Option<(u64, f64)>, step| {
        let is_longer = longest.is_none_or(|(_, longest)| step.duration_us > longest);
        if is_longer { Some((step.index, step.duration_us)) } else { longest }
    });
    let mut all = figures(&Shown {
        profile,
        window: window(&breakdown.window),
        mean: &mean,
        in_flight_us: None,
        overlap_percent: breakdown.communication_overlap_percent,
        has_steps: !profile.steps.is_empty(),
        knows_launches: breakdown.parts.host_bound_us.is_some(),
        duty_percent: breakdown.duty_cycle_percent,
        longest,
        step_key: "index",
    });
    all.extend(spread(timing).map(of_timing).filter(|figure| figure.value.is_some()));
    all
}

/// Parses the name of a window in the profile.
fn window(label: &str) -> WindowKind {
    let all = [WindowKind::Steps, WindowKind::GivenSteps, WindowKind::Capture, WindowKind::Range];
    all.into_iter().find(|kind| kind.label() == label).unwrap_or_default()
}

/// Returns statistics of the step times.
fn spread(timing: &StepTiming) -> impl Iterator<Item = (&'static str, Metric, Option<f64>)> {
    [
        ("Median", metric!("step_timing.median_step_time_us"), timing.median_step_time_us),
        ("95th percentile", metric!("step_timing.p95_step_time_us"), timing.p95_step_time_us),
        ("Shortest", metric!("step_timing.min_step_time_us"), timing.min_step_time_us),
        ("Std deviation", metric!("step_timing.stddev_step_time_us"), timing.stddev_step_time_us),
    ]
    .into_iter()
}

fn of_timing((label, metric, value): (&str, Metric, Option<f64>)) -> Figure {
    let note = if value.is_none() { "not in this profile".to_owned() } else { String::new() };
    figure(label, value, Unit::TimeUs, note, metric)
}

fn figure(label: &str, value: Option<f64>, unit: Unit, note: String, metric: Metric) -> Figure {
    Figure { label: label.to_owned(), value, unit, note, ..Figure::of(metric) }
}

const BIGGEST: &str = "Biggest part";

fn figures(shown: &Shown<'_>) -> Vec<Figure> {
    let mean = shown.mean;
    let mut figures = vec![length(shown)];
    figures.extend(shown.has_steps.then(|| worst(shown)));
    figures.extend(device_work(&shown.profile.step_timing));
    figures.push(biggest(BIGGEST, mean, mean.biggest_part()));
    // If the largest part is idle time, the cause of idle time already names it.
    if mean.biggest_idle_cause() != mean.biggest_part() {
        let mut cause = biggest("Biggest idle cause", mean, mean.biggest_idle_cause());
        if !shown.knows_launches {
            cause.note.push_str("; launch times are not in the trace");
        }
        figures.push(cause);
    }
    figures.push(overlap(shown));
    figures.push(host_busy(mean));
    let metric = metric!("step_breakdown.duty_cycle_percent");
    let note = || "as defined by XProf, which does not count waiting for the host as work".to_owned();
    figures.extend(shown.duty_percent.map(|duty| figure("Duty cycle", Some(duty), Unit::Percent, note(), metric)));
    figures
}

fn length(shown: &Shown<'_>) -> Figure {
    let timing = &shown.profile.step_timing;
    let count = format::count(shown.mean.num_steps);
    let (label, note) = match shown.window {
        WindowKind::Steps => {
            let steps = shown.profile.steps.len() as u64;
            let noun = if steps == 1 { "step" } else { "steps" };
            let devices = match timing.devices_in_step.as_deref() {
                Some("independent") => "; the devices run them independently",
                Some("one_after_another") => " of one device each, one device after another",
                _ => "",
            };
            ("Mean step", format!("over {count} of {} {noun}{devices}", format::count(steps)))
        }
        WindowKind::GivenSteps => ("Mean step", format!("over {count} steps, as given")),
        WindowKind::Capture => ("Whole capture", "steps are unknown".to_owned()),
        WindowKind::Range => ("Time range", "contains no whole step".to_owned()),
        WindowKind::ActiveSpan => {
            ("Active span", "from the first op's start to the last op's end; steps are unknown".to_owned())
        }
    };
    figure(label, Some(shown.mean.duration_us), Unit::TimeUs, note, metric!("step_breakdown.duration_us"))
}

/// Returns the figure for the work of a step and the lag of the devices. `None` if no link connects the device work to
/// the steps that launched it.
fn device_work(timing: &StepTiming) -> Option<Figure> {
    timing.device_work_tied_by.as_deref().filter(|tie| matches!(*tie, "correlation" | "group" | "dispatch"))?;
    let lag = timing.device_lag_us.map(|lag| format!("devices run {} behind the host (median)", format::time_us(lag)));
    let metric = metric!("step_timing.device_work_us");
    Some(figure("Device work", Some(timing.device_work_us?), Unit::TimeUs, lag.unwrap_or_default(), metric))
}

/// Returns the longest counted step, or the first of several.
fn longest(breakdown: &Breakdown, device: Option<u32>) -> Option<(u64, f64)> {
    let mut worst: Option<(u64, f64)> = None;
    for step in breakdown.steps() {
        let Some(index) = step.first().filter(|_| step.iter().any(|row| row.counted)).and_then(|row| row.step) else {
            continue;
        };
        let length = Breakdown::mean_of_step(step, device).map(|mean| mean.duration_us);
        if let Some(length) = length.filter(|&length| worst.is_none_or(|(_, longest)| length > longest)) {
            worst = Some((u64::from(index), length));
        }
    }
    worst
}

fn worst(shown: &Shown<'_>) -> Figure {
    let name = |(index, _)| step_name(shown.profile, index);
    let mut note = shown.longest.map_or_else(|| "No step is counted.".to_owned(), name);
    let uncounted = shown.profile.steps.iter().filter(|step| !step.counted && !step.partial);
    let longer = uncounted.max_by(|a, b| a.duration_us.total_cmp(&b.duration_us));
    if let Some(longer) = longer.filter(|step| shown.longest.is_some_and(|(_, counted)| step.duration_us > counted)) {
        let (name, time) = (step_name(shown.profile, longer.index), format::time_us(longer.duration_us));
        note.push_str(&format!("; {name}, which is not counted, takes {time}"));
    }
    let link = shown.longest.map(|(index, _)| Link::to(View::Steps, &format!("{}={index}", shown.step_key)));
    let value = shown.longest.map(|(_, length)| length);
    Figure { link, ..figure("Longest step", value, Unit::TimeUs, note, metric!("step_timing.max_step_time_us")) }
}

/// Returns a figure whose tooltip describes first the figure, and then the part that is named below it.
fn biggest(label: &str, mean: &MeanPart, part: Option<StepPart>) -> Figure {
    let of = part.map_or_else(Figure::default, |part| Figure::of(part_metric(part)));
    let which = if label == BIGGEST { "part of a step" } else { "cause of idle time" };
    let what = part.map_or_else(String::new, |part| format!(" {}: {}", part.title(), of.definition));
    Figure {
        definition: format!("The {which} with the most time, as a share of the step.{what}"),
        label: label.to_owned(),
        value: part.and_then(|part| mean.percent(part)),
        unit: Unit::Percent,
        note: match part {
            Some(part) => format!("{}, {}", part.title(), format::time_us(mean.part_us(part))),
            None => "The device was never idle.".to_owned(),
        },
        link: part.map(part_link),
        ..of
    }
}

fn overlap(shown: &Shown<'_>) -> Figure {
    let note = match (shown.overlap_percent, shown.in_flight_us) {
        (Some(_), Some(time)) => format!("of {} in flight overlaps with computation", format::time_us(time)),
        (Some(_), None) => "of communication in flight overlaps with computation".to_owned(),
        (None, _) if shown.has_steps => "No communication ran in the counted steps.".to_owned(),
        (None, _) => "No communication ran in the window.".to_owned(),
    };
    let metric = metric!("step_breakdown.communication_overlap_percent");
    let link = Some(Link::to(View::Communication, ""));
    Figure { link, ..figure("Overlapped communication", shown.overlap_percent, Unit::Percent, note, metric) }
}

fn host_busy(mean: &MeanPart) -> Figure {
    let percent = |time: f64| (mean.duration_us > 0.0).then(|| (100.0 * time / mean.duration_us).clamp(0.0, 100.0));
    let device = format::optional_percent(percent(mean.busy_us()));
    let note = match mean.host_busy_us {
        Some(_) => format!("the device: {device}"),
        None => format!("The trace has no host threads. Device busy: {device}."),
    };
    let value = mean.host_busy_us.and_then(percent);
    Figure {
        definition: "Share of a step during which at least one thread of the device's host works instead of waiting."
            .to_owned(),
        ..figure("Host busy", value, Unit::Percent, note, metric!("step_breakdown.host_busy_us"))
    }
}

fn part_link(part: StepPart) -> Link {
    match part {
        StepPart::Compute => Link::to(View::Ops, ""),
        StepPart::Communication => Link::to(View::Communication, ""),
        StepPart::HostToDevice => Link::to(View::Transfers, "direction=h2d"),
        StepPart::DeviceToHost => Link::to(View::Transfers, "direction=d2h"),
        StepPart::PeerToPeer => Link::to(View::Transfers, "direction=p2p"),
        StepPart::DeviceToDevice => Link::to(View::Transfers, "direction=d2d"),
        StepPart::InfeedOutfeed => Link::to(View::Ops, "feed"),
        StepPart::DataMovement => Link::to(View::Ops, "\"data formatting\""),
        StepPart::Barrier => Link::to(View::Findings, "barrier"),
        StepPart::Compile => Link::to(View::Findings, "compilation"),
        StepPart::InputBound => Link::to(View::Findings, "input"),
        StepPart::HostBound => Link::to(View::Findings, "host_overhead"),
        StepPart::KernelWait => Link::to(View::Findings, "kernels"),
        StepPart::OtherIdle => Link::to(View::Findings, "idle"),
    }
}
