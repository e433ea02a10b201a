//! Chooses the trace's anchor: the time in the file that becomes zero.
//!
//! JAX counts times from the start of the profile, so these times stay unchanged and the anchor is 0. Kineto and other
//! writers use absolute times or uptimes in microseconds. Converted to picoseconds, such times overflow 64 bits. In
//! these files, the times are counted from the first event instead.
//!
//! A single absurd timestamp at the start must not push all other events out of range. Therefore, the first [`VOTERS`]
//! events wait. The median of their times determines whether the file's times are large, and which events are close
//! enough to become the anchor. The choice depends only on the order of events in the file, and never on the chunk
//! sizes.

use super::number::Time;

/// Number of events that decide the anchor.
pub(super) const VOTERS: usize = 1024;
/// Times of at least this value (11.6 days) are treated as absolute.
const LARGE_US: u64 = 1_000_000_000_000;
/// Maximum distance of the anchor from the median: one hour.
const NEAR_US: u64 = 3_600_000_000;

/// Returns the anchor in whole microseconds for a file whose first events have these start times.
pub(super) fn anchor_us(starts: &[Time]) -> i64 {
    let mut sorted: Vec<i64> = starts.iter().map(|time| time.us).collect();
    sorted.sort_unstable();
    let Some(&median) = sorted.get(sorted.len() / 2) else { return 0 };
    if median.unsigned_abs() < LARGE_US {
        return 0;
    }
    let near = starts.iter().map(|time| time.us).find(|us| us.abs_diff(median) <= NEAR_US);
    // The report contains the anchor in nanoseconds. If that overflows, the times are nonsense and the anchor is 0.
    near.filter(|us| us.checked_mul(1_000).is_some()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn anchor(us: &[i64]) -> i64 {
        anchor_us(&us.iter().map(|&us| Time { us, ps: 7 }).collect::<Vec<_>>())
    }

    #[test]
    fn large_times_count_from_the_first_event_and_small_ones_from_zero() {
        assert_eq!(anchor(&[]), 0);
        assert_eq!(anchor(&[5_000, 17, 96_487_413]), 0);
        let unix = 1_682_725_898_236_567;
        assert_eq!(anchor(&[unix + 40, unix, unix + 90]), unix + 40);
        // One absurd value, whether too small or too large, does not change the anchor at any position.
        assert_eq!(anchor(&[0, unix, unix + 1]), unix);
        assert_eq!(anchor(&[unix, 10, 20, 30]), 0);
        assert_eq!(anchor(&[i64::MAX, i64::MAX]), 0);
    }
}
