//! Table of the events in an area of the timeline, one row per event.

use crate::record::{Made, TableRecord};
use timeline::process_name;
use timeline::statistics::{self, ListedEvent};

use super::area::AreaOf;
use table::{CellRef, Column, Rows, Unit, column, columns};
use trace::{Event, EventId, Interval, Trace};

pub(super) const TABLE: TableRecord =
    TableRecord::new("events", || columns(&COLUMNS), Made::Area(|area, _, _| Box::new(EventRows::new(area))));

/// Event with the data for its cells.
pub(super) struct EventRow<'a> {
    rows: &'a EventRows<'a>,
    listed: &'a ListedEvent,
    event: Event,
    /// Time that the event occupies on its line.
    at: Interval,
}

type CellOf = for<'t> fn(&EventRow<'t>) -> CellRef<'t>;

pub(super) static COLUMNS: [(Column, CellOf); 7] = [
    (column("line", "Line", Unit::Text, "Line of the event: a stream of a device, or a thread of a host."), |it| {
        let trace = it.rows.of.source.trace;
        trace.lines.get(it.event.line.index()).map_or(CellRef::Absent, |line| CellRef::text(trace.text(line.name)))
    }),
    (
        column(
            "process",
            "Process",
            Unit::Text,
            "Device or host of the line, as named in the file. Prefixed with the name of its host if the run has \
             several hosts.",
        ),
        |it| it.rows.processes.get(it.event.line.index()).map_or(CellRef::Absent, |name| CellRef::text(name)),
    ),
    (column("name", "Name", Unit::Text, "Its name."), |it| CellRef::text(it.rows.of.source.trace.text(it.event.name))),
    (
        column("start_us", "Start", Unit::TimeUs, "Start of the event, as time since the start of the capture.")
            .caveat("An event that crosses an edge of the range keeps its own start."),
        |it| CellRef::Float((it.at.start - it.rows.of.origin).as_us()),
    ),
    (
        column(
            "duration_us",
            "Duration",
            Unit::TimeUs,
            "Full duration of the event in the file, even if it crosses an edge of the range.",
        )
        .caveat("For an op of XLA's CPU backend, the time during which the op occupies its thread."),
        |it| CellRef::Float(it.at.length().as_us()),
    ),
    (
        column(
            "self_us",
            "Self time",
            Unit::TimeUs,
            "Part of the duration during which no event that started later runs on the same line. Covers the whole \
                event, including the parts outside the range.",
        )
        .caveat("If events start together, the shorter one is treated as the later one."),
        |it| CellRef::Float(it.listed.self_time.as_us()),
    ),
    (
        column(
            "depth",
            "Depth",
            Unit::Count,
            "Number of events on the line that contain the event. 0 if there are none.",
        )
        .caveat("Events that overlap without nesting have the same depth."),
        |it| CellRef::Int(u64::from(it.listed.depth)),
    ),
];

/// Events of an area, sorted by start, then by duration (longest first), then by line.
pub(super) struct EventRows<'a> {
    of: AreaOf<'a>,
    events: Vec<ListedEvent>,
    /// Name of the process of each line.
    processes: Vec<String>,
    columns: Vec<Column>,
}

impl<'a> EventRows<'a> {
    pub(crate) fn new(of: AreaOf<'a>) -> EventRows<'a> {
        let trace: &Trace = of.source.trace;
        let process =
            |line| trace.plane_of(line).map_or(String::new(), |plane| process_name(trace, plane).into_owned());
        let processes = trace.lines.iter().map(process).collect();
        EventRows { events: statistics::events(of.source, &of.area), of, processes, columns: columns(&COLUMNS) }
    }

    /// Returns the event of a row.
    pub(crate) fn event(&self, row: u32) -> Option<EventId> {
        self.events.get(row as usize).map(|listed| listed.id)
    }
}

impl Rows for EventRows<'_> {
    fn name(&self) -> &'static str {
        "events"
    }

    fn columns(&self) -> &[Column] {
        &self.columns
    }

    fn len(&self) -> usize {
        self.events.len()
    }

    fn cell(&self, row: usize, column: usize) -> CellRef<'_> {
        let (Some(listed), Some((_, cell))) = (self.events.get(row), COLUMNS.get(column)) else {
            return CellRef::Absent;
        };
        let trace = self.of.source.trace;
        let known = trace.events.get(listed.id).zip(trace.occupied(listed.id));
        known.map_or(CellRef::Absent, |(event, (_, at))| cell(&EventRow { rows: self, listed, event, at }))
    }
}
