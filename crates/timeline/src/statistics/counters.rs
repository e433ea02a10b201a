//! Statistics of a counter over a range of time.

use trace::{CounterTrack, Interval};

/// Statistics of a counter over a range of time. Each value is valid until the next sample.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CounterValues {
    /// Number of samples in the range.
    pub samples: u64,
    /// Time-weighted mean over the part of the range that has a value.
    pub mean: f64,
    /// Smallest value in the range.
    pub min: f64,
    /// Largest value in the range.
    pub max: f64,
    /// Value at the start of the range. If the counter starts inside the range, the first value of the counter.
    pub first: f64,
    /// Value just before the end of the range.
    pub last: f64,
}

/// Returns the statistics of a counter in `[start, end)`. Returns `None` if the counter's first sample is later. The
/// running time is linear in the number of samples in the range.
pub fn counter_in(track: &CounterTrack, range: Interval) -> Option<CounterValues> {
    let before = |edge| track.times.partition_point(|time| *time < edge);
    let (start, end) = (before(range.start), before(range.end));
    // If several samples have the same time, the last one is used.
    let from = range.start.max(*track.times.first()?);
    let in_force = track.times.partition_point(|time| *time <= from).saturating_sub(1);
    let times = track.times.get(in_force..end)?;
    let values = track.values.get(in_force..end)?;
    let (first, last) = (*values.first()?, *values.last()?);
    let (mut sum, mut length, mut min, mut max) = (0.0, 0.0, first, first);
    let ends = times.iter().skip(1).chain(std::iter::once(&range.end));
    for ((from, to), value) in times.iter().zip(ends).zip(values) {
        let held = Interval::new((*from).max(range.start), *to).length().as_ps() as f64;
        if held > 0.0 {
            sum += value * held;
            length += held;
            (min, max) = (value.min(min), value.max(max));
        }
    }
    Some(CounterValues {
        samples: end.saturating_sub(start) as u64,
        mean: if length > 0.0 { sum / length } else { last },
        min,
        max,
        first,
        last,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::Ps;
    use proptest::prelude::*;

    fn track(samples: &[(i64, i32)]) -> CounterTrack {
        let times = samples.iter().map(|&(time, _)| Ps::new(time)).collect();
        let values = samples.iter().map(|&(_, value)| f64::from(value)).collect();
        CounterTrack { times, values, ..CounterTrack::default() }
    }

    fn at(start: i64, end: i64) -> Interval {
        Interval::new(Ps::new(start), Ps::new(end))
    }

    #[test]
    fn a_sample_holds_until_the_next() {
        let track = track(&[(10, 4), (20, 8), (40, 2)]);
        let whole = CounterValues { samples: 3, mean: 5.0, min: 2.0, max: 8.0, first: 4.0, last: 2.0 };
        assert_eq!(counter_in(&track, at(0, 50)), Some(CounterValues { mean: (40.0 + 160.0 + 20.0) / 40.0, ..whole }));
        let between = CounterValues { samples: 0, mean: 8.0, min: 8.0, max: 8.0, first: 8.0, last: 8.0 };
        assert_eq!(counter_in(&track, at(25, 30)), Some(between));
        assert_eq!(counter_in(&track, at(0, 10)), None);
        assert_eq!(counter_in(&track, at(15, 25)).map(|it| (it.samples, it.mean, it.first)), Some((1, 6.0, 4.0)));
        assert_eq!(counter_in(&CounterTrack::default(), at(0, 10)), None);
    }

    proptest! {
        #[test]
        fn picosecond_by_picosecond_it_is_the_same(
            samples in prop::collection::vec((0i64..40, -9i32..9), 0..12),
            start in -5i64..45,
            length in 1i64..30,
        ) {
            let mut samples = samples;
            samples.sort_by_key(|(time, _)| *time);
            let range = at(start, start + length);
            let value = |now: i64| samples.iter().rev().find(|(time, _)| *time <= now).map(|(_, value)| f64::from(*value));
            let held: Vec<f64> = (start..start + length).filter_map(value).collect();
            let found = counter_in(&track(&samples), range);
            prop_assert_eq!(found.is_some(), !held.is_empty());
            if let Some(found) = found {
                prop_assert!((found.mean - held.iter().sum::<f64>() / held.len() as f64).abs() < 1e-9);
                prop_assert_eq!((Some(&found.first), Some(&found.last)), (held.first(), held.last()));
                let [min, max] = [f64::min, f64::max].map(|of| held.iter().copied().reduce(of));
                prop_assert_eq!((Some(found.min), Some(found.max)), (min, max));
                let of_range = samples.iter().filter(|(time, _)| (start..start + length).contains(time)).count();
                prop_assert_eq!(found.samples, of_range as u64);
            }
        }
    }
}
