//! Finds the idle gaps of each device: times in its window when no op runs.
//!
//! ```text
//! ops      [--a--)  [---b---)         [--c--)
//!             [--------d)
//! union    [--a-d-------b---)         [--c--)
//! gap                        ---------          one gap, after b and before c
//! ```

use crate::device::devices::{Device, Devices};
use base::{Ps, sort};
use report::{Gap, Gaps, TimelineAnalysis};
use trace::{Interval, Trace, in_blocks};

/// Number of gaps that are listed individually.
const LONGEST: usize = 20;

const US: i64 = 1_000_000;

#[derive(Clone, Copy, Debug, Default)]
struct GapSums {
    count: u64,
    total: Ps,
    longest: Ps,
    /// Numbers of gaps of less than 10 us, 10 to 100 us, 100 to 1000 us, and 1000 us or more.
    buckets: [u64; 4],
    /// Length of the window that contains the gaps.
    window: Ps,
}

impl GapSums {
    fn of(device: &Device) -> GapSums {
        let mut sums = GapSums { window: device.window.length(), ..GapSums::default() };
        for_each_gap(device, |gap| {
            let length = gap.length();
            sums.count += 1;
            sums.total += length;
            sums.longest = sums.longest.max(length);
            let bucket = [10, 100, 1000].iter().take_while(|&&limit| length.as_ps() >= limit * US).count();
            if let Some(count) = sums.buckets.get_mut(bucket) {
                *count += 1;
            }
        });
        sums
    }

    fn add(&mut self, other: &GapSums) {
        self.count += other.count;
        self.total += other.total;
        self.longest = self.longest.max(other.longest);
        self.window += other.window;
        for (sum, count) in self.buckets.iter_mut().zip(other.buckets) {
            *sum += count;
        }
    }

    fn report(&self) -> Gaps {
        let [gaps_under_10us, gaps_10_100us, gaps_100_1000us, gaps_over_1000us] = self.buckets;
        Gaps {
            total_gaps: self.count,
            total_gap_time_us: self.total.as_us(),
            avg_gap_us: (self.count > 0).then(|| self.total.as_us() / self.count as f64),
            max_gap_us: (self.count > 0).then(|| self.longest.as_us()),
            gap_time_percent: percent(self.total, self.window),
            gaps_under_10us,
            gaps_10_100us,
            gaps_100_1000us,
            gaps_over_1000us,
        }
    }
}

/// Returns `100 * part / whole`, or 0 if the whole has no length.
pub(crate) fn percent(part: Ps, whole: Ps) -> f64 {
    if whole > Ps::ZERO { 100.0 * part.as_ps() as f64 / whole.as_ps() as f64 } else { 0.0 }
}

pub(crate) fn device_gaps(device: &Device) -> Gaps {
    GapSums::of(device).report()
}

/// Returns the gaps of all devices in use. `None` if gaps are impossible because every device ran a single op that
/// fills its window.
pub(crate) fn timeline_analysis(trace: &Trace, devices: &Devices) -> Option<TimelineAnalysis> {
    // A single op that fills its window leaves no gap before or after it.
    if devices.used.iter().all(|device| device.ops.len() < 2 && device.busy.length() == device.window.length()) {
        return None;
    }
    let mut sums = GapSums::default();
    for device in &devices.used {
        sums.add(&GapSums::of(device));
    }
    let origin = devices.capture.map_or(Ps::ZERO, |capture| capture.start);
    let gap = |(interval, index): (Interval, usize)| {
        let device = devices.used.get(index)?;
        Some(Gap {
            device_name: device.name.clone(),
            start_us: (interval.start - origin).as_us(),
            duration_us: interval.length().as_us(),
            after: ended_at(trace, device, interval.start),
            before: started_at(trace, device, interval.end),
        })
    };
    let longest_gaps = longest(devices).into_iter().filter_map(gap).collect();
    Some(TimelineAnalysis { gaps: sums.report(), longest_gaps })
}

/// Calls `found` with the gaps of a device in order, including the gaps at the edges of its window.
fn for_each_gap(device: &Device, mut found: impl FnMut(Interval)) {
    let mut busy = device.busy.parts();
    for window in device.window.parts() {
        let mut end = window.start;
        let mut next = |part: &Interval| {
            let gap = Interval::new(end, part.start);
            end = part.end;
            if gap.end > gap.start {
                found(gap);
            }
        };
        // Busy parts are cut at the window's edges.
        let (inside, later) = busy.split_at(busy.partition_point(|part| part.start < window.end));
        in_blocks(inside, &mut next);
        next(&Interval::new(window.end, window.end));
        busy = later;
    }
}

/// Returns the longest gaps, each with the index of its device. Sorts by descending length, then by start, then by
/// device.
fn longest(devices: &Devices) -> Vec<(Interval, usize)> {
    let order = |gap: &(Interval, usize)| (std::cmp::Reverse(gap.0.length()), gap.0.start, gap.1);
    let mut kept: Vec<(Interval, usize)> = Vec::new();
    // Shorter gaps can no longer enter the list.
    let mut shortest = Ps::ZERO;
    for (index, device) in devices.used.iter().enumerate() {
        for_each_gap(device, |gap| {
            if gap.length() < shortest {
                return;
            }
            kept.push((gap, index));
            if kept.len() > 64 * LONGEST {
                sort::sort_by_key(&mut kept, order);
                kept.truncate(LONGEST);
                shortest = kept.last().map_or(Ps::ZERO, |(gap, _)| gap.length());
            }
        });
    }
    sort::sort_by_key(&mut kept, order);
    kept.truncate(LONGEST);
    kept
}

/// Returns the name of the op that ended at `time`. If several ops ended at that time, returns the op that started
/// last, which is the innermost.
fn ended_at(trace: &Trace, device: &Device, time: Ps) -> String {
    let before = device.ops.partition_point(|&id| trace.events.get(id).is_some_and(|op| op.start < time));
    let ops = device.ops.iter().take(before).rev().filter_map(|&id| trace.events.get(id));
    let op = ops.into_iter().find(|op| op.end() == time);
    op.map(|op| trace.text(op.name).to_owned()).unwrap_or_default()
}

/// Returns the name of the op that started at `time`. If several ops started at that time, returns the longest, which
/// is the outermost.
fn started_at(trace: &Trace, device: &Device, time: Ps) -> String {
    let first = device.ops.partition_point(|&id| trace.events.get(id).is_some_and(|op| op.start < time));
    let op = device.ops.get(first).and_then(|&id| trace.events.get(id)).filter(|op| op.start == time);
    op.map(|op| trace.text(op.name).to_owned()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use trace::TraceBuilder;

    /// ```text
    /// us      0    10   19    29        128       1128
    /// TPU:0   [a   )    [b    )         [c)       [d)
    ///           [e)        (nested: makes no gap)
    /// gaps         9          99           1000
    /// ```
    #[test]
    fn gaps_are_between_unions_and_in_the_right_buckets() {
        let mut b = TraceBuilder::new();
        let line = b.line("/device:TPU:0", "XLA Ops");
        for (name, start, length) in
            [("a", 0, 10), ("e", 2, 3), ("b", 19, 10), ("c", 128, 2), ("d", 1130, 5), ("f", 1145, 5)]
        {
            b.event(line, name, start, length);
        }
        let trace = b.build();
        let devices = Devices::of(&trace);
        let analysis = timeline_analysis(&trace, &devices).unwrap();
        let gaps = &analysis.gaps;
        assert_eq!((gaps.total_gaps, gaps.total_gap_time_us), (4, 1118.0));
        assert_eq!(
            (gaps.gaps_under_10us, gaps.gaps_10_100us, gaps.gaps_100_1000us, gaps.gaps_over_1000us),
            (1, 2, 0, 1)
        );
        assert_eq!((gaps.max_gap_us, gaps.avg_gap_us), (Some(1000.0), Some(279.5)));
        assert_eq!(gaps.gap_time_percent, 100.0 * 1118.0 / 1150.0);
        let first = analysis.longest_gaps.first().unwrap();
        assert_eq!((first.after.as_str(), first.before.as_str(), first.start_us), ("c", "d", 130.0));
        let lengths: Vec<f64> = analysis.longest_gaps.iter().map(|gap| gap.duration_us).collect();
        assert_eq!(lengths, [1000.0, 99.0, 10.0, 9.0]);
    }

    #[test]
    fn gaps_of_one_device_are_not_filled_by_another() {
        let mut b = TraceBuilder::new();
        for device in 0..2 {
            let line = b.line(&format!("/device:GPU:{device}"), "Stream #1(Compute)");
            b.event(line, "k", device * 50, 50);
            b.event(line, "k", 100 + device * 50, 50);
        }
        let trace = b.build();
        let analysis = timeline_analysis(&trace, &Devices::of(&trace)).unwrap();
        assert_eq!((analysis.gaps.total_gaps, analysis.gaps.total_gap_time_us), (2, 100.0));
        assert_eq!(timeline_analysis(&Trace::default(), &Devices::of(&Trace::default())), None);
    }
}
