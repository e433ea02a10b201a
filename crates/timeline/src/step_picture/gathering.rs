//! Which lines of a device a picture of its step shows, and the marks that their events become.

use base::{Ps, sort};
use metrics::Device;
use trace::{Interval, LineId, LineKind};

use crate::lane::Lane;
use crate::source::Source;

/// Lines that are shown: the busiest.
const MOST_LINES: usize = 5;
/// Lanes of a line that are shown: events that lie deeper are inside of what is shown.
const MOST_LANES_OF_LINE: usize = 3;
/// Lanes inside others are shown where they are busy for at least one part in this many of the step.
const LEAST_SHARE: i64 = 50;
/// Lanes that are shown, of all lines.
const MOST_LANES: usize = 8;

/// A mark while its neighbours are looked at.
#[derive(Clone, Copy, Debug)]
pub struct Gathered {
    /// From the start of the mark's first event to the end of its last.
    pub time: Interval,
    /// How much of the mark is busy.
    pub busy: Ps,
    /// The kind of the longest event.
    pub kind: usize,
    /// Length of the longest event.
    pub longest: Ps,
    /// Whether the mark may take in its neighbours.
    pub is_short: bool,
}

/// The lanes of the busiest lines with ops of a device, each with the name of its line, in the order of the file. Events shorter
/// than `finest` are merged.
pub fn lanes(source: Source<'_>, device: &Device, range: Interval, finest: Ps) -> Vec<(String, Vec<Gathered>)> {
    let trace = source.trace;
    // A CPU's ops are on threads, beside which others only wait.
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

/// The parts of a lane's events in a range; moments are none.
pub fn events<'a>(source: Source<'a>, lane: &'a Lane, range: Interval) -> impl Iterator<Item = Gathered> + 'a {
    let first = lane.first_from(source.trace, range.start);
    let found = (first..lane.len()).map_while(move |place| source.event(lane.event(place)?));
    let found = found.take_while(move |(_, _, time)| time.start < range.end);
    let part = move |(kind, _, time): (usize, _, Interval)| {
        let time = time.clip(range).filter(|time| time.length() > Ps::ZERO)?;
        Some(Gathered { time, busy: time.length(), kind, longest: time.length(), is_short: false })
    };
    found.filter_map(part)
}

/// The marks with those shorter than `finest` merged where they begin within `finest` of each other.
pub fn merged(marks: &mut dyn Iterator<Item = Gathered>, finest: Ps) -> Vec<Gathered> {
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
