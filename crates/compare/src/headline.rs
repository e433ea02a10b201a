//! Writes the first sentence about two runs: which run does more work in the same time, whether the difference exceeds
//! the noise, and whether both runs do the same work.

use super::fairness;
use super::{
    Comparison, ComparisonBasis, ComparisonKind, FairnessStatus, RateMeasure, StepTimeChange, StepTimeVerdict, WorkPer,
    WorkRate, WorkUnit,
};
use base::format;

/// Advice for runs whose work is unknown.
const WHAT_TO_GIVE: &str = "Specify the batch size of both, or put a crossprof.json next to each trace.";

/// Claim about the speed of a run relative to the baseline.
struct Claim {
    verdict: StepTimeVerdict,
    /// Speed of the run divided by the baseline's speed.
    speed: f64,
    /// ` per token` or ` per sample`; empty for a step.
    per: String,
    /// Numbers of both runs, with their difference and its confidence interval.
    numbers: String,
    /// Smallest difference that captures like these could prove, in percent.
    least_percent: Option<f64>,
}

/// Verdict in one sentence, with its limits.
pub(crate) struct Headline {
    /// Verdict: which run is faster, by how much, in which unit, and how certain the difference is.
    pub verdict: String,
    /// Limits of the verdict, one sentence each.
    pub caveats: Vec<String>,
}

impl Headline {
    fn plain(verdict: String) -> Headline {
        Headline { verdict, caveats: Vec::new() }
    }
}

/// Returns the verdict on a run. The unit of the verdict is tokens or samples if they are known, or else steps.
pub(crate) fn headline(comparison: &Comparison, change: &StepTimeChange) -> Headline {
    let (ours, theirs) = (name(comparison, change.run), name(comparison, comparison.baseline));
    let (Some(step), Some(base)) = (change.typical_us, change.baseline_typical_us) else {
        let lacks = if change.step_time_us.is_none() { &ours } else { &theirs };
        return Headline::plain(format!(
            "The step times of {ours} and {theirs} cannot be compared: the steps of {lacks} are unknown. Specify the \
             number of steps."
        ));
    };
    let rate = comparison.rates.iter().find(|rate| rate.run == change.run);
    let of_units = rate.filter(|rate| rate.unit != WorkUnit::Step);
    let measures = rate.map_or(&[][..], |rate| &rate.measures);
    let claim = match of_units.and_then(|rate| Some((rate, rate.measures.first()?))) {
        Some((rate, measure)) => of_rate(change, rate, measure, [step, base]),
        None if change.work == FairnessStatus::Differs => {
            return Headline::plain(of_other_work(comparison, change, [step, base]));
        }
        None => of_step(change, [step, base]),
    };
    let Claim { verdict, speed, per, numbers, least_percent } = claim;
    let limit = format::percent(100.0 * comparison.threshold);
    let mut caveats = Vec::new();
    let mut could_have_shown = || {
        let least = least_percent.map(format::percent);
        caveats.extend(least.map(|least| format!("Captures like these can only show differences of {least} or more.")));
    };
    let [our_captures, their_captures] = change.captures;
    let is_claim = matches!(verdict, StepTimeVerdict::Faster | StepTimeVerdict::Slower);
    let body = match verdict {
        StepTimeVerdict::Equal => format!("{ours} and {theirs} take the same time{per}: {numbers}"),
        StepTimeVerdict::Same => {
            format!("{ours} and {theirs} take the same time{per}: {numbers}, which differ by less than {limit}")
        }
        StepTimeVerdict::WithinNoise => {
            could_have_shown();
            format!("No difference between {ours} and {theirs}{per} is proven: {numbers}")
        }
        StepTimeVerdict::Unstable => {
            could_have_shown();
            caveats.push("Capture more often, or on an otherwise idle machine.".to_owned());
            format!(
                "The captures of one run differ too much from each other to compare {ours} with {theirs}: {numbers}"
            )
        }
        _ if is_claim && change.work == FairnessStatus::Unknown => {
            caveats.push(WHAT_TO_GIVE.to_owned());
            format!("crossprof cannot tell whether {ours} and {theirs} do the same work: {numbers}")
        }
        _ => {
            let (ratio, word) = if speed > 1.0 { (speed, "faster") } else { (1.0 / speed, "slower") };
            format!("{ours} is {ratio:.2}x {word} than {theirs}{per}: {numbers}")
        }
    };
    let of_captures = change.basis == ComparisonBasis::Captures || our_captures + their_captures > 2;
    if is_claim && change.work != FairnessStatus::Unknown && !of_captures {
        caveats.push(
            "These two captures differ; a second capture of each would show whether the \
             programs differ."
                .to_owned(),
        );
    }
    let unit = rate.map_or(WorkUnit::Step, |rate| rate.unit);
    let others = measures.iter().skip(1).map(|it| other_measure(it, unit, verdict, [&ours, &theirs]));
    Headline { verdict: format!("{body}{}.", others.collect::<String>()), caveats }
}

/// Returns the name of a run. If the runs are from several platforms, adds the device, because it is more important
/// than the name of a file.
fn name(comparison: &Comparison, run: u32) -> String {
    comparison.runs.get(run as usize).map_or(String::new(), |run| {
        if comparison.kind == ComparisonKind::AcrossPlatforms {
            format!("{} ({})", run.name, run.device_type)
        } else {
            run.name.clone()
        }
    })
}

/// Describes two runs whose work differs: both times, without a winner.
fn of_other_work(comparison: &Comparison, change: &StepTimeChange, [step, base]: [f64; 2]) -> String {
    let (ours, theirs) = (name(comparison, change.run), name(comparison, comparison.baseline));
    let title = |check: &String| match check.as_str() {
        "ops" => "all ops".to_owned(),
        check => fairness::title(&comparison.fairness, check),
    };
    let titles: Vec<String> = change.work_evidence.iter().map(title).collect();
    format!(
        "{ours} and {theirs} do not do the same work (they differ in {}), so neither is faster: a typical step takes {} in {ours} and {} in {theirs}.",
        titles.join(" and "),
        format::time_us(step),
        format::time_us(base)
    )
}

fn of_step(change: &StepTimeChange, [step, base]: [f64; 2]) -> Claim {
    let percent = |us: f64| 100.0 * us / base;
    let times = format!("a typical step takes {} against {}", format::time_us(step), format::time_us(base));
    let of = sample_size(change);
    let numbers = match change.margin_us {
        _ if step == base => format!("{times} ({of})"),
        Some(margin) => {
            let interval = [percent(step - base - margin), percent(step - base + margin)];
            format!("{times} ({}, {of})", with_interval(percent(step - base), interval))
        }
        None => format!("{times} ({}; {NO_NOISE})", signed_percent(percent(step - base))),
    };
    let least_percent = change.least_provable_us.map(percent);
    Claim { verdict: change.verdict, speed: base / step, per: String::new(), numbers, least_percent }
}

fn of_rate(change: &StepTimeChange, rate: &WorkRate, measure: &RateMeasure, [step, base]: [f64; 2]) -> Claim {
    let [ours, theirs] = measure.values;
    let unit = rate.unit.label();
    let more = 100.0 * (ours / theirs - 1.0);
    let difference = match measure.interval_percent {
        _ if ours == theirs => sample_size(change),
        Some(interval) => format!("{}, {}", with_interval(more, interval), sample_size(change)),
        None => format!("{}; {NO_NOISE}", signed_percent(more)),
    };
    let times = if change.work == FairnessStatus::Differs {
        let [our_units, their_units] = rate.per_step.map(format::number);
        format!("; a step has {our_units} {unit}s against {their_units}, so step times are not compared")
    } else {
        format!("; a typical step takes {} against {}", format::time_us(step), format::time_us(base))
    };
    let numbers =
        format!("{} against {} {unit}s/s ({difference}){times}", format::number(ours), format::number(theirs));
    Claim {
        verdict: measure.verdict,
        speed: ours / theirs,
        per: format!(" per {unit}"),
        numbers,
        least_percent: measure.least_provable_percent,
    }
}

/// Note for a verdict if a run has fewer than two counted steps.
const NO_NOISE: &str = "the noise is unknown: a run has fewer than two counted steps";

fn sample_size(change: &StepTimeChange) -> String {
    let [ours, theirs] = change.captures;
    let [our_steps, their_steps] = change.steps.map(format::count);
    match change.basis {
        ComparisonBasis::Captures => format!("{ours} and {theirs} captures"),
        ComparisonBasis::Steps | ComparisonBasis::None => format!("{our_steps} and {their_steps} steps"),
    }
}

pub(super) fn signed_percent(percent: f64) -> String {
    let sign = if percent < 0.0 { "\u{2212}" } else { "+" };
    format!("{sign}{}", format::percent(percent.abs()))
}

fn with_interval(percent: f64, [least, most]: [f64; 2]) -> String {
    format!("{}, 95 % interval {} to {}", signed_percent(percent), signed_percent(least), signed_percent(most))
}

/// Describes the rate per device, joule or dollar if its verdict differs from the verdict on time.
fn other_measure(measure: &RateMeasure, unit: WorkUnit, first: StepTimeVerdict, [ours, theirs]: [&str; 2]) -> String {
    let thing = match measure.per {
        WorkPer::Second => "second",
        WorkPer::DeviceSecond => "device",
        WorkPer::Joule => "joule",
        WorkPer::Dollar => "dollar",
    };
    let unit = unit.label();
    let [our_value, their_value] = measure.values.map(format::number);
    let (who, whose, values) = match measure.verdict {
        StepTimeVerdict::Faster => (ours, theirs, [our_value, their_value]),
        StepTimeVerdict::Slower => (theirs, ours, [their_value, our_value]),
        StepTimeVerdict::Equal | StepTimeVerdict::Same => {
            return format!("; per {thing} both do the same number of {unit}s: {our_value} and {their_value}");
        }
        _ => return format!("; per {thing} no difference is proven: {our_value} and {their_value} {unit}s"),
    };
    let [ours, theirs] = measure.values;
    let ratio = if ours > theirs { ours / theirs } else { theirs / ours };
    let is_contrary = matches!(
        (first, measure.verdict),
        (StepTimeVerdict::Faster, StepTimeVerdict::Slower) | (StepTimeVerdict::Slower, StepTimeVerdict::Faster)
    );
    let begin = if is_contrary { "but per" } else { "per" };
    // The costs per token in energy and money are listed below the verdict.
    let numbers = match measure.per {
        WorkPer::DeviceSecond => format!(" ({} against {}/s)", values[0], values[1]),
        _ => String::new(),
    };
    format!("; {begin} {thing} {who} does {ratio:.2}x the {unit}s of {whose}{numbers}")
}

/// If batch sizes differ, describes the part of the step whose time per token or sample differs most.
pub(crate) fn largest_part(comparison: &Comparison, run: u32) -> Option<String> {
    let parts = comparison.waterfall.iter().filter(|part| part.run == run && part.per != WorkUnit::Step);
    let most = parts.reduce(|a, b| if b.delta_us_per_step.abs() > a.delta_us_per_step.abs() { b } else { a })?;
    (most.delta_us_per_step != 0.0).then(|| {
        format!(
            "{}: {} per {} instead of {}.",
            most.title,
            format::time_us(most.run_us),
            most.per.label(),
            format::time_us(most.baseline_us)
        )
    })
}
