//! Determines whether an allocator holds all memory up to its limit.
//!
//! XLA's BFC allocator either takes all memory up to its limit at start, or takes regions of doubling size when it needs them.
//! The allocator's events do not contain the size of these regions. The events contain two figures that refer to different
//! totals:
//!
//! * available bytes: the limit minus the bytes in use, whether or not the allocator already holds them;
//! * fragmentation: the share of the allocator's free bytes that are outside of its largest free block.
//!
//! If the allocator holds all memory up to its limit, the product of the two figures is the free memory outside of the
//! largest block. An allocation takes its bytes either from this memory or from the largest block, and a release
//! returns bytes to one of the two. So either the size outside of the largest block or the size of the largest block
//! stays the same, except when blocks merge. If the allocator holds less, the products have no such relation.

use super::{Allocator, AllocatorEvent};

/// Relative rounding error of the fragmentation. XLA writes six significant digits.
const ROUNDING: f64 = 5e-6;

impl Allocator {
    /// Returns true if the allocator holds all memory up to its limit, and false if it takes memory only when it needs
    /// it. Returns `None` if the events do not show which is true.
    pub fn is_preallocated(&self) -> Option<bool> {
        let mut fits = [0_u64; 2];
        for (before, after) in self.events.iter().zip(self.events.iter().skip(1)) {
            if let Some(count) = fits_limit(before, after).and_then(|fit| fits.get_mut(usize::from(fit))) {
                *count += 1;
            }
        }
        let [differs, agrees] = fits;
        (differs + agrees > 0).then_some(agrees >= differs)
    }
}

/// Returns true if two consecutive events are consistent with an allocator that holds all memory up to its limit.
/// Returns `None` if other allocations are between them, or if the numbers are too coarse.
fn fits_limit(before: &AllocatorEvent, after: &AllocatorEvent) -> Option<bool> {
    let changed = before.in_use_bytes.abs_diff(after.in_use_bytes);
    if changed == 0 || after.allocation_bytes != Some(changed) {
        return None;
    }
    // Returns the free bytes outside and inside of the largest block.
    let split = |event: &AllocatorEvent| {
        let free = event.available_bytes as f64;
        let outside = event.fragmentation? * free;
        Some((outside, free - outside))
    };
    let ((outside, largest), (new_outside, new_largest)) = (split(before)?, split(after)?);
    // If the largest block is the only free block, any pool size agrees with the events.
    let error = 1.0 + ROUNDING * (outside + new_outside);
    if outside + new_outside == 0.0 || changed as f64 <= 2.0 * error {
        return None;
    }
    Some((outside - new_outside).abs() <= error || (largest - new_largest).abs() <= error)
}

#[cfg(test)]
mod tests {
    use super::super::Activity;
    use super::*;
    use base::Ps;

    const MIB: u64 = 1 << 20;

    fn event(in_use: u64, changed: u64, available: u64, fragmentation: f64) -> AllocatorEvent {
        AllocatorEvent {
            place: 0,
            time: Ps::ZERO,
            time_in_line: Ps::ZERO,
            activity: Activity::Allocation,
            reserved_bytes: 0,
            in_use_bytes: in_use,
            available_bytes: available,
            // The fragmentation has as many digits as XLA writes.
            fragmentation: format!("{fragmentation:.5e}").parse().ok(),
            lifetime_peak_bytes: in_use,
            requested_bytes: None,
            allocation_bytes: Some(changed),
            address: 0,
            labels: 0,
            own_labels: 0,
        }
    }

    /// Judges an allocator with a limit of 64 GiB that holds `pool` bytes. Each event is
    /// `(bytes in use, bytes of the largest free block)`.
    fn holding(pool: u64, events: &[(u64, u64)]) -> Option<bool> {
        let mut last = 0;
        let event = |&(in_use, largest): &(u64, u64)| {
            let free = pool - in_use;
            let changed = in_use.abs_diff(std::mem::replace(&mut last, in_use));
            event(in_use, changed, (64 << 30) - in_use, (free - largest) as f64 / free as f64)
        };
        Allocator { events: events.iter().map(event).collect(), ..Allocator::default() }.is_preallocated()
    }

    #[test]
    fn an_allocator_that_holds_its_limit_is_recognised() {
        let all = 64 << 30;
        // 300 MiB are in use, with a hole of 100 MiB. The tail is the largest block. Then 60 MiB fill a part of the hole, 500
        // MiB come from the tail, and both are freed. The last release merges with the tail.
        let at = |in_use: u64, hole: u64| (in_use * MIB, all - (in_use + hole) * MIB);
        let steps = [at(300, 100), at(360, 40), at(860, 40), at(800, 100), at(300, 100)];
        assert_eq!(holding(all, &steps), Some(true));
    }

    #[test]
    fn an_allocator_that_grows_is_recognised() {
        // The steps are repeated in regions of 1 GiB and 256 MiB. The larger region is the largest block.
        let at = |in_use: u64, largest: u64| (in_use * MIB, largest * MIB);
        let steps = [at(300, 724), at(360, 724), at(860, 224), at(800, 224), at(300, 724)];
        assert_eq!(holding(1280 * MIB, &steps), Some(false));
        // Events of an H100 with XLA_PYTHON_CLIENT_PREALLOCATE=false, whose allocator held 1,075,838,976 bytes.
        let real = [
            event(335_544_320, 67_108_864, 63_428_362_240, 0.274_788),
            event(402_653_952, 67_109_632, 63_361_252_608, 0.202_491),
            event(335_544_320, 67_109_632, 63_428_362_240, 0.274_788),
            event(268_435_456, 67_108_864, 63_495_471_104, 0.335_065),
        ];
        assert_eq!(Allocator { events: real.to_vec(), ..Allocator::default() }.is_preallocated(), Some(false));
    }

    #[test]
    fn one_free_block_shows_nothing() {
        let at = |in_use: u64| (in_use * MIB, 1024 * MIB - in_use * MIB);
        assert_eq!(holding(1 << 30, &[at(100), at(200), at(100)]), None);
        assert_eq!(holding(1 << 30, &[at(100)]), None);
    }
}
