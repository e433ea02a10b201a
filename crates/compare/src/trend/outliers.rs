//! Finds single runs that differ from the runs before and after them.

use super::super::noise::{LEAST_RELATIVE_DIFFERENCE, Sample, t_quantile_975};
use super::drift::error_of_means;

/// Maximum number of runs on each side that a run is compared with.
const NEIGHBOURS: usize = 3;

/// Minimum number of neighbours on each side. Runs with fewer neighbours are not tested, because the first and the last
/// runs could begin a new level.
const FEWEST_NEIGHBOURS: usize = 2;

/// Factor on the 95 % limit of a single test. The factor is needed because every run is tested.
const SEARCH_FACTOR: f64 = 2.5;

/// Run that differs from its neighbours.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Outlier {
    /// Index of the run.
    pub at: usize,
    /// Median of the run's neighbours, in microseconds.
    pub neighbours_us: f64,
}

/// Returns the runs that differ from the mean of their neighbours (up to three on each side) by more than
/// `2.5 * t * sqrt(v + v / n)` and by at least 1 %. `n` is the number of neighbours. `v` is the variance of the neighbours
/// or, if larger, the squared standard error that the steps of the runs imply for their means. If the neighbours contain a
/// jump or another outlier, they vary widely, and an outlier next to them is not detected.
pub(super) fn outliers(samples: &[Sample]) -> Vec<Outlier> {
    (0..samples.len()).filter_map(|at| outlier(samples, at)).collect()
}

fn outlier(samples: &[Sample], at: usize) -> Option<Outlier> {
    let run = samples.get(at)?;
    let before = samples.get(at.saturating_sub(NEIGHBOURS)..at)?;
    let after = samples.get(at + 1..samples.len().min(at + 1 + NEIGHBOURS))?;
    if before.len() < FEWEST_NEIGHBOURS || after.len() < FEWEST_NEIGHBOURS {
        return None;
    }
    let neighbours: Vec<Sample> = before.iter().chain(after).copied().collect();
    let count = neighbours.len() as f64;
    let mean = neighbours.iter().map(|it| it.mean_us).sum::<f64>() / count;
    let squares: f64 = neighbours.iter().map(|it| (it.mean_us - mean) * (it.mean_us - mean)).sum();
    let variance = (squares / (count - 1.0)).max(error_of_means(&neighbours)).max(error_of_means(&[*run]));
    let limit = SEARCH_FACTOR * t_quantile_975(count - 1.0) * (variance + variance / count).sqrt();
    let distance = (run.mean_us - mean).abs();
    let is_apart = distance > limit && distance >= LEAST_RELATIVE_DIFFERENCE * mean.min(run.mean_us);
    is_apart.then(|| Outlier { at, neighbours_us: super::median(neighbours.iter().map(|it| it.mean_us)) })
}

#[cfg(test)]
mod tests {
    use super::super::test_noise::{Noise, sample};
    use super::*;

    fn found(times: &[f64]) -> Vec<usize> {
        outliers(&times.iter().map(|&time| sample(time)).collect::<Vec<_>>()).iter().map(|it| it.at).collect()
    }

    #[test]
    fn only_the_outlier_is_found() {
        assert_eq!(found(&[100.0, 101.0, 99.0, 150.0, 100.0, 101.0, 99.0]), [3]);
        // 2.5 * t(5) = 2.5 * 2.571, times the deviation 0.894 of 100, 101, 99, 100, 101, 99 and sqrt(7/6):
        // 6.21 from 100.
        assert_eq!(found(&[100.0, 101.0, 99.0, 106.1, 100.0, 101.0, 99.0]), [0; 0]);
        assert_eq!(found(&[100.0, 101.0, 99.0, 106.3, 100.0, 101.0, 99.0]), [3]);
        // A level that lasts is not an outlier, and neither are runs at the ends.
        assert_eq!(found(&[100.0, 101.0, 99.0, 150.0, 151.0, 149.0, 150.0]), [0; 0]);
        assert_eq!(found(&[150.0, 100.0, 101.0, 99.0, 100.0, 150.0]), [0; 0]);
        // The times are exact, but the difference is less than a percent.
        assert_eq!(found(&[100.0, 100.0, 100.9, 100.0, 100.0]), [0; 0]);
        assert_eq!(found(&[100.0, 100.0, 101.1, 100.0, 100.0]), [2]);
        assert_eq!(found(&[]), [0; 0]);
        // The steps of this run vary so much that its mean is meaningless: with 4 steps, the mean is exact only to within 10.
        let mut samples = [100.0, 100.1, 99.9, 130.0, 100.0, 100.1].map(sample);
        samples[3] = Sample { count: 4, mean_us: 130.0, stddev_us: 20.0 };
        assert_eq!(outliers(&samples), []);
    }

    #[test]
    fn noise_alone_rarely_has_one() {
        for (runs, series, most) in [(5, 1000, 50), (12, 1000, 50), (40, 250, 25)] {
            let wrong = (0..series)
                .filter(|seed| {
                    let mut noise = Noise(77 + seed);
                    !found(&(0..runs).map(|_| 100.0 + 3.0 * noise.next()).collect::<Vec<_>>()).is_empty()
                })
                .count();
            eprintln!("{wrong} of {series} series of {runs} runs of noise have an outlier");
            assert!(wrong <= most, "{wrong} of {series} series of {runs} runs");
        }
    }
}
