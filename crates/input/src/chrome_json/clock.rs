//! The trace's anchor: which time of the file becomes zero.
//!
//! JAX counts from the start of the profile: its times stay as they are, the anchor is 0. Kineto and others write absolute
//! or uptime microseconds, which do not fit 64 bits of picoseconds. Such a file's times count from its first event. One
//! absurd first timestamp must not push all other events out of range, so the first [`VOTERS`] events wait, and their
//! median decides whether the file's times are large and which events are near enough to be the anchor. The choice depends
//! on the order of events in the file only, never on how the bytes arrived.

use super::number::Time;

/// Events that decide the anchor.
pub(super) const VOTERS: usize = 1024;
/// From here on (11.6 days) times are taken for absolute ones.
const LARGE_US: u64 = 1_000_000_000_000;
/// Distance from the median at which an event can still be the anchor: an hour.
const NEAR_US: u64 = 3_600_000_000;

/// The anchor in whole microseconds for a file that starts with these times.
pub(super) fn anchor_us(starts: &[Time]) -> i64 {
    let mut sorted: Vec<i64> = starts.iter().map(|time| time.us).collect();
    sorted.sort_unstable();
    let Some(&median) = sorted.get(sorted.len() / 2) else { return 0 };
    if median.unsigned_abs() < LARGE_US {
        return 0;
    }
    let near = starts.iter().map(|time| time.us).find(|us| us.abs_diff(median) <= NEAR_US);
    // The report gives the anchor in nanoseconds; where that overflows the times are nonsense and stay unanchored.
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
        // One absurd value, at either end, first or not, decides nothing.
        assert_eq!(anchor(&[0, unix, unix + 1]), unix);
        assert_eq!(anchor(&[unix, 10, 20, 30]), 0);
        assert_eq!(anchor(&[i64::MAX, i64::MAX]), 0);
    }
}
