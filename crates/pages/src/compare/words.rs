//! Formats the numbers of a comparison: values with their unit, differences with their sign, ratios
//! as "2.00x faster".

use super::name_of;
use base::format;
pub use compare::per_step;
use compare::{
    Change, ChangeKind, ComparedMetric, Comparison, Direction, FairnessStatus, MatchedBy, MetricVerdict,
    StepTimeChange, StepTimeVerdict, WorkUnit,
};
use document::Judgement;

/// Largest distance from 1 at which a ratio is shown as "equal".
const SAME: f64 = 0.005;

/// Minus sign with the width of a plus sign.
pub const MINUS: &str = "−";

/// Judges the change of an op or a kernel. The change is noise if the captures of one run differ from each other by the
/// same amount.
pub fn judgement_of(change: &Change) -> Judgement {
    let delta = change.delta_us_per_step;
    let is_noise = change.margin_us.is_some_and(|margin| delta != 0.0 && delta.abs() <= margin);
    if is_noise { Judgement::Noise } else { Judgement::of_time(delta) }
}

/// Returns `step` if times are per step, and `window` if the steps are unknown.
pub fn of_steps<'t>(comparison: &Comparison, step: &'t str, window: &'t str) -> &'t str {
    if comparison.times_are_of_steps() { step } else { window }
}

/// Returns the heading for the parts of a run and of the baseline. If the work differs, the parts are listed without differences.
pub fn parts_title(comparison: &Comparison, run: u32, name: &str, baseline: &str) -> String {
    let time = time_of_parts(comparison, run);
    if comparison.is_of_other_work(run) {
        format!("{time} of {baseline} and {name}, part by part")
    } else {
        format!("{time} of {name} minus that of {baseline}, part by part")
    }
}

/// Returns the sum of the parts for the baseline and for a run, in microseconds.
pub fn sums_of_parts(comparison: &Comparison, run: u32) -> [f64; 2] {
    let of_run = || comparison.waterfall.iter().filter(|part| part.run == run);
    [of_run().map(|part| part.baseline_us).sum(), of_run().map(|part| part.run_us).sum()]
}

/// Returns the word for the time that the parts add up to: a step, a token or a sample, or the window if the steps are
/// unknown.
pub fn time_of_parts(comparison: &Comparison, run: u32) -> &'static str {
    let per = comparison.waterfall.iter().find(|part| part.run == run).map(|part| part.per);
    match per {
        Some(WorkUnit::Token) => "Time per token",
        Some(WorkUnit::Sample) => "Time per sample",
        Some(WorkUnit::Step) | None => of_steps(comparison, "Typical step", "Time"),
    }
}

/// Describes the base of op times: a step of one device, or the window of one device.
pub fn time_basis(comparison: &Comparison) -> &'static str {
    of_steps(comparison, "per step per device", "per device over the window")
}

/// Describes the ops that could not be matched between a run and the baseline. Returns `None` if all ops were matched.
pub fn without_partner(comparison: &Comparison, run: u32) -> Option<String> {
    let is_compared = !comparison.is_of_other_work(run);
    let matching = comparison.matching.iter().find(|matching| matching.run == run && is_compared)?;
    let pair = |what: &str, [ours, theirs]: [f64; 2]| {
        let names = [run, comparison.baseline].map(|index| name_of(comparison, index));
        let times = [ours, theirs].map(|time| if time > 0.0 { format::time_us(time) } else { "none".to_owned() });
        (ours > 0.0 || theirs > 0.0)
            .then(|| format!("{what}: {} in {} and {} in {}", times[0], names[0], times[1], names[1]))
    };
    let parts = [pair("without a match", matching.unmatched_us), pair("not listed", matching.unlisted_us)];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    (!parts.is_empty()).then(|| format!("Self time of ops, {}, {}.", time_basis(comparison), parts.join("; ")))
}

/// Definition of the typical step.
pub const TYPICAL_STEP: &str = "Mean of the counted steps without the fastest and the slowest quarter. For several \
    captures, it is the mean over the captures.";

/// Meaning of the symbols, for places that show them without words.
pub const LEGEND: &str =
    "▲ better and ▼ worse than the baseline, = the same, ≈ too small to matter or within the noise, ★ best of all.";

/// Formats a value with its unit, or a dash.
pub fn value(value: Option<f64>, unit: &str) -> String {
    value_of_digits(value, unit, format::DIGITS)
}

/// Maximum number of digits used to distinguish two values. Values that still look equal are treated as equal.
const MOST_DIGITS: usize = 7;

/// Maximum number of runs for which values get additional digits to distinguish them.
const MOST_BESIDE: usize = 16;

/// Formats the value of one run with its unit, like [`values`].
pub fn value_of_run(metric: &ComparedMetric, run: usize) -> String {
    values(&metric.values, &metric.unit).into_iter().nth(run).unwrap_or_else(|| format::DASH.to_owned())
}

/// Formats the range of a run's captures: "98.0 ms to 102 ms". Returns `None` for a single capture.
pub fn spread(metric: &ComparedMetric, run: usize) -> Option<String> {
    let [least, most] = (*metric.spreads.get(run)?)?;
    Some(format!("{} to {}", value(Some(least), &metric.unit), value(Some(most), &metric.unit)))
}

/// Formats the values of a row with their unit, or as dashes. Uses enough digits that different
/// values look different.
pub fn values(values: &[Option<f64>], unit: &str) -> Vec<String> {
    let all = |digits: usize| -> Vec<String> { values.iter().map(|it| value_of_digits(*it, unit, digits)).collect() };
    let are_apart = |texts: &[String]| {
        let mut pairs = values.iter().zip(texts).enumerate();
        pairs.all(|(at, (value, text))| {
            let mut others = values.iter().zip(texts).skip(at + 1);
            others.all(|(other, same)| value == other || text != same)
        })
    };
    let mut texts = all(format::DIGITS);
    for digits in format::DIGITS + 1..=MOST_DIGITS {
        if values.len() > MOST_BESIDE || are_apart(&texts) {
            break;
        }
        texts = all(digits);
    }
    texts
}

fn value_of_digits(value: Option<f64>, unit: &str, digits: usize) -> String {
    let Some(value) = value else { return format::DASH.to_owned() };
    let number = || format::number_of_digits(value, digits);
    match unit {
        "us" => format::si_of_digits(value / 1e6, "s", digits),
        "ms" => format::si_of_digits(value / 1e3, "s", digits),
        "s" => format::si_of_digits(value, "s", digits),
        "percent" => format::percent_of_decimals(value, digits - 2),
        "bytes" if value >= 0.0 && digits > format::DIGITS => format!("{} B", format::count(value as u64)),
        "bytes" if value >= 0.0 => format::bytes(value as u64),
        "GB/s" => format::si_of_digits(value * 1e9, "B/s", digits),
        "Wh" => format::si_of_digits(value, "Wh", digits),
        "$" => format!("${}", number()),
        "count" | "" => number(),
        other => match other.strip_prefix("1/") {
            Some(per) => format!("{}/{per}", number()),
            None => format!("{} {other}", number()),
        },
    }
}

/// Formats a difference with its unit and sign.
pub fn difference(difference: f64, unit: &str) -> String {
    let size = difference.abs();
    let text = match unit {
        // The difference between two percentages is in points, because "10 % more than 50 %" would mean 55 %.
        "percent" if size > 0.0 && size < 0.005 => "<0.01 points".to_owned(),
        "percent" => format!("{} points", format::number(size)),
        unit => value(Some(size), unit),
    };
    let sign = match difference {
        more if more > 0.0 => "+",
        less if less < 0.0 => MINUS,
        _ => "",
    };
    format!("{sign}{text}")
}

/// Formats a change of a time per step, with its sign.
pub fn delta_us(us: f64) -> String {
    difference(us, "us")
}

/// Formats a factor: "2.00x". Large factors have no decimals.
pub fn times(ratio: f64) -> String {
    if ratio < 100.0 { format!("{ratio:.2}x") } else { format!("{}x", format::number(ratio)) }
}

/// Compares a run with the baseline in one number: "2.00x faster" for speeds, "1.20x higher" for other numbers. Returns
/// `None` if such a ratio has no meaning, or if the number is not scored.
pub fn verdict(metric: &ComparedMetric, run: u32) -> Option<(Judgement, String)> {
    let verdict = (*metric.verdicts.get(run as usize)?)?;
    let ratio = metric.ratios.get(run as usize).copied().flatten().filter(|ratio| ratio.is_finite() && *ratio > 0.0);
    let is_speed = metric.unit == "1/s" || metric.metric.starts_with("step_tim") && metric.unit == "us";
    let (better, worse) = match (is_speed, metric.direction) {
        (true, _) => ("faster", "slower"),
        (false, Direction::Lower) => ("lower", "higher"),
        (false, _) => ("higher", "lower"),
    };
    // Without a ratio (one value is zero), only the word is shown.
    let said = match ratio {
        Some(ratio) if ratio >= 1.0 => format!("{} {better}", times(ratio)),
        Some(ratio) => format!("{} {worse}", times(1.0 / ratio)),
        None if verdict == MetricVerdict::Worse => worse.to_owned(),
        None => better.to_owned(),
    };
    Some(match verdict {
        MetricVerdict::Equal => (Judgement::Same, "the same".to_owned()),
        MetricVerdict::Better => (Judgement::Better, said),
        MetricVerdict::Worse => (Judgement::Worse, said),
        // A visible difference is marked as within the noise. A smaller difference is shown without a number.
        MetricVerdict::WithinNoise => {
            match ratio.filter(|ratio| (ratio - 1.0).abs() >= SAME && metric.unit != "percent") {
                Some(_) => (Judgement::Noise, format!("{said}, within the noise")),
                None => (Judgement::Noise, "about the same".to_owned()),
            }
        }
    })
}

/// Formats the difference between a run's number and the baseline's number, with its sign. Returns `None` if there is no
/// difference to show.
pub fn metric_difference(metric: &ComparedMetric, run: u32) -> Option<String> {
    let found = metric.differences.get(run as usize).copied().flatten().filter(|found| *found != 0.0)?;
    Some(difference(found, &metric.unit))
}

/// Describes how a step time differs from the baseline's step time, with the interval: "50.0 ms less per step, ± 1.2 ms
/// (95 %)".
pub fn step_time(change: &StepTimeChange) -> (Judgement, String) {
    let interval = match change.margin_us {
        Some(margin) => format!(" ± {} (95 %)", format::time_us(margin)),
        None => " (too few steps to estimate the noise)".to_owned(),
    };
    let delta = change.typical_delta_us.map(|delta| format!("{}{interval}", delta_us(delta)));
    let of = |word: &str| delta.as_ref().map_or_else(|| word.to_owned(), |delta| format!("{word}: {delta}"));
    match (change.verdict, change.work) {
        (StepTimeVerdict::Unknown, _) => {}
        (_, FairnessStatus::Differs) => {
            let is_of_batch = change.work_evidence == ["batch_size"];
            return (Judgement::Unknown, of(if is_of_batch { "another batch" } else { "other work" }));
        }
        (StepTimeVerdict::Faster | StepTimeVerdict::Slower, FairnessStatus::Unknown) => {
            return (Judgement::Unknown, of("unknown whether the work is the same"));
        }
        _ => {}
    }
    match change.verdict {
        StepTimeVerdict::Faster => (Judgement::Better, of("faster")),
        StepTimeVerdict::Slower => (Judgement::Worse, of("slower")),
        StepTimeVerdict::WithinNoise => (Judgement::Noise, of("within the noise")),
        StepTimeVerdict::Unstable => (Judgement::Noise, of("unstable, capture again")),
        StepTimeVerdict::Same => (Judgement::Same, of("the same")),
        StepTimeVerdict::Equal => (Judgement::Same, "the same".to_owned()),
        StepTimeVerdict::Unknown => (Judgement::Unknown, "unknown: a run has no step time".to_owned()),
    }
}

/// Describes the change of an op.
pub fn change(change: &Change) -> String {
    let slowdown = change.slowdown.filter(|slowdown| slowdown.is_finite() && *slowdown > 0.0);
    match (change.change, slowdown) {
        (ChangeKind::Slower, Some(slowdown)) => format!("{} slower", times(slowdown)),
        (ChangeKind::Faster, Some(slowdown)) => format!("{} faster", times(1.0 / slowdown)),
        (ChangeKind::MoreOften, _) => "more often".to_owned(),
        (ChangeKind::LessOften, _) => "less often".to_owned(),
        (kind, _) => kind.label().to_owned(),
    }
}

/// Returns the display name of a class of ops.
pub fn class(class: &str) -> String {
    class.replace('_', " ")
}

/// Returns the display name of the method by which ops of two runs were matched.
pub fn matched_by(matched_by: MatchedBy) -> &'static str {
    match matched_by {
        MatchedBy::FrameworkPath => "framework path",
        MatchedBy::None => "in one run only",
        other => other.label(),
    }
}

/// Returns the status of a fairness check, with its symbol.
pub fn fairness(status: FairnessStatus) -> &'static str {
    match status {
        FairnessStatus::Same => "= same",
        FairnessStatus::Differs => "≠ differs",
        FairnessStatus::Unknown => "? unknown",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn metric(unit: &str, ratio: f64) -> ComparedMetric {
        ComparedMetric {
            metric: "step_timing.avg_step_time_us".to_owned(),
            comparable: true,
            unit: unit.to_owned(),
            direction: Direction::Lower,
            ratios: vec![Some(1.0), Some(ratio)],
            differences: vec![Some(0.0), Some(-2500.0)],
            verdicts: vec![None, Some(if ratio > 1.0 { MetricVerdict::Better } else { MetricVerdict::Worse })],
            ..ComparedMetric::default()
        }
    }

    #[test]
    fn different_values_of_a_row_look_different() {
        let of = |row: [f64; 2], unit: &str| values(&row.map(Some), unit);
        assert_eq!(of([784.1e3, 784.13e3], "us"), ["784.10 ms", "784.13 ms"]);
        assert_eq!(of([784.1e3, 784.1e3], "us"), ["784 ms", "784 ms"]);
        assert_eq!(of([99.97, 100.0], "percent"), [">99.9 %", "100 %"]);
        assert_eq!(of([12.31, 12.34], "percent"), ["12.31 %", "12.34 %"]);
        assert_eq!(
            of([2_496_500_000.0, 2_500_000_000.0], "count"),
            ["2\u{202f}496\u{202f}500\u{202f}000", "2\u{202f}500\u{202f}000\u{202f}000"]
        );
        assert_eq!(
            of([5_000_000_000.0, 5_000_000_001.0], "bytes"),
            ["5\u{202f}000\u{202f}000\u{202f}000 B", "5\u{202f}000\u{202f}000\u{202f}001 B"]
        );
        assert_eq!(of([0.05, 5.25], "1/J"), ["0.05/J", "5.25/J"]);
        assert_eq!(values(&[None, Some(0.0)], "1/s"), ["\u{2013}", "0.00/s"]);
        assert_eq!(difference(-0.001, "1/s"), format!("{MINUS}0.001/s"));
    }

    #[test]
    fn verdicts_describe_the_run() {
        let said = |unit: &str, value| verdict(&metric(unit, value), 1).map(|(_, words)| words);
        assert_eq!(said("us", 2.0).as_deref(), Some("2.00x faster"));
        assert_eq!(said("us", 0.5).as_deref(), Some("2.00x slower"));
        assert_eq!(said("percent", 1.25).as_deref(), Some("1.25x lower"));
        assert_eq!(said("percent", 0.8).as_deref(), Some("1.25x higher"));
        assert_eq!(said("us", 0.0).as_deref(), Some("slower"));
        assert_eq!(verdict(&metric("us", 2.0), 7), None);
        let judged = |verdict, value| {
            let metric = ComparedMetric { verdicts: vec![None, Some(verdict)], ..metric("us", value) };
            super::verdict(&metric, 1).map(|(judgement, words)| format!("{} {words}", judgement.symbol()))
        };
        assert_eq!(judged(MetricVerdict::Equal, 1.0).as_deref(), Some("= the same"));
        assert_eq!(judged(MetricVerdict::WithinNoise, 1.001).as_deref(), Some("≈ about the same"));
        assert_eq!(judged(MetricVerdict::WithinNoise, 1.2).as_deref(), Some("≈ 1.20x faster, within the noise"));
        assert_eq!(verdict(&ComparedMetric { verdicts: vec![None, None], ..metric("us", 2.0) }, 1), None);
    }

    #[test]
    fn differences_have_signs() {
        assert_eq!(metric_difference(&metric("us", 2.0), 1).as_deref(), Some("−2.50 ms"));
        assert_eq!(difference(2.5, "percent"), "+2.50 points");
        assert_eq!(difference(-2048.0, "bytes"), "−2.00 KiB");
        assert_eq!(difference(0.0, "us"), "0 s");
        assert_eq!(difference(-0.001, "percent"), "−<0.01 points");
        assert_eq!(value(None, "us"), format::DASH);
        assert_eq!((per_step(3.0), per_step(2.5)), ("3".to_owned(), "2.50".to_owned()));
    }
}
