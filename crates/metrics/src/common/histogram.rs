//! Counts durations by powers of two. The counts show whether most kernels are short or most launches are late, or
//! whether only a few are outliers.
//!
//! ```text
//! bucket   0        1         2        ...   20             21
//!          < 1 us   1 - 2 us  2 - 4 us       0.52 - 1.05 s  longer
//! ```

use base::Ps;

pub(crate) const BUCKETS: usize = 22;

/// Counts of durations, in buckets whose limits are powers of two in microseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Histogram {
    counts: [u32; BUCKETS],
}

impl Histogram {
    /// An empty histogram.
    pub const EMPTY: Histogram = Histogram { counts: [0; BUCKETS] };

    /// Counts one duration.
    #[inline]
    pub fn add(&mut self, duration: Ps) {
        if let Some(count) = self.counts.get_mut(bucket(duration)) {
            *count = count.saturating_add(1);
        }
    }

    /// Adds the counts of another histogram.
    pub fn merge(&mut self, other: &Histogram) {
        for (count, more) in self.counts.iter_mut().zip(other.counts) {
            *count = count.saturating_add(more);
        }
    }

    /// Returns the counts by bucket.
    pub fn counts(&self) -> &[u32; BUCKETS] {
        &self.counts
    }

    /// Returns `(lower end of the bucket in microseconds, count)` for the buckets from the first bucket that is not
    /// empty to the last.
    pub fn filled(&self) -> Vec<(f64, u64)> {
        let first = self.counts.iter().position(|&count| count > 0).unwrap_or(BUCKETS);
        let last = self.counts.iter().rposition(|&count| count > 0).map_or(0, |last| last + 1);
        let bounds = (0..BUCKETS).map(lower_us).zip(self.counts.map(u64::from));
        bounds.take(last).skip(first).collect()
    }
}

fn bucket(duration: Ps) -> usize {
    let us = u64::try_from(duration.as_ps()).unwrap_or(0) / 1_000_000;
    us.checked_ilog2().map_or(0, |power| (power as usize + 1).min(BUCKETS - 1))
}

/// Returns the lower end of a bucket in microseconds: 0, 1, 2, 4, ...
fn lower_us(bucket: usize) -> f64 {
    if bucket == 0 { 0.0 } else { (1u64 << (bucket - 1).min(63)) as f64 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_are_half_open_powers_of_two() {
        let mut histogram = Histogram::default();
        for ns in [0, 999, 1_000, 1_999, 2_000, 3_999, 4_000, 1_048_576_000, i64::MAX / 1_000] {
            histogram.add(Ps::new(ns * 1_000));
        }
        histogram.add(Ps::new(-5));
        assert_eq!(&histogram.counts()[..5], &[3, 2, 2, 1, 0]);
        assert_eq!(histogram.counts()[BUCKETS - 1], 2);
        let filled = histogram.filled();
        assert_eq!((filled[0], filled[3], filled.len()), ((0.0, 3), (4.0, 1), BUCKETS));
        let mut twice = histogram;
        twice.merge(&histogram);
        assert_eq!(twice.counts()[0], 6);
        assert!(Histogram::default().filled().is_empty());
    }
}
