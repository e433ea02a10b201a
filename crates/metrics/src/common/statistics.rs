//! Computes mean, median, percentile and spread of a list of numbers.
//!
//! Uses only `+ - * /` and `sqrt`, whose results IEEE 754 defines to the last bit, so the report is the same on every
//! machine.

use base::{Ps, sort};

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Summary {
    /// Arithmetic mean.
    pub mean: f64,
    /// Middle value, or the mean of the two middle values if the number of values is even.
    pub median: f64,
    /// 95th percentile by nearest rank: the smallest value that at least 95 % of the values do not exceed.
    pub p95: f64,
    /// Smallest value.
    pub min: f64,
    /// Largest value.
    pub max: f64,
    /// Sample standard deviation (n - 1); `None` for fewer than two values.
    pub stddev: Option<f64>,
}

/// Summarises `values`. Returns `None` for an empty list.
pub(crate) fn summarize(values: &[f64]) -> Option<Summary> {
    let mut sorted = values.to_vec();
    sort::sort_by(&mut sorted, f64::total_cmp);
    let rank = p95_rank(sorted.len());
    Some(Summary {
        mean: mean(values)?,
        median: median_of_sorted(&sorted)?,
        p95: sorted.get(rank).copied()?,
        min: sorted.first().copied()?,
        max: sorted.last().copied()?,
        stddev: stddev(values),
    })
}

/// Median and 95th percentile of durations, computed as in [`Summary`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Percentiles {
    /// Middle value in microseconds, or the mean of the two middle values if the number of values is even.
    pub median_us: f64,
    /// 95th percentile by nearest rank.
    pub p95: Ps,
}

/// Computes percentiles of durations, and reorders the durations. `ps` converts an entry to its duration. Returns
/// `None` for an empty list. Takes time linear in the number of durations.
pub fn percentiles<T: Copy + Ord>(durations: &mut [T], ps: impl Fn(T) -> Ps) -> Option<Percentiles> {
    let (count, rank) = (durations.len(), p95_rank(durations.len()));
    if count == 0 {
        return None;
    }
    let (below, &mut upper, above) = durations.select_nth_unstable(count / 2);
    let lower = if count % 2 == 1 { upper } else { below.iter().copied().max()? };
    // The 95th percentile is at or after the middle, so only the upper half is searched.
    let p95 = match rank.checked_sub(count / 2 + 1) {
        Some(rank) if !above.is_empty() => *above.select_nth_unstable(rank.min(above.len() - 1)).1,
        _ => upper,
    };
    Some(Percentiles { median_us: (ps(lower).as_us() + ps(upper).as_us()) / 2.0, p95: ps(p95) })
}

/// Returns the index of the 95th percentile among `count` sorted values.
fn p95_rank(count: usize) -> usize {
    (count * 95).div_ceil(100).saturating_sub(1)
}

/// Returns the arithmetic mean, or `None` for an empty list.
pub fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

/// Returns the middle value, or `None` for an empty list.
pub fn median(values: &[f64]) -> Option<f64> {
    let mut sorted = values.to_vec();
    sort::sort_by(&mut sorted, f64::total_cmp);
    median_of_sorted(&sorted)
}

/// Returns the sample standard deviation, or `None` for fewer than two values.
pub fn stddev(values: &[f64]) -> Option<f64> {
    let mean = mean(values).filter(|_| values.len() > 1)?;
    let squares: f64 = values.iter().map(|value| (value - mean) * (value - mean)).sum();
    Some((squares / (values.len() - 1) as f64).sqrt())
}

/// Returns the largest minus the smallest value, or `None` for fewer than two values.
pub(crate) fn range(values: &[f64]) -> Option<f64> {
    let max = values.iter().copied().max_by(f64::total_cmp).filter(|_| values.len() > 1)?;
    let min = values.iter().copied().min_by(f64::total_cmp)?;
    Some(max - min)
}

fn median_of_sorted(sorted: &[f64]) -> Option<f64> {
    let upper = sorted.get(sorted.len() / 2).copied()?;
    let lower = sorted.get((sorted.len() - 1) / 2).copied()?;
    Some(if sorted.len() % 2 == 1 { upper } else { (lower + upper) / 2.0 })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_values() {
        // The population variance of this classic list is 4, so the sample variance is 32 / 7.
        let summary = summarize(&[2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0]).unwrap();
        assert_eq!((summary.mean, summary.median, summary.min, summary.max), (5.0, 4.5, 2.0, 9.0));
        assert_eq!(summary.stddev, Some((32.0f64 / 7.0).sqrt()));
        assert_eq!(summary.p95, 9.0);
    }

    #[test]
    fn the_percentile_is_by_nearest_rank() {
        let hundred: Vec<f64> = (1..=100).map(f64::from).collect();
        assert_eq!(summarize(&hundred).unwrap().p95, 95.0);
        let twenty: Vec<f64> = (1..=20).rev().map(f64::from).collect();
        assert_eq!(summarize(&twenty).unwrap().p95, 19.0);
        assert_eq!(summarize(&[3.0]).unwrap().p95, 3.0);
    }

    #[test]
    fn durations_have_the_percentiles_of_their_numbers() {
        for count in 1..130i64 {
            let values: Vec<i64> = (0..count).map(|at| at * 7919 % 131 * 1_000_000).collect();
            let us: Vec<f64> = values.iter().map(|&ps| Ps::new(ps).as_us()).collect();
            let mut durations: Vec<Ps> = values.into_iter().map(Ps::new).collect();
            let (expected, found) = (summarize(&us).unwrap(), percentiles(&mut durations, |length| length).unwrap());
            assert_eq!((found.median_us, found.p95.as_us()), (expected.median, expected.p95), "{count}");
        }
        assert_eq!(percentiles(&mut [], Ps::new), None);
    }

    #[test]
    fn nothing_has_no_statistics() {
        assert_eq!(summarize(&[]), None);
        assert_eq!((median(&[]), stddev(&[1.0]), range(&[1.0])), (None, None, None));
        assert_eq!(range(&[1.0, 4.0, 2.0]), Some(3.0));
    }
}
