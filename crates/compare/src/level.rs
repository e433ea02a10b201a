//! Computes the typical step time of one capture, and its uncertainty.
//!
//! *The typical step* is the mean of the middle half of the steps (trimmed by a quarter at both ends), so that single
//! outliers neither create nor hide a difference. The variance of the typical step is Yuen's: the variance of the
//! winsorized steps. Winsorizing replaces each trimmed step with the nearest remaining step.
//!
//! ```text
//! steps, sorted    9.8  9.9 | 9.9  10.0  10.0  10.05  10.1  10.1 | 10.2  13.0
//! typical step                '------------ 10.025 ------------'
//! winsorized       9.9  9.9   9.9  10.0  10.0  10.05  10.1  10.1   10.1  10.1
//! ```
//!
//! Steps are not independent: a slow host slows several consecutive steps, so twenty steps may contain no more
//! information than five independent steps. The dependence is measured by the correlation between the distances of
//! consecutive steps from the mean, after winsorizing the outermost tenths ([`Correlation`]).

use base::sort;
use report::{Step, UnifiedProfile};

/// Share of steps that the typical step excludes at each end.
const TRIMMED: f64 = 0.25;

/// Share of steps that is winsorized at each end before the correlation is computed. Without winsorizing, a single
/// outlier would hide the correlation.
const DRAWN_IN: f64 = 0.1;

/// Minimum number of steps for which a correlation is computed.
const LEAST_STEPS_OF_CORRELATION: usize = 10;

/// Mean step time of one capture, with its noise.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Level {
    /// Mean, in microseconds.
    pub us: f64,
    /// Number of steps.
    pub steps: u64,
    /// Variance of the mean if the steps were independent. `None` for fewer than two steps.
    pub variance_us2: Option<f64>,
    /// Degrees of freedom of the variance.
    pub degrees_of_freedom: f64,
    /// Sums for the correlation of consecutive steps. `None` if the capture has too few steps.
    pub correlation: Option<Correlation>,
}

/// Sums for the correlation of consecutive steps in one capture, to be pooled with the sums of other captures.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Correlation {
    /// Sum over consecutive steps of the product of their relative distances from the mean.
    pub products: f64,
    /// Sum of the squares of these distances.
    pub squares: f64,
    /// Number of steps.
    pub steps: f64,
}

impl Level {
    /// Returns the typical step of a capture. Returns `None` if its steps are unknown.
    pub fn typical(profile: &UnifiedProfile) -> Option<Level> {
        Level::of(profile, TRIMMED)
    }

    /// Returns the mean of all counted steps. Returns `None` if the steps are unknown.
    pub fn mean(profile: &UnifiedProfile) -> Option<Level> {
        let level = Level::of(profile, 0.0)?;
        // Uses the profile's own number, so that the last digit agrees.
        Some(Level { us: profile.step_timing.avg_step_time_us?, ..level })
    }

    /// Returns the typical value of steps, given in order and in any unit. Returns `None` if there are no steps, or if their
    /// values have no finite mean.
    pub fn of_values(values: &[f64]) -> Option<Level> {
        let level = match values {
            [] => return None,
            &[us] => Level { us, steps: 1, variance_us2: None, degrees_of_freedom: 0.0, correlation: None },
            values => of_steps(values, TRIMMED)?,
        };
        Some(level).filter(|level| level.us.is_finite())
    }

    /// Returns the indices of the steps whose mean is the typical step. Returns `None` if the profile does not list its steps;
    /// the typical step is then the mean of all steps.
    pub fn typical_indices(profile: &UnifiedProfile) -> Option<Vec<u64>> {
        let mut steps = listed(profile)?;
        sort::sort_by(&mut steps, |a, b| a.duration_us.total_cmp(&b.duration_us).then_with(|| a.index.cmp(&b.index)));
        Some(without_ends(&steps, TRIMMED)?.iter().map(|step| step.index).collect())
    }

    /// Returns the number of steps that the means of a profile cover. Returns `None` if the steps are
    /// unknown.
    pub fn typical_steps(profile: &UnifiedProfile) -> Option<u64> {
        profile.step_timing.num_steps_counted.or_else(|| Some(Level::typical(profile)?.steps))
    }

    /// Returns the step time of a run: the mean over its captures. Every rate and ratio of a comparison is computed
    /// from this step time.
    pub fn mean_us(levels: &[Level]) -> Option<f64> {
        let mean = levels.iter().map(|level| level.us).sum::<f64>() / levels.len() as f64;
        Some(mean).filter(|mean| !levels.is_empty() && mean.is_finite())
    }

    /// Converts the level to another unit.
    pub fn scaled(self, factor: f64) -> Level {
        let variance_us2 = self.variance_us2.map(|variance| variance * factor * factor);
        Level { us: self.us * factor, variance_us2, ..self }
    }

    fn of(profile: &UnifiedProfile, trimmed: f64) -> Option<Level> {
        let timing = &profile.step_timing;
        let mean_us = timing.avg_step_time_us.filter(|mean| *mean > 0.0 && mean.is_finite())?;
        if let Some(steps) = listed(profile) {
            let steps: Vec<f64> = steps.iter().map(|step| step.duration_us).collect();
            // Times of a damaged profile may have no finite sum.
            return of_steps(&steps, trimmed).filter(|level| level.us > 0.0 && level.us.is_finite());
        }
        let (steps, variance_us2) = match (timing.num_steps_counted, timing.stddev_step_time_us) {
            (Some(count), Some(stddev)) if count >= 2 => {
                (count, Some(stddev * stddev / count as f64).filter(|variance| variance.is_finite()))
            }
            _ => (1, None),
        };
        let degrees_of_freedom = steps.saturating_sub(1) as f64;
        Some(Level { us: mean_us, steps, variance_us2, degrees_of_freedom, correlation: None })
    }
}

/// Returns the counted steps, if there are at least two. If at least two of them do the same work, returns only the
/// steps that do this work. Some profiles contain only the number and the spread of the steps, and do not list the
/// steps.
fn listed(profile: &UnifiedProfile) -> Option<Vec<&Step>> {
    let steps: Vec<&Step> = profile.steps.iter().filter(|step| step.counted && step.duration_us.is_finite()).collect();
    let is_whole = profile.step_timing.num_steps_counted.is_none_or(|count| count == steps.len() as u64);
    let alike: Vec<&Step> = steps.iter().copied().filter(|step| step.is_comparable()).collect();
    let steps = if alike.len() >= 2 { alike } else { steps };
    (steps.len() >= 2 && is_whole).then_some(steps)
}

/// Computes the level of at least two steps, given in their order.
fn of_steps(steps: &[f64], trimmed: f64) -> Option<Level> {
    let mut sorted = steps.to_vec();
    sort::sort_by(&mut sorted, f64::total_cmp);
    let middle = without_ends(&sorted, trimmed)?;
    let squares: f64 = from_mean(&drawn_in(steps, middle)?).iter().map(|distance| distance * distance).sum();
    let h = middle.len() as f64;
    Some(Level {
        us: middle.iter().sum::<f64>() / h,
        steps: steps.len() as u64,
        variance_us2: (h >= 2.0).then(|| squares / (h * (h - 1.0))).filter(|variance| variance.is_finite()),
        degrees_of_freedom: h - 1.0,
        correlation: correlation(steps, &sorted),
    })
}

fn correlation(steps: &[f64], sorted: &[f64]) -> Option<Correlation> {
    if steps.len() < LEAST_STEPS_OF_CORRELATION {
        return None;
    }
    let drawn_in = drawn_in(steps, without_ends(sorted, DRAWN_IN)?)?;
    let mean = drawn_in.iter().sum::<f64>() / drawn_in.len() as f64;
    let distances: Vec<f64> = from_mean(&drawn_in).iter().map(|distance| distance / mean).collect();
    Some(Correlation {
        products: distances.windows(2).map(|pair| pair.iter().product::<f64>()).sum(),
        squares: distances.iter().map(|distance| distance * distance).sum(),
        steps: steps.len() as f64,
    })
}

fn without_ends<T>(sorted: &[T], share: f64) -> Option<&[T]> {
    // Trims no step of four, and one step at each end of five.
    let cut = (share * sorted.len().saturating_sub(1) as f64) as usize;
    sorted.get(cut..sorted.len() - cut)
}

fn drawn_in(steps: &[f64], middle: &[f64]) -> Option<Vec<f64>> {
    let (&least, &most) = (middle.first()?, middle.last()?);
    Some(steps.iter().map(|step| step.clamp(least, most)).collect())
}

fn from_mean(values: &[f64]) -> Vec<f64> {
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    values.iter().map(|value| value - mean).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use report::StepTiming;

    fn profile(steps: &[f64]) -> UnifiedProfile {
        let step = |&duration_us: &f64| Step { duration_us, counted: true, ..Step::default() };
        UnifiedProfile {
            step_timing: StepTiming {
                num_steps: steps.len() as u64,
                avg_step_time_us: Some(steps.iter().sum::<f64>() / steps.len() as f64),
                num_steps_counted: Some(steps.len() as u64),
                ..StepTiming::default()
            },
            steps: steps.iter().map(step).collect(),
            ..UnifiedProfile::default()
        }
    }

    fn near(value: f64, truth: f64) {
        assert!((value - truth).abs() < 1e-9 * truth.abs().max(1e-6), "{value} is not {truth}");
    }

    /// Reference: `scipy.stats.trim_mean(steps, 0.25)`. The variance is `sum((w - mean(w))**2) / (6 *
    /// 5)` with `w` from `scipy.stats.mstats.winsorize`.
    #[test]
    fn the_typical_step_is_the_trimmed_mean() {
        let steps = [10.1, 9.9, 10.0, 10.2, 9.8, 10.0, 13.0, 10.1, 9.9, 10.05];
        let level = Level::typical(&profile(&steps)).unwrap();
        near(level.us, 10.025);
        assert_eq!((level.steps, level.degrees_of_freedom), (10, 5.0));
        let drawn_in = [10.1, 9.9, 10.0, 10.1, 9.9, 10.0, 10.1, 10.1, 9.9, 10.05];
        let center: f64 = drawn_in.iter().sum::<f64>() / 10.0;
        near(level.variance_us2.unwrap(), drawn_in.iter().map(|w| (w - center) * (w - center)).sum::<f64>() / 30.0);
        let mean = Level::mean(&profile(&steps)).unwrap();
        near(mean.us, 10.305);
        assert_eq!(mean.degrees_of_freedom, 9.0);
    }

    /// Ten steps: five fast, then five slow. Each step differs from the mean by a third of the mean. Eight pairs of
    /// consecutive steps are on the same side of the mean, and one pair is not.
    #[test]
    fn correlated_steps_are_detected() {
        let blocks = [1.0, 1.0, 1.0, 1.0, 1.0, 2.0, 2.0, 2.0, 2.0, 2.0];
        let found = Level::typical(&profile(&blocks)).unwrap().correlation.unwrap();
        near(found.products, (8.0 - 1.0) / 9.0);
        near(found.squares, 10.0 / 9.0);
        assert_eq!(found.steps, 10.0);
        assert_eq!(Level::typical(&profile(&blocks[..9])).unwrap().correlation, None);
    }

    #[test]
    fn a_profile_without_a_list_of_steps_keeps_its_mean() {
        let mut it = profile(&[1.0, 3.0]);
        it.steps.clear();
        it.step_timing.stddev_step_time_us = Some(4.0);
        let level = Level::typical(&it).unwrap();
        assert_eq!((level.us, level.variance_us2, level.steps), (2.0, Some(8.0), 2));
        it.step_timing.num_steps_counted = Some(1);
        assert_eq!(Level::typical(&it).unwrap().variance_us2, None);
        it.step_timing.avg_step_time_us = None;
        assert_eq!(Level::typical(&it), None);
    }

    #[test]
    fn one_step_of_two_is_not_trimmed_away() {
        near(Level::typical(&profile(&[1.0, 2.0])).unwrap().us, 1.5);
        near(Level::typical(&profile(&[1.0, 2.0, 3.0, 4.0, 50.0])).unwrap().us, 3.0);
    }
}
