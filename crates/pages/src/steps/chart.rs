//! Charts of steps and devices as stacked parts, for the steps page and the overview. The charts are made from the events,
//! or from the profile alone.

use crate::Source;
use base::format;
use document::{About, Bar, Bars, ColourClass, Link, Series, Stack, StackRow};
use metrics::{Breakdown, StepPart};
use report::{Step, StepTiming, UnifiedProfile, View, metric};
use table::Unit;

/// Maximum number of rows of a chart.
const MOST_ROWS: usize = 200;

/// Draws the steps in order. More than 200 steps are divided into groups of the same size, and the chart shows the mean
/// of each group.
pub(super) fn by_step(source: Source<'_>, device: Option<u32>) -> Stack {
    let (series, steps) = steps(source, device);
    let size = steps.len().div_ceil(MOST_ROWS).max(1);
    let title = match size {
        1 => "Step by step".to_owned(),
        _ => format!("Step by step: means of {size} steps each"),
    };
    // Step column in the page's table for this source.
    let key = if source.context().is_some() { "step" } else { "index" };
    let profile = source.profile();
    let rows = steps.chunks(size).filter_map(|group| {
        let ((first, parts), (last, _)) = (group.first()?, group.last()?);
        let mean = |at: usize| group.iter().filter_map(|(_, parts)| parts.get(at)).sum::<f64>() / group.len() as f64;
        let (label, filter) = if first == last {
            (step_name(profile, *first), format!("{key}={first}"))
        } else {
            (
                format!("{} to {}", step_name(profile, *first), step_name(profile, *last)),
                format!("{key}>={first} {key}<={last}"),
            )
        };
        Some(StackRow {
            label,
            parts: (0..parts.len()).map(mean).collect(),
            link: Some(Link::to(View::Steps, &filter)),
            mark: mark(profile, group.iter().map(|(index, _)| *index)),
        })
    });
    let mut chart = stack(title, series, rows.collect());
    chart.note = note(source);
    chart
}

/// Draws the chart of the steps for the overview. The title of the chart links to the steps page.
pub(crate) fn overview(source: Source<'_>) -> Stack {
    let about = About::new(metric!("steps[].duration_us"), View::Steps);
    Stack { about: Some(about), ..by_step(source, None) }
}

/// Draws the parts of the mean step, or of the active span if the steps are unknown. The parts add up to the length of the
/// step or span.
pub(crate) fn mean(profile: &UnifiedProfile) -> Option<Bars> {
    let breakdown = profile.step_breakdown.as_ref()?;
    let whole = breakdown.duration_us;
    let title = match breakdown.num_steps {
        Some(1) => "One counted step, per device".to_owned(),
        Some(steps) => format!("Mean of {} counted steps, per device", format::count(steps)),
        None => "Active span per device, from the first op to the last".to_owned(),
    };
    let bar = |(part, value): (StepPart, Option<f64>)| {
        let value = value.filter(|us| *us > 0.0 && whole > 0.0)?;
        let note = format::percent((100.0 * value / whole).clamp(0.0, 100.0));
        Some(Bar { label: part.title().to_owned(), value, class: part.into(), note, link: None })
    };
    let bars = StepPart::ALL.into_iter().zip(breakdown.parts.values_us()).filter_map(bar).collect();
    let note = format!("Each instant belongs to one part. The parts add up to {}.", format::time_us(whole));
    Some(Bars { title, unit: Unit::TimeUs, bars, whole: Some(whole), note, ..Bars::default() })
}

/// Draws the mean step, or the active span, of each device.
pub(super) fn by_device(source: Source<'_>, has_steps: bool) -> Stack {
    let breakdown = source.profile().step_breakdown.as_ref();
    let devices = breakdown.iter().flat_map(|breakdown| &breakdown.devices).take(MOST_ROWS);
    let rows = devices.map(|device| StackRow {
        label: device.device_name.clone(),
        parts: device.parts.values_us().map(Option::unwrap_or_default).to_vec(),
        link: Link::equal(View::Steps, "device_name", &device.device_name),
        ..StackRow::default()
    });
    let title = if has_steps { "Mean step by device" } else { "Window by device" };
    stack(title.to_owned(), all_parts(source), rows.collect())
}

/// Returns the kinds of parts, and each step with its parts. If the profile has no breakdown, a step has only four parts.
fn steps(source: Source<'_>, device: Option<u32>) -> (Vec<Series>, Vec<(u64, Vec<f64>)>) {
    if let Some(context) = source.context() {
        let steps = context.analysis.step_breakdown.steps().filter_map(|step| {
            let mean = Breakdown::mean_of_step(step, device)?;
            Some((u64::from(step.first()?.step?), mean.parts_us.to_vec()))
        });
        return (all_parts(source), steps.collect());
    }
    let profile = source.profile();
    let known = profile.step_breakdown.as_ref().map(|breakdown| &breakdown.steps).filter(|steps| !steps.is_empty());
    if let Some(known) = known {
        let steps =
            known.iter().map(|step| (step.index, step.parts.values_us().map(Option::unwrap_or_default).to_vec()));
        return (all_parts(source), steps.collect());
    }
    let series = |label: &str, class: ColourClass| Series { label: label.to_owned(), class, link: None };
    let series = vec![
        series(StepPart::Compute.title(), StepPart::Compute.into()),
        series(StepPart::Communication.title(), StepPart::Communication.into()),
        series("Exposed transfers", StepPart::DataMovement.into()),
        series("Idle", ColourClass::IDLE),
    ];
    let parts = |step: &Step| vec![step.compute_us, step.communication_us, step.transfer_us, step.idle_us];
    (series, profile.steps.iter().map(|step| (step.index, parts(step))).collect())
}

/// Returns the parts of the breakdown. If there are events, each part links to its events within
/// the step.
fn all_parts(source: Source<'_>) -> Vec<Series> {
    let series = |part: StepPart| Series {
        label: part.title().to_owned(),
        class: part.into(),
        link: source.context().map(|_| Link::to(View::Steps, &format!("part={}", part.label()))),
    };
    StepPart::ALL.map(series).to_vec()
}

fn step(profile: &UnifiedProfile, index: u64) -> Option<&Step> {
    let at = usize::try_from(index).ok()?;
    profile.steps.get(at).filter(|step| step.index == index)
}

/// Returns the name of a step in the trace. If the step has no name, returns its position.
pub(crate) fn step_name(profile: &UnifiedProfile, index: u64) -> String {
    match step(profile, index).and_then(|step| step.name.as_deref()) {
        Some(name) => format!("step {name}"),
        None => format!("step {index}"),
    }
}

/// Returns the reason why the statistics exclude these steps. Returns an empty string if the statistics include at
/// least one of the steps.
fn mark(profile: &UnifiedProfile, mut group: impl Iterator<Item = u64>) -> String {
    let Some(first) = group.next().and_then(|index| step(profile, index)).filter(|step| !step.counted) else {
        return String::new();
    };
    let mut is_one = true;
    for index in group {
        is_one = false;
        if step(profile, index).is_none_or(|step| step.counted) {
            return String::new();
        }
    }
    match first {
        step if is_one && step.partial => "partial: not counted",
        step if is_one && step.warm_up && step.compiles => "compiles: not counted",
        step if is_one && step.warm_up => "warm-up: not counted",
        _ => "not counted",
    }
    .to_owned()
}

/// Describes the source of the steps and the meaning of the marks. If there are no individual steps, explains why.
fn note(source: Source<'_>) -> String {
    let profile = source.profile();
    let said = step_source(&profile.step_timing);
    if profile.steps.is_empty() {
        let reason = source.why_missing("steps").or_else(|| source.why_missing("step_timing.avg_step_time_us"));
        return match reason {
            Some(reason) if profile.step_timing.step_count_source == "unknown" => {
                format!("{reason} Enter the number of steps on the Model page.")
            }
            reason => format!("{said} {}", reason.unwrap_or("This profile does not list its steps.")),
        };
    }
    format!("{said} {}", summary(&profile.steps))
}

/// Describes the source of the steps, and how the devices run them.
fn step_source(timing: &StepTiming) -> String {
    let marker = timing.step_marker.as_deref().map(|marker| format::printable(&format::shorten(marker, 60)));
    let devices = match timing.devices_in_step.as_deref() {
        Some("independent") => ", each device independently",
        Some("one_after_another") => ", one device after another",
        _ => "",
    };
    match (timing.step_count_source.as_str(), marker) {
        ("user", _) => "Steps are derived from the given number.".to_owned(),
        ("unknown", _) => "No step markers found.".to_owned(),
        (_, Some(marker)) => format!("Steps: {marker}{devices}."),
        ("step_num", None) => "Steps are annotations with a step number.".to_owned(),
        ("steps_line", None) => "Steps are taken from the Steps line of the profile.".to_owned(),
        ("module_runs", None) => "Steps are runs of the dominant module.".to_owned(),
        (other, None) => format!("Steps: {}.", format::printable(&format::shorten(other, 60))),
    }
}

/// Describes the number of steps, the marked steps, and the partial or warm-up steps that the statistics include
/// because there are no other steps.
fn summary(steps: &[Step]) -> String {
    let noun = if steps.len() == 1 { "step" } else { "steps" };
    let mut text = format!("{} {noun}, start to start.", steps.len());
    let (counted, left_out): (Vec<&Step>, Vec<&Step>) = steps.iter().partition(|step| step.counted);
    let (counted, left_out) = (kinds(&counted), kinds(&left_out));
    if !left_out.is_empty() {
        text.push_str(&format!(" Underlined and not counted: {left_out}."));
        if left_out.contains("warm-up") {
            text.push_str(" Warm-up steps are the first steps that each take more than 1.5 times the median, or a first step in which devices \
                 wait for a host that then runs ahead of them.");
        }
    }
    if !counted.is_empty() {
        text.push_str(&format!(" No step is both complete and past warm-up, so the mean includes {counted}."));
    }
    text
}

/// Counts partial, compiling and warm-up steps. Each step belongs to the first of these kinds that applies.
fn kinds(steps: &[&Step]) -> String {
    let number = |is: fn(&Step) -> bool| steps.iter().filter(|step| is(step)).count();
    let kinds = [
        (number(|it| it.partial), "partial"),
        (number(|it| it.compiles && !it.partial), "compiling"),
        (number(|it| it.warm_up && !it.compiles && !it.partial), "warm-up"),
    ];
    let named = kinds.into_iter().filter(|(count, _)| *count > 0).map(|(count, kind)| format!("{count} {kind}"));
    named.collect::<Vec<_>>().join(", ")
}

/// Omits parts that do not occur.
fn stack(title: String, series: Vec<Series>, rows: Vec<StackRow>) -> Stack {
    let occurs = |at: usize| rows.iter().any(|row| row.parts.get(at).is_some_and(|&time| time > 0.0));
    let shown: Vec<bool> = (0..series.len()).map(occurs).collect();
    let keep = |at: usize| shown.get(at).copied().unwrap_or_default();
    let series = series.into_iter().enumerate().filter(|(at, _)| keep(*at)).map(|(_, series)| series).collect();
    let rows = rows.into_iter().map(|row| StackRow {
        parts: row.parts.iter().enumerate().filter(|(at, _)| keep(*at)).map(|(_, &time)| time).collect(),
        ..row
    });
    let rows = rows.collect();
    Stack { title, unit: Unit::TimeUs, series, rows, ..Stack::default() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_counted_steps_are_described_as_counted() {
        let partial = |counted: bool| Step { partial: true, counted, ..Step::default() };
        let whole = Step { counted: true, ..Step::default() };
        assert_eq!(
            summary(&[partial(true)]),
            "1 step, start to start. No step is both complete and past warm-up, so the mean includes 1 partial."
        );
        let two = summary(&[whole.clone(), partial(false)]);
        assert_eq!(two, "2 steps, start to start. Underlined and not counted: 1 partial.");
        assert_eq!(summary(&[whole]), "1 step, start to start.");
    }
}
