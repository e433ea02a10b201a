//! The straight line by which a chip's clock is placed against the host's: found where most event times agree, since those between
//! two alignments of the profiler may be late or early, half of them and more.
//!
//! ```text
//! late  |       /|        /|
//!       |      / |       / |  /|      event times that ran away until they were aligned again
//!       |_____/__|______/__|_/_|__    the line: the narrowest band that holds 3 of 8 of all
//!       +------------------------ chip time
//! ```
//!
//! All arithmetic is on integers, so that every machine finds the same line.

use super::knots::{Knot, Knots, narrow};
use base::sort;

/// Drifts are in units of 2^-40.
pub(super) const DRIFT_BITS: u32 = 40;

/// The largest drift that is believed: a thousandth. Oscillators are off by less than a tenth of that.
const MOST_DRIFT: i128 = (1 << DRIFT_BITS) / 1_000;

/// Samples through each two of which a line is tried.
const ANCHORS: usize = 32;

/// The share of the samples that has to lie in the band. Half of the event times of a capture were seen to be wrong.
const SUPPORT: (usize, usize) = (3, 8);

/// From fewer samples than this no drift is worked out.
const LEAST_FOR_DRIFT: usize = 8;

/// Over less chip time than this (a second) no drift is worked out: it would make less of a difference than the
/// placement is exact.
const LEAST_REACH: u64 = 1_000_000_000_000;

/// Clocks that keep their distance up to this (a microsecond) are placed by its median.
const AGREEMENT: u64 = 1_000_000;

/// Event time less chip time, as a line over chip time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Line {
    /// Value of the line at `reference`.
    pub shift: i64,
    /// Slope of the line, in 2^-40.
    pub drift: i64,
    /// Chip time.
    pub reference: i64,
    /// Half the width of the band of those that decided it.
    pub uncertainty: i64,
}

/// An event time less its chip time (`late`), at a chip time from the reference (`at`).
#[derive(Clone, Copy, Debug)]
struct Sample {
    at: i64,
    late: i64,
}

/// The line of ops with these chip times and by how much their events are later, referred to event time `middle`. Without any, event
/// times are chip times.
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
    // A drift is believed where it explains twice as much.
    let band = steep.filter(|steep| steep.width.saturating_mul(2) < flat.width).unwrap_or(flat);
    let band = band.refined(&samples);
    Line { drift: band.drift, ..constant(band.late, narrow(i128::from(band.width.div_ceil(2)))) }
}

/// How far event times lie from a line: the 95th percentile over ops' starts, and the largest distance.
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

/// What a clock with this drift gains in `time`.
pub(super) fn gain(drift: i64, time: i64) -> i64 {
    narrow((i128::from(drift) * i128::from(time)) >> DRIFT_BITS)
}

/// The median difference of the clocks.
fn median_of(samples: &[(i64, i64)]) -> i64 {
    let mut lates: Vec<i64> = samples.iter().map(|it| it.1).collect();
    sort::numbers(&mut lates);
    lates.get(lates.len() / 2).copied().unwrap_or(0)
}

/// A band of one slope.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Band {
    drift: i64,
    width: u64,
    /// Middle of the band at the reference.
    late: i64,
}

impl Band {
    /// The samples in it and as far around it as it is wide.
    fn inside(self, samples: &[Sample]) -> Vec<Sample> {
        let near = |it: &&Sample| {
            it.late.saturating_sub(gain(self.drift, it.at)).abs_diff(self.late) <= self.width.max(AGREEMENT)
        };
        samples.iter().filter(near).copied().collect()
    }

    /// The line of those in the band: the median slope between its first and its second half, and the median distance.
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

/// Samples in the order of how late they are beside a line of some slope.
struct Tilted {
    /// Samples, each with its distance from the line.
    samples: Vec<(i64, Sample)>,
}

impl Tilted {
    fn new(samples: &[Sample]) -> Tilted {
        Tilted { samples: samples.iter().map(|it| (it.late, *it)).collect() }
    }

    /// The narrowest band of slope `drift` that holds enough of the samples. Fast where slopes are asked for in ascending order: two
    /// samples change places once in all then, so few do from one slope to the next, and an insertion sort passes over all others.
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

/// The narrowest band among lines through two samples; `None` where no two lie far enough apart.
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

/// Slope between two samples; `None` where it is unreliable.
fn slope(a: &Sample, b: &Sample) -> Option<i64> {
    let run = i128::from(b.at) - i128::from(a.at);
    let rise = i128::from(b.late) - i128::from(a.late);
    let slope = (rise << DRIFT_BITS).checked_div(run)?;
    (slope.abs() <= MOST_DRIFT).then(|| narrow(slope))
}
