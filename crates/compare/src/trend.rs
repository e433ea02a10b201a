//! Compares runs of one program over time: shows whether the step time has changed, and when.
//!
//! Requires three runs whose names (or folders) contain the training step of the capture, or that
//! were captured at different times on the same devices.

mod change;
mod document;
mod drift;
mod levels;
mod order;
mod outliers;

use super::noise::{Sample, of_steps};
use super::{OrderedBy, Subject};
use base::{format, sort};
pub use document::{ChangePoint, Drift, LevelChange, OutlierRun, Trend, TrendPoint};
use order::OrderedRun;
pub(crate) use order::step_of as training_step;

/// Minimum number of runs of a trend.
const FEWEST_RUNS: usize = 3;

/// Maximum number of changes that the summary names.
const MOST_SENTENCES: usize = 5;

/// Returns the trend of runs whose names or times give an order. Returns `None` if neither names nor times give an
/// order.
pub(crate) fn trend(subjects: &[Subject]) -> Option<Trend> {
    if subjects.len() < FEWEST_RUNS {
        return None;
    }
    let (ordered_by, places) = order::places(subjects)?;
    let mut timed: Vec<TimedRun<'_>> = places.iter().filter_map(|place| timed(place, subjects)).collect();
    let points = places.iter().filter_map(|place| point(place, subjects.get(place.index)?)).collect();
    // Outliers are reported separately, and belong neither to a level nor to a drift.
    let apart = outliers::outliers(&samples(&timed));
    let outliers = apart.iter().filter_map(|it| outlier(ordered_by, timed.get(it.at)?, it.neighbours_us)).collect();
    let mut at = 0..;
    timed.retain(|_| at.next().is_some_and(|at| !apart.iter().any(|outlier| outlier.at == at)));
    let samples = samples(&timed);
    let firsts = change::changes(&samples);
    let line = drift::drift(&samples, &firsts);
    let change_points = if line.is_some() { Vec::new() } else { levels::change_points(ordered_by, &timed, &firsts) };
    let drift = line.and_then(|line| drifting(ordered_by, line, timed.first()?, timed.last()?));
    Some(Trend { ordered_by, points, change_points, drift, outliers })
}

/// Returns the indices at which the level of a series of runs changes, and the indices of outliers.
pub(super) fn changes_and_outliers(samples: &[Sample]) -> (Vec<usize>, Vec<usize>) {
    let outliers: Vec<usize> = outliers::outliers(samples).iter().map(|outlier| outlier.at).collect();
    let kept: Vec<(usize, Sample)> =
        samples.iter().copied().enumerate().filter(|(at, _)| !outliers.contains(at)).collect();
    let of_kept = change::changes(&kept.iter().map(|(_, sample)| *sample).collect::<Vec<_>>());
    (of_kept.into_iter().filter_map(|at| kept.get(at)).map(|(at, _)| *at).collect(), outliers)
}

/// Run with a known step time.
struct TimedRun<'a> {
    place: &'a OrderedRun,
    subject: &'a Subject,
    sample: Sample,
}

fn timed<'a>(place: &'a OrderedRun, subjects: &'a [Subject]) -> Option<TimedRun<'a>> {
    let subject = subjects.get(place.index)?;
    Some(TimedRun { place, subject, sample: of_steps(subject)? })
}

fn samples(timed: &[TimedRun<'_>]) -> Vec<Sample> {
    timed.iter().map(|run| run.sample).collect()
}

/// Returns the median. For an even number of values, returns the mean of the middle two; for no values, returns 0.
fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.collect();
    sort::sort_by(&mut values, f64::total_cmp);
    let at = |index: usize| values.get(index).copied().unwrap_or(0.0);
    let middle = values.len() / 2;
    if values.len() % 2 == 1 { at(middle) } else { 0.5 * at(middle.saturating_sub(1)) + 0.5 * at(middle) }
}

fn percent(from_us: f64, to_us: f64) -> f64 {
    100.0 * (to_us / from_us - 1.0)
}

fn outlier(ordered_by: OrderedBy, run: &TimedRun<'_>, neighbours_us: f64) -> Option<OutlierRun> {
    let step_time_us = run.sample.mean_us;
    let text = format!(
        "The run at {} is an outlier: a step takes {}, against {} in the neighbouring runs ({:+.1} %).",
        when(ordered_by, &run.place.label),
        format::time_us(step_time_us),
        format::time_us(neighbours_us),
        percent(neighbours_us, step_time_us)
    );
    Some(OutlierRun { run: u32::try_from(run.place.index).ok()?, step_time_us, neighbours_us, text })
}

fn drifting(
    ordered_by: OrderedBy,
    line: drift::FittedLine,
    first: &TimedRun<'_>,
    last: &TimedRun<'_>,
) -> Option<Drift> {
    let (first_us, last_us) = (line.first_us, line.last_us());
    let percent_per_run = 100.0 * line.slope_us / first_us;
    let text = format!(
        "From {} to {} the step time drifts by {percent_per_run:+.2} % per run (± {:.2}), from {} to {}, and no \
         single run causes the change.",
        when(ordered_by, &first.place.label),
        last.place.label,
        100.0 * line.margin_us / first_us,
        format::time_us(first_us),
        format::time_us(last_us)
    );
    let (slope_us, margin_us) = (line.slope_us, line.margin_us);
    percent_per_run.is_finite().then_some(Drift { slope_us, margin_us, percent_per_run, first_us, last_us, text })
}

fn point(place: &OrderedRun, subject: &Subject) -> Option<TrendPoint> {
    let sample = of_steps(subject);
    Some(TrendPoint {
        run: u32::try_from(place.index).ok()?,
        label: place.label.clone(),
        step_time_us: sample.map(|sample| sample.mean_us),
        margin_us: sample.and_then(|sample| sample.margin_us()),
        compute_util_percent: subject.profile.compute_utilization.as_ref().map(|section| section.compute_util_percent),
    })
}

fn when(ordered_by: OrderedBy, label: &str) -> String {
    if ordered_by == OrderedBy::TrainingStep { format!("training step {label}") } else { label.to_owned() }
}

/// Describes the trend in sentences, which name its changes or state that there are none.
pub(crate) fn sentences(trend: &Trend, subjects: &[Subject]) -> Vec<String> {
    let times: Vec<f64> = trend.points.iter().filter_map(|point| point.step_time_us).collect();
    let ends = trend.points.first().zip(trend.points.last()).filter(|_| times.len() >= FEWEST_RUNS);
    let Some((first, last)) = ends else {
        return vec![format!(
            "The runs have an order in time, but only {} of {} have a known step time: no trend is shown.",
            times.len(),
            subjects.len()
        )];
    };
    let apart = || trend.outliers.iter().map(|outlier| outlier.text.clone());
    if let Some(drift) = &trend.drift {
        return std::iter::once(drift.text.clone()).chain(apart().take(MOST_SENTENCES)).collect();
    }
    if trend.change_points.is_empty() {
        let is_apart = |point: &&TrendPoint| trend.outliers.iter().any(|outlier| outlier.run == point.run);
        let level = trend.points.iter().filter(|point| !is_apart(point)).filter_map(|point| point.step_time_us);
        let times: Vec<f64> = level.collect();
        let smallest = times.iter().copied().fold(f64::INFINITY, f64::min);
        let largest = times.iter().copied().fold(0.0, f64::max);
        let no_run = if trend.outliers.is_empty() { "no run differs" } else { "no other run differs" };
        let whole = format!(
            "From {} to {} the step time does not change beyond the noise of its {} runs: {} on average, {} to {}; {no_run}.",
            when(trend.ordered_by, &first.label),
            last.label,
            times.len(),
            format::time_us(times.iter().sum::<f64>() / times.len() as f64),
            format::time_us(smallest),
            format::time_us(largest)
        );
        return apart().take(MOST_SENTENCES).chain([whole]).collect();
    }
    let mut sentences: Vec<String> =
        trend.change_points.iter().take(MOST_SENTENCES).map(|change| change.text.clone()).collect();
    let more = trend.change_points.len().saturating_sub(MOST_SENTENCES);
    if more > 0 {
        sentences.push(format!("The step time changes {more} more times."));
    }
    sentences.extend(apart().take(MOST_SENTENCES));
    sentences
}

#[cfg(test)]
mod test_noise;

#[cfg(test)]
mod tests;
