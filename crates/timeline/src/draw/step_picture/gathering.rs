//! Selects the lines of a device for the picture of a step, and turns the events of the lines into marks.

use base::{Ps, sort};
use metrics::Device;
use trace::{Interval, LineId, LineKind};

use crate::events::lane::Lane;
use crate::events::source::Source;

/// Maximum number of lines in the picture. If there are more lines, the busiest lines are shown.
const MOST_LINES: usize = 5;
/// Maximum number of lanes per line. Events in deeper lanes are nested in events that are shown.
const MOST_LANES_OF_LINE: usize = 3;
/// An inner lane is shown only if it is busy for at least `1 / LEAST_SHARE` of the step.
const LEAST_SHARE: i64 = 50;
/// Maximum total number of lanes in the picture.
const MOST_LANES: usize = 8;

/// A mark that may still be merged with its neighbours.
#[derive(Clone, Copy, Debug)]
pub(super) struct Gathered {
    pub time: Interval,
    /// Time within the mark during which the lane is busy.
    pub busy: Ps,
    /// Kind of the longest event in the mark.
    pub kind: usize,
    pub longest: Ps,
    /// True if the mark is so short that it may be merged with its neighbours.
    pub is_short: bool,
}

/// Returns the lanes of the device's busiest lines that contain ops, in file order. Each lane has the name of its line.
/// Events shorter than `finest` are merged.
pub(super) fn lanes(source: Source<'_>, device: &Device, range: Interval, finest: Ps) -> Vec<(String, Vec<Gathered>)> {
    let trace = source.trace;
    // The ops of a CPU are on threads. Other threads of the same process only wait.
    let mut busy = vec![Ps::ZERO; trace.lines.len()];
    for &op in device.ops.iter() {
        let Some((kind, time)) = trace.occupied(op) else { continue };
        let line = trace.events.kinds().get(kind).map(|kind| kind.line.index());
        if let Some((busy, time)) = line.and_then(|line| busy.get_mut(line)).zip(time.clip(range)) {
            *busy += time.length();
        }
    }
    let mut lines: Vec<(Ps, LineId)> = Vec::new();
    for (line, of, _) in source.by_line.lines_of(trace, device.plane) {
        let Some(id) = trace.line_id(line) else { continue };
        let busy = match of.kind {
            LineKind::AsyncOps => source.lanes(id).first().map_or(Ps::ZERO, |lane| lane.covered_in(trace, range)),
            _ => busy.get(line).copied().unwrap_or_default(),
        };
        if busy > Ps::ZERO {
            lines.push((busy, id));
        }
    }
    let mut times: Vec<i64> = lines.iter().map(|(busy, _)| busy.as_ps()).collect();
    sort::numbers(&mut times);
    let least = times.len().checked_sub(MOST_LINES).and_then(|at| times.get(at)).copied().unwrap_or(0);
    lines.retain(|(busy, _)| busy.as_ps() >= least);
    let mut shown = Vec::new();
    for (_, line) in lines.into_iter().take(MOST_LINES) {
        let name = trace.lines.get(line.index()).map_or("", |line| trace.text(line.name));
        let mut name = base::format::printable(name);
        for (depth, lane) in source.lanes(line).iter().enumerate().take(MOST_LANES_OF_LINE) {
            let is_busy = lane.covered_in(trace, range).as_ps() > range.length().as_ps() / LEAST_SHARE;
            if shown.len() == MOST_LANES || depth > 0 && !is_busy {
                continue;
            }
            let marks = merged(&mut events(source, lane, range), finest);
            if !marks.is_empty() {
                shown.push((std::mem::take(&mut name), marks));
            }
        }
    }
    shown
}

/// Returns the events of a lane, clipped to a range. Events of length 0 are left out.
pub(super) fn events<'a>(source: Source<'a>, lane: &'a Lane, range: Interval) -> impl Iterator<Item = Gathered> + 'a {
    let first = lane.first_from(source.trace, range.start);
    let found = (first..lane.len()).map_while(move |place| source.event(lane.event(place)?));
    let found = found.take_while(move |(_, _, time)| time.start < range.end);
    let part = move |(kind, _, time): (usize, _, Interval)| {
        let time = time.clip(range).filter(|time| time.length() > Ps::ZERO)?;
        Some(Gathered { time, busy: time.length(), kind, longest: time.length(), is_short: false })
    };
    found.filter_map(part)
}

/// Merges marks shorter than `finest` that start within `finest` of each other.
pub(super) fn merged(marks: &mut dyn Iterator<Item = Gathered>, finest: Ps) -> Vec<Gathered> {
    let mut merged: Vec<Gathered> = Vec::new();
    for mark in marks {
        let is_short = mark.time.length() < finest;
        match merged.last_mut() {
            Some(last) if is_short && last.is_short && mark.time.start < last.time.start + finest => {
                last.time.end = mark.time.end;
                last.busy += mark.busy;
                if mark.longest > last.longest {
                    (last.kind, last.longest) = (mark.kind, mark.longest);
                }
            }
            _ => merged.push(Gathered { is_short, ..mark }),
        }
    }
    merged
}
