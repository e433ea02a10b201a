//! Medians and percentiles of an area, which cannot be computed from sums. The durations of each group are stored
//! contiguously and partially sorted.

use base::Ps;
use metrics::{Percentiles, percentiles};
use trace::LineId;

use super::stretches::StretchSums;
use super::{Area, Group, Grouping, Part, for_each_part};
use crate::Source;
use crate::events::lane::Lane;

/// Returns the median and the 95th percentile of the durations in each of the given groups. [`groups`](super::groups)
/// must have found these groups in the same area. The running time is linear in the number of events in the groups, and
/// in the number of the area's events outside of stretches with known sums. The function needs 4 bytes of memory per
/// event in the groups, and 8 bytes more per event in groups whose 95th percentile exceeds 4 ms.
pub fn percentiles_of(source: Source<'_>, area: &Area, grouping: &Grouping, groups: &[Group]) -> Vec<Percentiles> {
    // 32-bit lengths halve the memory and the time. Durations that do not fit are stored as the largest value. This matters
    // only if the 95th percentile is such a duration.
    const LONGEST: u32 = u32::MAX;
    let short = |length: Ps| u32::try_from(length.as_ps()).unwrap_or(LONGEST);
    let mut found = by_length(source, area, grouping, groups, short, |length| Ps::new(i64::from(length)));
    let is_long = |found: &Percentiles| found.p95 >= Ps::new(i64::from(LONGEST));
    let long = |(group, found): (&Group, &Percentiles)| is_long(found).then_some(*group);
    let of_long: Vec<Group> = groups.iter().zip(&found).filter_map(long).collect();
    if !of_long.is_empty() {
        let exact = by_length(source, area, grouping, &of_long, |length| length, |length| length);
        found.iter_mut().filter(|found| is_long(found)).zip(exact).for_each(|(found, exact)| *found = exact);
    }
    found
}

/// Returns the percentiles of each group. During the computation, durations are stored as `T`.
fn by_length<T: Copy + Default + Ord>(
    source: Source<'_>,
    area: &Area,
    grouping: &Grouping,
    groups: &[Group],
    short: impl Fn(Ps) -> T,
    long: impl Fn(T) -> Ps,
) -> Vec<Percentiles> {
    let mut lengths = Lengths::new(grouping, groups, short);
    for &line in &area.lines {
        for_each_part(source, line, area.range, |part| match part {
            Part::Events(events) => events.for_each(|kind, inside| lengths.add(kind, inside.length())),
            Part::Sums(stretch) => lengths.add_stretch(source, line, &stretch),
        });
    }
    let mut rest = lengths.lengths.as_mut_slice();
    let of_group = |group: &Group| {
        let count = usize::try_from(group.sums.count).unwrap_or_default().min(rest.len());
        let (own, others) = std::mem::take(&mut rest).split_at_mut(count);
        rest = others;
        percentiles(own, &long).unwrap_or(Percentiles { median_us: 0.0, p95: Ps::ZERO })
    };
    groups.iter().map(of_group).collect()
}

/// Collects the durations of some groups.
struct Lengths<T, F> {
    /// For each kind, the position of its group.
    of_kinds: Vec<u32>,
    /// For each group, the position at which its next duration is stored.
    next: Vec<usize>,
    lengths: Vec<T>,
    short: F,
}

impl<T: Copy + Default, F: Fn(Ps) -> T> Lengths<T, F> {
    fn new(grouping: &Grouping, groups: &[Group], short: F) -> Lengths<T, F> {
        let mut next: Vec<usize> = Vec::with_capacity(groups.len());
        let mut places: Vec<u32> = vec![u32::MAX; grouping.len()];
        let mut count = 0;
        for (place, group) in (0..).zip(groups) {
            next.push(count);
            count += usize::try_from(group.sums.count).unwrap_or_default();
            places.get_mut(group.number as usize).into_iter().for_each(|slot| *slot = place);
        }
        let place = |number: &u32| places.get(*number as usize).copied().unwrap_or(u32::MAX);
        let of_kinds = grouping.of_kinds().iter().map(place).collect();
        Lengths { of_kinds, next, lengths: vec![T::default(); count], short }
    }

    #[inline]
    fn add(&mut self, kind: usize, length: Ps) {
        let group = self.of_kinds.get(kind).map_or(usize::MAX, |&group| group as usize);
        let Some(next) = self.next.get_mut(group) else { return };
        self.lengths.get_mut(*next).into_iter().for_each(|slot| *slot = (self.short)(length));
        *next += 1;
    }

    /// Adds the durations of a stretch. The function is not inlined, so each stretch is a separate call (see
    /// [`trace::in_blocks`]).
    #[inline(never)]
    fn add_stretch(&mut self, source: Source<'_>, line: LineId, stretch: &StretchSums<'_>) {
        // If the line has only one lane, the lane contains the events in the same order, with contiguous lengths.
        let lane = source.caches.lanes.known(line).and_then(|lanes| if let [lane] = lanes { Some(lane) } else { None });
        let events = source.by_line.events.get(line.index());
        for (kind, places) in stretch.places() {
            let length = |place: &u16| {
                let place = stretch.first + usize::from(*place);
                let of_lane = |lane: &Lane| lane.length(source.trace, place);
                lane.map(of_lane).or_else(|| Some(source.trace.occupied(events?.get(place)?)?.1.length()))
            };
            let short = |length: Option<Ps>| (self.short)(length.unwrap_or(Ps::ZERO));
            let Some(next) = self.of_kinds.get(kind).and_then(|&group| self.next.get_mut(group as usize)) else {
                continue;
            };
            let slots = self.lengths.get_mut(*next..*next + places.len()).unwrap_or_default();
            slots.iter_mut().zip(places).for_each(|(slot, place)| *slot = short(length(place)));
            *next += places.len();
        }
    }
}
