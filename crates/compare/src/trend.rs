//! Runs of one program in time: is the step time still what it was, and since when not?
//!
//! Needs three runs whose names (or folders) hold the training step that they were captured at, or else that were captured
//! at different times on the same devices.

mod change;
mod order;

use super::noise::{Sample, of_steps};
use super::{ChangePoint, OrderedBy, Subject, Trend, TrendPoint};
use base::format;
use order::OrderedRun;

/// The fewest runs of a trend.
const FEWEST_RUNS: usize = 3;

/// Changes that the summary names.
const MOST_SENTENCES: usize = 5;

/// The trend of runs whose names or times tell an order; `None` where they tell none.
pub fn trend(subjects: &[Subject]) -> Option<Trend> {
    if subjects.len() < FEWEST_RUNS {
        return None;
    }
    let (ordered_by, places) = order::places(subjects)?;
    let timed: Vec<(&OrderedRun, Sample)> =
        places.iter().filter_map(|place| Some((place, of_steps(&subjects.get(place.index)?.profile)?))).collect();
    let samples: Vec<Sample> = timed.iter().map(|(_, sample)| *sample).collect();
    let points = places.iter().filter_map(|place| point(place, subjects.get(place.index)?)).collect();
    Some(Trend { ordered_by, points, change_points: change_points(ordered_by, &timed, &samples) })
}

fn point(place: &OrderedRun, subject: &Subject) -> Option<TrendPoint> {
    let sample = of_steps(&subject.profile);
    Some(TrendPoint {
        run: u32::try_from(place.index).ok()?,
        label: place.label.clone(),
        step_time_us: sample.map(|sample| sample.mean_us),
        margin_us: sample.and_then(|sample| sample.margin_us()),
        compute_util_percent: subject.profile.compute_utilization.as_ref().map(|section| section.compute_util_percent),
    })
}

fn change_points(ordered_by: OrderedBy, timed: &[(&OrderedRun, Sample)], samples: &[Sample]) -> Vec<ChangePoint> {
    let firsts = change::changes(samples);
    let mean = |from: usize, to: usize| {
        let of_level = samples.get(from..to).unwrap_or_default();
        of_level.iter().map(|sample| sample.mean_us).sum::<f64>() / of_level.len() as f64
    };
    let change_point = |at: usize| {
        let first = *firsts.get(at)?;
        let start = at.checked_sub(1).and_then(|before| firsts.get(before)).copied().unwrap_or(0);
        let end = firsts.get(at + 1).copied().unwrap_or(samples.len());
        let place = timed.get(first)?.0;
        let (before_us, after_us) = (mean(start, first), mean(first, end));
        let text = text(&when(ordered_by, &place.label), before_us, after_us, end - first, end == samples.len());
        Some(ChangePoint { run: u32::try_from(place.index).ok()?, before_us, after_us, text })
    };
    (0..firsts.len()).filter_map(change_point).collect()
}

fn when(ordered_by: OrderedBy, label: &str) -> String {
    if ordered_by == OrderedBy::TrainingStep { format!("training step {label}") } else { label.to_owned() }
}

fn text(when: &str, before_us: f64, after_us: f64, runs: usize, is_last: bool) -> String {
    let percent = 100.0 * (after_us / before_us - 1.0);
    let (before, after) = (format::time_us(before_us), format::time_us(after_us));
    let stays = if runs == 1 && is_last { " (the last run: whether it stays so is not known)" } else { "" };
    format!("From {when} on a step takes {after} instead of {before} ({percent:+.1} %){stays}.")
}

/// The trend in words: its changes, or that there is none.
pub fn sentences(trend: &Trend, subjects: &[Subject]) -> Vec<String> {
    let times: Vec<f64> = trend.points.iter().filter_map(|point| point.step_time_us).collect();
    let ends = trend.points.first().zip(trend.points.last()).filter(|_| times.len() >= FEWEST_RUNS);
    let Some((first, last)) = ends else {
        return vec![format!(
            "The runs have an order in time, but only {} of {} have a known step time: no trend can be told.",
            times.len(),
            subjects.len()
        )];
    };
    if trend.change_points.is_empty() {
        let smallest = times.iter().copied().fold(f64::INFINITY, f64::min);
        let largest = times.iter().copied().fold(0.0, f64::max);
        return vec![format!(
            "From {} to {} the step time does not change beyond the noise of its {} runs: {} on average, {} to {}.",
            when(trend.ordered_by, &first.label),
            last.label,
            times.len(),
            format::time_us(times.iter().sum::<f64>() / times.len() as f64),
            format::time_us(smallest),
            format::time_us(largest)
        )];
    }
    let mut sentences: Vec<String> =
        trend.change_points.iter().take(MOST_SENTENCES).map(|change| change.text.clone()).collect();
    let more = trend.change_points.len().saturating_sub(MOST_SENTENCES);
    if more > 0 {
        sentences.push(format!("The step time changes {more} more times."));
    }
    sentences
}

#[cfg(test)]
mod tests;
