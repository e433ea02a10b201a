//! Detects a step time that changes a little with every run, instead of jumping.
//!
//! Fits a least-squares line through the step times by position in time. The line is a drift if its slope exceeds the
//! noise and the line fits the times better than levels do.

use super::super::noise::{LEAST_RELATIVE_DIFFERENCE, Sample, t_quantile_975};

/// Minimum number of runs for which a drift can be distinguished from a jump.
const FEWEST_RUNS: usize = 6;

/// Factor by which the slope must exceed the 95 % limit. With a factor of 1.5, noise rarely looks like a drift or a
/// jump.
const LIMIT_FACTOR: f64 = 1.5;

/// Straight line through step times.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct FittedLine {
    /// Value of the line at the first run, in microseconds.
    pub first_us: f64,
    /// Change of the line from one run to the next, in microseconds.
    pub slope_us: f64,
    /// Half the width of the 95 % confidence interval of the slope, in microseconds.
    pub margin_us: f64,
    /// Sum of squared distances of the runs from the line.
    error: f64,
    runs: usize,
}

impl FittedLine {
    /// Fits a line through the means. Returns `None` for fewer than three runs.
    fn through(samples: &[Sample]) -> Option<FittedLine> {
        let runs = samples.len();
        let freedom = runs.checked_sub(2).filter(|&freedom| freedom > 0)? as f64;
        let middle = (runs as f64 - 1.0) / 2.0;
        let mean = samples.iter().map(|sample| sample.mean_us).sum::<f64>() / runs as f64;
        let places = || samples.iter().zip(0u32..).map(|(sample, at)| (f64::from(at) - middle, sample.mean_us - mean));
        let xx: f64 = places().map(|(x, _)| x * x).sum();
        let slope_us = places().map(|(x, y)| x * y).sum::<f64>() / xx;
        let error: f64 = places().map(|(x, y)| (y - slope_us * x) * (y - slope_us * x)).sum();
        // Runs that agree by accident are not more exact than their own steps imply.
        let variance = (error / freedom).max(error_of_means(samples));
        let margin_us = t_quantile_975(freedom) * (variance / xx).sqrt();
        Some(FittedLine { first_us: mean - slope_us * middle, slope_us, margin_us, error, runs })
    }

    /// Returns the value of the line at the last run, in microseconds.
    pub(super) fn last_us(&self) -> f64 {
        self.first_us + self.slope_us * self.runs.saturating_sub(1) as f64
    }

    /// Returns true if the slope exceeds the noise, and changes the time by at least 1 % over all runs.
    fn is_beyond_noise(&self) -> bool {
        let moved = (self.last_us() - self.first_us).abs();
        self.slope_us.abs() > LIMIT_FACTOR * self.margin_us
            && moved >= LEAST_RELATIVE_DIFFERENCE * self.first_us.min(self.last_us())
    }
}

/// Returns the drift of the runs, unless levels that begin at `firsts` fit the runs at least as well. Compares the
/// remaining variance per degree of freedom: a line takes two degrees, and each jump takes two for its height and its
/// position.
pub(super) fn drift(samples: &[Sample], firsts: &[usize]) -> Option<FittedLine> {
    let line = FittedLine::through(samples).filter(|line| line.runs >= FEWEST_RUNS && line.is_beyond_noise())?;
    let of_line = line.error / line.runs.checked_sub(2)? as f64;
    let is_better = match line.runs.checked_sub(1 + 2 * firsts.len()).filter(|&freedom| freedom > 0) {
        Some(freedom) => of_line < error_of_levels(samples, firsts) / freedom as f64,
        None => true,
    };
    (firsts.is_empty() || is_better).then_some(line)
}

/// Returns the sum of squared distances from the means of the levels.
fn error_of_levels(samples: &[Sample], firsts: &[usize]) -> f64 {
    let starts = std::iter::once(0).chain(firsts.iter().copied());
    let ends = firsts.iter().copied().chain([samples.len()]);
    let of_level = |(start, end): (usize, usize)| {
        let level = samples.get(start..end).unwrap_or_default();
        let mean = level.iter().map(|sample| sample.mean_us).sum::<f64>() / level.len().max(1) as f64;
        level.iter().map(|sample| (sample.mean_us - mean) * (sample.mean_us - mean)).sum::<f64>()
    };
    starts.zip(ends).map(of_level).sum()
}

/// Returns the mean over the runs of the squared standard error of a run's mean.
pub(super) fn error_of_means(samples: &[Sample]) -> f64 {
    let squared = |sample: &Sample| sample.stddev_us * sample.stddev_us / sample.count.max(1) as f64;
    samples.iter().map(squared).sum::<f64>() / samples.len().max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::super::change::changes;
    use super::super::test_noise::{Noise, sample};
    use super::*;

    #[test]
    fn the_line_matches_a_textbook() {
        // 1, 3, 2, 5, 4: slope 8/10, mean 3, error 3.6; t(3) = 3.182.
        let samples: Vec<Sample> = [1.0, 3.0, 2.0, 5.0, 4.0].map(sample).to_vec();
        let line = FittedLine::through(&samples).unwrap();
        assert!((line.slope_us - 0.8).abs() < 1e-12 && (line.first_us - 1.4).abs() < 1e-12);
        assert!((line.margin_us - 3.182 * (3.6_f64 / 3.0 / 10.0).sqrt()).abs() < 1e-9);
        assert!((line.last_us() - 4.6).abs() < 1e-12);
    }

    fn found(times: impl Iterator<Item = f64>, sigma: f64, seed: u64) -> &'static str {
        let mut noise = Noise(seed);
        let samples: Vec<Sample> = times.map(|time| sample(time + sigma * noise.next())).collect();
        let firsts = changes(&samples);
        match (drift(&samples, &firsts), firsts.is_empty()) {
            (Some(_), _) => "drift",
            (None, false) => "jumps",
            (None, true) => "neither",
        }
    }

    #[test]
    fn drifts_and_jumps_are_distinguished() {
        for (runs, per_run) in [(8, 1.0), (12, 1.0), (20, -0.8), (40, 0.5)] {
            let times = || (0..runs).map(|at| 100.0 + per_run * f64::from(at));
            let right = (0..40).filter(|&seed| found(times(), 0.3, seed) == "drift").count();
            assert!(right >= 38, "{right} of 40 drifts of {runs} runs");
        }
        for levels in [&[(6, 100.0), (6, 110.0)][..], &[(5, 100.0), (5, 110.0), (5, 130.0)], &[(9, 100.0), (3, 108.0)]]
        {
            let times = || levels.iter().flat_map(|&(runs, level)| std::iter::repeat_n(level, runs));
            let right = (0..40).filter(|&seed| found(times(), 0.5, seed) == "jumps").count();
            assert!(right >= 38, "{right} of 40 {levels:?}");
        }
    }

    #[test]
    fn noise_alone_rarely_looks_like_either() {
        for (runs, series, most) in [(5, 1000, 50), (6, 1000, 50), (8, 1000, 50), (12, 1000, 50), (40, 250, 12)] {
            let times = || std::iter::repeat_n(100.0, runs);
            let wrong = (0..series).filter(|seed| found(times(), 3.0, 77 + seed) != "neither").count();
            let drifts = (0..series).filter(|seed| found(times(), 3.0, 77 + seed) == "drift").count();
            eprintln!("{wrong} of {series} series of {runs} runs of noise, {drifts} of them drifts");
            assert!(wrong <= most, "{wrong} of {series} series of {runs} runs");
        }
    }
}
