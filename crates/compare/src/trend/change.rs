//! Finds the points at which the level of a series of step times changes.
//!
//! For each number of changes there is an optimal placement, which minimises the squared distances of the runs from the
//! means of their levels. Dynamic programming over the end of the last level finds this placement exactly. Splitting
//! the series repeatedly would not find this placement, because a single split cannot detect a level that rises and
//! falls again: both sides have similar means.
//!
//! ```text
//!   us |          .  . .                     error(j, k) = least error of the first j runs with k changes
//!      |. . .  .         . .  .  .                       = min over i of error(i, k - 1) + error of level [i, j)
//!      +------------------------------- run
//! ```
//!
//! The search starts without changes and adds more changes while they are **beyond the noise**. The test uses Student's
//! t, whose square is the reduction of the error per additional change, divided by the remaining variance. For one
//! change, this `t` compares the runs before and after the change. The variance is taken over all runs, about the means
//! of their levels (degrees of freedom: runs minus levels). The steps of a run imply an error of the run's mean. The
//! variance is never below the mean square of these errors, because runs may agree by accident. The variance is pooled
//! rather than Welch's, because the noise of a machine does not depend on the program's level, and because two runs
//! alone contain little information about their variance. The best of many placements may exceed the limit of a single
//! test by accident, so t must exceed [`SEARCH_FACTOR`] times the 95 % limit. With this factor, the search finds a
//! change in at most one of twenty series of 3 to 40 runs of pure noise. A unit test checks this rate. Levels must also
//! differ by at least 1 %, because long series reveal differences that do not matter in practice.
//!
//! A level contains at least two runs, so that a single outlier is not a level. The exceptions are the first and the
//! last level, which may contain one run.

use super::super::noise::{LEAST_RELATIVE_DIFFERENCE, Sample, t_quantile_975};

/// Factor by which the best of all placements must exceed the 95 % limit of one test.
const SEARCH_FACTOR: f64 = 2.5;

/// Maximum number of changes that the search finds.
const MOST_CHANGES: usize = 12;

/// Maximum number of runs that are searched: the latest runs. The work grows with the square of this number.
const MOST_RUNS: usize = 2000;

/// Returns the indices of the first runs of new levels, in order.
pub(super) fn changes(samples: &[Sample]) -> Vec<usize> {
    let skipped = samples.len().saturating_sub(MOST_RUNS);
    let samples = samples.get(skipped..).unwrap_or_default();
    let sums = RunningSums::of(samples);
    let places = places(&sums);
    let mut taken = 0;
    while let Some(more) = (taken + 1..places.len()).find(|&more| is_beyond_noise(&sums, &places, taken, more)) {
        taken = more;
    }
    let firsts = places.get(taken).map(|places| places.firsts.clone()).unwrap_or_default();
    firsts.into_iter().map(|first| first + skipped).collect()
}

/// Optimal placement of a given number of changes.
struct Places {
    /// Indices of the first runs of new levels.
    firsts: Vec<usize>,
    /// Sum of squared distances from the means of the levels.
    error: f64,
}

/// Returns the optimal placements of 0, 1, 2, ... changes, as long as at least one degree of freedom is left.
fn places(sums: &RunningSums) -> Vec<Places> {
    let runs = sums.runs;
    let most = runs.saturating_sub(2).min(MOST_CHANGES);
    // `errors[end]` is the least error of the first `end` runs with one change fewer. `starts` holds
    // the first run of the last level for each number of changes and end.
    let mut errors: Vec<f64> = (0..=runs).map(|end| sums.error(0, end)).collect();
    let mut starts: Vec<Vec<usize>> = Vec::new();
    let mut found = vec![Places { firsts: Vec::new(), error: errors.last().copied().unwrap_or(0.0) }];
    for _ in 0..most {
        let mut row = vec![f64::INFINITY; runs + 1];
        let mut starts_of_row = vec![0; runs + 1];
        for (end, (least, at)) in row.iter_mut().zip(&mut starts_of_row).enumerate() {
            let shortest = if end == runs { 1 } else { 2 };
            for (start, before) in errors.iter().enumerate().take((end + 1).saturating_sub(shortest)).skip(1) {
                let error = before + sums.error(start, end);
                if error < *least {
                    (*least, *at) = (error, start);
                }
            }
        }
        starts.push(starts_of_row);
        let error = row.last().copied().filter(|error| error.is_finite());
        let Some(error) = error else { break };
        found.push(Places { firsts: back(&starts, runs), error });
        errors = row;
    }
    found
}

/// Reconstructs the first runs of the levels, starting from the last level.
fn back(starts: &[Vec<usize>], runs: usize) -> Vec<usize> {
    let mut end = runs;
    let firsts = starts.iter().rev().map(|of_end| {
        end = of_end.get(end).copied().unwrap_or(0);
        end
    });
    let mut firsts: Vec<usize> = firsts.collect();
    firsts.reverse();
    firsts
}

/// Returns true if `more` changes fit the runs better than `taken` changes by more than the noise, and each of the
/// `more` changes is large enough.
fn is_beyond_noise(sums: &RunningSums, places: &[Places], taken: usize, more: usize) -> bool {
    let (Some(fewer), Some(places)) = (places.get(taken), places.get(more)) else { return false };
    let Some(freedom) = sums.runs.checked_sub(more + 1).filter(|&freedom| freedom > 0) else { return false };
    let gain = (fewer.error - places.error) / (more - taken) as f64;
    let variance = (places.error / freedom as f64).max(sums.error_of_means);
    let limit = SEARCH_FACTOR * t_quantile_975(freedom as f64);
    gain > limit * limit * variance && sums.levels_differ(&places.firsts)
}

/// Sums of all values before each index, so that the sum over any level is one subtraction.
struct RunningSums {
    runs: usize,
    /// Sums of each run's time minus the first run's time, because smaller numbers lose fewer digits.
    values: Vec<f64>,
    squares: Vec<f64>,
    origin_us: f64,
    /// Mean over the runs of the squared standard error of a run's mean.
    error_of_means: f64,
}

impl RunningSums {
    fn of(samples: &[Sample]) -> RunningSums {
        let origin_us = samples.first().map_or(0.0, |sample| sample.mean_us);
        let running = |value: &dyn Fn(&Sample) -> f64| {
            let mut sum = 0.0;
            let sums = samples.iter().map(|sample| {
                sum += value(sample);
                sum
            });
            std::iter::once(0.0).chain(sums).collect::<Vec<f64>>()
        };
        let squared_error = |sample: &Sample| sample.stddev_us * sample.stddev_us / sample.count.max(1) as f64;
        RunningSums {
            runs: samples.len(),
            values: running(&|sample| sample.mean_us - origin_us),
            squares: running(&|sample| (sample.mean_us - origin_us) * (sample.mean_us - origin_us)),
            origin_us,
            error_of_means: samples.iter().map(squared_error).sum::<f64>() / samples.len().max(1) as f64,
        }
    }

    fn between(sums: &[f64], start: usize, end: usize) -> f64 {
        sums.get(end).zip(sums.get(start)).map_or(0.0, |(end, start)| end - start)
    }

    fn mean_us(&self, start: usize, end: usize) -> f64 {
        self.origin_us + RunningSums::between(&self.values, start, end) / end.saturating_sub(start) as f64
    }

    /// Returns the sum of squared distances between the runs of a level and the level's mean.
    fn error(&self, start: usize, end: usize) -> f64 {
        if end <= start + 1 {
            return 0.0;
        }
        let sum = RunningSums::between(&self.values, start, end);
        // Rounding errors can make the result negative.
        (RunningSums::between(&self.squares, start, end) - sum * sum / (end - start) as f64).max(0.0)
    }

    fn levels_differ(&self, firsts: &[usize]) -> bool {
        let starts = || std::iter::once(0).chain(firsts.iter().copied());
        let ends = firsts.iter().copied().chain([self.runs]);
        let means: Vec<f64> = starts().zip(ends).map(|(start, end)| self.mean_us(start, end)).collect();
        means.windows(2).all(|pair| match pair {
            [a, b] => (a - b).abs() >= LEAST_RELATIVE_DIFFERENCE * a.min(*b),
            _ => true,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::test_noise::{Noise, sample};
    use super::*;

    fn found(levels: &[(usize, f64)], sigma: f64, seed: u64) -> Vec<usize> {
        let mut noise = Noise(seed);
        let times = levels.iter().flat_map(|&(runs, level)| std::iter::repeat_n(level, runs));
        let samples: Vec<Sample> = times.map(|time| sample(time + sigma * noise.next())).collect();
        changes(&samples)
    }

    #[test]
    fn changes_are_found_at_the_right_runs() {
        let (a, b, c) = (100.0, 110.0, 130.0);
        for (levels, changes) in [
            (&[(6, a), (6, b)][..], &[6][..]),
            (&[(6, b), (4, a)], &[6]),
            (&[(5, a), (5, b), (5, c)], &[5, 10]),
            (&[(6, a), (6, b), (6, a)], &[6, 12]),
            (&[(5, a), (5, c), (5, a), (5, c)], &[5, 10, 15]),
            (&[(9, a), (1, c)], &[9]),
        ] {
            // Noise alone occasionally looks like a change.
            let right = (0..40).filter(|&seed| found(levels, 0.5, seed) == changes).count();
            assert!(right >= 38, "{right} of 40 {levels:?}");
        }
    }

    #[test]
    fn a_single_outlier_is_not_a_change() {
        for seed in 0..20 {
            assert_eq!(found(&[(5, 100.0), (1, 150.0), (5, 100.0)], 0.5, seed), [0; 0]);
        }
    }

    #[test]
    fn noise_alone_rarely_looks_like_a_change() {
        for (runs, series, most) in [(3, 1000, 50), (5, 1000, 50), (12, 1000, 50), (40, 250, 12)] {
            let wrong = (0..series).filter(|seed| !found(&[(runs, 100.0)], 3.0, 77 + seed).is_empty()).count();
            eprintln!("{wrong} of {series} series of {runs} runs of noise have a change point");
            assert!(wrong <= most, "{wrong} of {series} series of {runs} runs");
        }
    }

    #[test]
    fn many_runs_are_compared_in_a_short_time() {
        assert_eq!(found(&[(2500, 100.0), (500, 120.0)], 1.0, 5), [2500]);
    }

    #[test]
    fn small_or_uncertain_differences_are_no_change() {
        // The times are exact, but the change is less than a percent.
        assert_eq!(found(&[(5, 100.0), (5, 100.9)], 0.0, 1), [0; 0]);
        assert_eq!(found(&[(5, 100.0), (5, 101.1)], 0.0, 1), [5]);
        // The means of these runs agree only by accident. Their steps vary a lot: with 4 steps, a mean is exact only to within
        // 10.
        let samples = |stddev_us| {
            [100.0, 100.0, 100.0, 110.0, 110.0, 110.0].map(|mean_us| Sample { count: 4, mean_us, stddev_us })
        };
        assert_eq!(changes(&samples(20.0)), [0; 0]);
        assert_eq!(changes(&samples(0.5)), [3]);
        assert_eq!(changes(&[]), [0; 0]);
        assert_eq!(changes(&[sample(1.0), sample(9.0)]), [0; 0]);
    }
}
