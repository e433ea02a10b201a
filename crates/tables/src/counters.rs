//! Counters in an area of the timeline, with their values in a range of time.

use base::Ps;
use timeline::statistics::{Area, counter_in};
use timeline::{Origin, process_name};
use trace::{CounterTrack, Interval, Trace};

use super::area::{AreaOf, AreaQuery, LineQuery, NAME};
use table::{Cell, Column, Table, Unit, column};

/// Columns that only the form by counter has.
pub(super) const COLUMNS: [Column; 7] = [
    column("process", "Process", Unit::Text, "Device or host that the counter belongs to."),
    column("samples", "Samples", Unit::Count, "Number of samples of the counter in the range."),
    column(
        "mean_value",
        "Mean value",
        Unit::Number,
        "Time-weighted mean of the counter: each sample is valid until the next one.",
    )
    .caveat("Covers the range from the first sample on. The file does not record the counter's unit."),
    column("min_value", "Smallest value", Unit::Number, "Smallest value in the range."),
    column("max_value", "Largest value", Unit::Number, "Largest value in the range."),
    column(
        "first_value",
        "First value",
        Unit::Number,
        "Value at the start of the range. If the counter has no value yet, its first value in the range.",
    ),
    column("last_value", "Last value", Unit::Number, "Value just before the end of the range."),
];

/// Lists the counters with a value in the range: first the counters of the file, in file order, then the derived counters.
pub(super) fn table(of: &AreaOf<'_>, asked: &AreaQuery) -> Table {
    let row = |(trace, track): (&Trace, &CounterTrack)| {
        let values = counter_in(track, range_of(of, track))?;
        let process = trace.planes.get(track.plane.index()).map(|plane| process_name(trace, plane).into_owned());
        let numbers = [values.mean, values.min, values.max, values.first, values.last];
        let mut row = vec![Cell::Text(trace.text(track.name).to_owned()), process.map_or(Cell::Absent, Cell::Text)];
        row.push(Cell::Int(values.samples));
        row.extend(numbers.map(Cell::Float));
        Some(row)
    };
    Table::new("range", std::iter::once(NAME).chain(COLUMNS).collect(), counters(of, asked).filter_map(row).collect())
}

fn counters<'a>(of: &'a AreaOf<'a>, asked: &'a AreaQuery) -> impl Iterator<Item = (&'a Trace, &'a CounterTrack)> {
    let lines = || of.area.lines.iter().filter_map(|line| of.source.trace.lines.get(line.index()));
    let is_meant = move |origin: Origin, place: u32, track: &CounterTrack| match (&asked.counters, &asked.lines) {
        (Some(chosen), _) => chosen.contains(&(origin, place)),
        (None, LineQuery::All) => true,
        (None, _) => lines().any(|line| line.plane.index() == track.plane.index()),
    };
    [Origin::Captured, Origin::Derived].into_iter().flat_map(move |origin| {
        let trace = of.timeline.source(of.context, origin).trace;
        let meant = (0..).zip(&trace.counters).filter(move |&(place, track)| is_meant(origin, place, track));
        meant.map(move |(_, track)| (trace, track))
    })
}

/// Returns the range for a counter. An open edge is replaced by the edge of the capture, or by the first or last sample of the
/// counter if its samples extend beyond the capture.
fn range_of(of: &AreaOf<'_>, track: &CounterTrack) -> Interval {
    let (asked, open) = (of.area.range, Area::EVERYTHING);
    let capture = of.source.by_line.extent.unwrap_or(Interval::new(of.origin, of.origin));
    let begins = track.times.first().map_or(capture.start, |first| capture.start.min(*first));
    let ends = track.times.last().map_or(capture.end, |last| capture.end.max(*last + Ps::new(1)));
    let start = if asked.start == open.start { begins } else { asked.start };
    Interval::new(start, if asked.end == open.end { ends } else { asked.end })
}
