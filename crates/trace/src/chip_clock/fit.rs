//! Fits the straight line that maps the clock of a chip to the clock of the host. Between two alignments by the
//! profiler, half or more of the event times may be late or early. This module therefore chooses the straight line that
//! most event times agree with.
//!
//! ```text
//! late  |       /|        /|
//!       |      / |       / |  /|      event times that drift until the next alignment
//!       |_____/__|______/__|_/_|__    the line: the narrowest band with 3/8 of the samples
//!       +------------------------ chip time
//! ```
//!
//! All arithmetic uses integers, so that every machine finds the same straight line.

use super::knots::{Knot, Knots, narrow};
use base::sort;

/// Number of fraction bits of a drift: drifts are in units of 2^-40.
pub(super) const DRIFT_BITS: u32 = 40;

/// Maximum plausible drift: one thousandth. The error of a real oscillator is less than a tenth of this limit.
const MOST_DRIFT: i128 = (1 << DRIFT_BITS) / 1_000;

/// Number of samples that are used as anchors. The module tries the straight line through each pair of anchors.
const ANCHORS: usize = 32;

/// Fraction of the samples that the band must contain. In some captures, half of the event times are wrong.
const SUPPORT: (usize, usize) = (3, 8);

/// Minimum number of samples that are needed to compute a drift.
const LEAST_FOR_DRIFT: usize = 8;

/// Minimum chip time (one second) that the samples must span to compute a drift. Over a shorter time, the drift changes
/// times by less than the precision of the alignment.
const LEAST_REACH: u64 = 1_000_000_000_000;

/// If the difference between the clocks has at most this spread (one microsecond), it is treated as constant. Clocks
/// with a constant difference are aligned by the median difference.
const AGREEMENT: u64 = 1_000_000;

/// Event time minus chip time, as a linear function of chip time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Line {
    /// Value of the line at `reference`, in picoseconds.
    pub shift: i64,
    /// Slope of the line, in units of 2^-40.
    pub drift: i64,
    /// Chip time at which the line has the value `shift`, in picoseconds.
    pub reference: i64,
    /// Half the width of the band around the line, in picoseconds.
    pub uncertainty: i64,
}

/// Event time minus chip time (`late`), at a chip time that is relative to the reference (`at`).
#[derive(Clone, Copy, Debug)]
struct Sample {
    at: i64,
    late: i64,
}

/// Fits a straight line to `samples`. Each sample consists of the chip time of an op and the delay of its event. The
/// reference of the line is the chip time at the event time `middle`. If there are no samples, event times are used as
/// chip times.
pub(super) fn line(samples: &[(i64, i64)], middle: i64) -> Line {
    let median = median_of(samples);
    let reference = middle.saturating_sub(median);
    let relative =
        |&(chip, late): &(i64, i64)| Sample { at: chip.saturating_sub(reference), late: late.saturating_sub(median) };
    let mut samples: Vec<Sample> = samples.iter().map(relative).collect();
    let (least, most) = samples.iter().fold((i64::MAX, i64::MIN), |(a, b), it| (a.min(it.late), b.max(it.late)));
    let constant =
        |late: i64, uncertainty: i64| Line { shift: median.saturating_add(late), drift: 0, reference, uncertainty };
    if least > most || least.abs_diff(most) <= AGREEMENT {
        return constant(0, most.saturating_sub(least).max(0) / 2);
    }
    sort::sort_by_key(&mut samples, |it| (it.at, it.late));
    let flat = Tilted::new(&samples).tightest(0);
    let steep = if samples.len() >= LEAST_FOR_DRIFT { steepest_support(&samples) } else { None };
    // A drift is used only if it makes the band less than half as wide.
    let band = steep.filter(|steep| steep.width.saturating_mul(2) < flat.width).unwrap_or(flat);
    let band = band.refined(&samples);
    Line { drift: band.drift, ..constant(band.late, narrow(i128::from(band.width.div_ceil(2)))) }
}

/// Returns how far event times are from a line: the 95th percentile over the starts of ops, and the maximum.
pub(super) fn distances(knots: &Knots, shift: i64, drift: i64, reference: i64) -> (i64, i64) {
    let off = |knot: &Knot, event: i64| {
        let at = event.saturating_sub(knot.delta).saturating_sub(reference);
        narrow(i128::from(knot.delta.abs_diff(shift.saturating_add(gain(drift, at)))))
    };
    let of_knot = |knot: &Knot| (off(knot, knot.first).max(off(knot, knot.last)), knot.ops);
    let mut all: Vec<(i64, u64)> = knots.list().iter().filter(|knot| knot.ops > 0).map(of_knot).collect();
    sort::sort_by(&mut all, Ord::cmp);
    let total: u64 = all.iter().map(|it| it.1).sum();
    let rank = (u128::from(total) * 95).div_ceil(100);
    let mut passed = 0u128;
    let p95 = all.iter().find(|it| {
        passed += u128::from(it.1);
        passed >= rank
    });
    (p95.map_or(0, |it| it.0), all.last().map_or(0, |it| it.0))
}

/// Returns the time that a clock with this drift gains in `time`.
pub(super) fn gain(drift: i64, time: i64) -> i64 {
    narrow((i128::from(drift) * i128::from(time)) >> DRIFT_BITS)
}

/// Returns the median difference between the clocks.
fn median_of(samples: &[(i64, i64)]) -> i64 {
    let mut lates: Vec<i64> = samples.iter().map(|it| it.1).collect();
    sort::numbers(&mut lates);
    lates.get(lates.len() / 2).copied().unwrap_or(0)
}

/// A band around a line with a given slope.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Band {
    drift: i64,
    width: u64,
    /// Centre of the band at the line's reference.
    late: i64,
}

impl Band {
    /// Returns the samples that are in the band or at most one band width away from it.
    fn inside(self, samples: &[Sample]) -> Vec<Sample> {
        let near = |it: &&Sample| {
            it.late.saturating_sub(gain(self.drift, it.at)).abs_diff(self.late) <= self.width.max(AGREEMENT)
        };
        samples.iter().filter(near).copied().collect()
    }

    /// Returns a band around the straight line that fits the samples in this band. The slope of this line is the median
    /// slope between the first and the second half of the samples. The offset of this line is the median offset of the
    /// samples.
    fn refined(self, samples: &[Sample]) -> Band {
        let inside = self.inside(samples);
        let half = inside.len() / 2;
        let mut drift = self.drift;
        if drift != 0 {
            let pairs = inside.iter().zip(inside.iter().skip(half));
            let mut slopes: Vec<i64> = pairs.filter_map(|(a, b)| slope(a, b)).collect();
            sort::numbers(&mut slopes);
            drift = slopes.get(slopes.len() / 2).copied().unwrap_or(drift);
        }
        let mut left: Vec<i64> = inside.iter().map(|it| it.late.saturating_sub(gain(drift, it.at))).collect();
        sort::numbers(&mut left);
        match (left.first(), left.get(left.len() / 2), left.last()) {
            (Some(least), Some(&late), Some(most)) => Band { drift, width: least.abs_diff(*most), late },
            _ => self,
        }
    }
}

/// Samples sorted by their distance from a line with a given slope.
struct Tilted {
    /// Samples, each with its distance from the line.
    samples: Vec<(i64, Sample)>,
}

impl Tilted {
    fn new(samples: &[Sample]) -> Tilted {
        Tilted { samples: samples.iter().map(|it| (it.late, *it)).collect() }
    }

    /// Returns the narrowest band with the slope `drift` that contains enough samples. The search is fast if the slopes
    /// of successive calls ascend. Each pair of samples then swaps only once over all calls, so the insertion sort
    /// moves only a few samples in each call.
    fn tightest(&mut self, drift: i64) -> Band {
        for (left, sample) in &mut self.samples {
            *left = sample.late.saturating_sub(gain(drift, sample.at));
        }
        for end in 1..self.samples.len() {
            let pairs = self.samples.get_mut(..=end).unwrap_or_default();
            let mut at = pairs.len() - 1;
            while let Some([before, after]) = at.checked_sub(1).and_then(|from| pairs.get_mut(from..=at)) {
                if before.0 <= after.0 {
                    break;
                }
                std::mem::swap(before, after);
                at -= 1;
            }
        }
        let count = self.samples.len();
        let support = (count * SUPPORT.0).div_ceil(SUPPORT.1).max(2).min(count);
        let lasts = self.samples.iter().skip(support.max(1) - 1);
        let bands = self.samples.iter().zip(lasts).map(|((least, _), (most, _))| (least.abs_diff(*most), *least));
        let (width, least) = bands.min().unwrap_or((0, 0));
        Band { drift, width, late: least.saturating_add(narrow(i128::from(width / 2))) }
    }
}

/// Returns the narrowest of the bands around lines through two samples. Returns `None` if no two samples are far enough
/// apart.
fn steepest_support(samples: &[Sample]) -> Option<Band> {
    let reach = samples.last()?.at.abs_diff(samples.first()?.at);
    if reach < LEAST_REACH {
        return None;
    }
    let step = samples.len().div_ceil(ANCHORS).max(1);
    let anchors: Vec<&Sample> = samples.iter().step_by(step).collect();
    let mut drifts: Vec<i64> = Vec::new();
    for (at, first) in anchors.iter().enumerate() {
        let others = anchors.iter().skip(at + 1).filter(|other| other.at.abs_diff(first.at) >= reach / 8);
        drifts.extend(others.filter_map(|other| slope(first, other)));
    }
    sort::numbers(&mut drifts);
    drifts.dedup();
    let mut tilted = Tilted::new(samples);
    drifts.into_iter().map(|drift| tilted.tightest(drift)).min_by_key(|band| (band.width, band.drift.unsigned_abs()))
}

/// Returns the slope between two samples. Returns `None` if the slope is implausible.
fn slope(a: &Sample, b: &Sample) -> Option<i64> {
    let run = i128::from(b.at) - i128::from(a.at);
    let rise = i128::from(b.late) - i128::from(a.late);
    let slope = (rise << DRIFT_BITS).checked_div(run)?;
    (slope.abs() <= MOST_DRIFT).then(|| narrow(slope))
}
