//! Table of the events in steps, one row per event: every op and every idle time, with its part of the step.

use super::step_breakdown::{step_name, step_names};
use crate::record::{Made, TableRecord};
use crate::shown::{RowKey, Shown};
use base::Ps;
use metrics::{Analysis, Context, StepEvent, StepRow};
use table::{CellRef, Column, Rows, Unit, column, columns};
use trace::Trace;

pub(super) const TABLE: TableRecord = TableRecord {
    shown: Shown {
        leading: &["name", "device_name", "part", "hlo_op_name", "kernel_name", "before", "start_us", "time_us"],
        row_keys: &[RowKey::new("hlo_op_name", &["hlo_op_name", "before"])],
        ..Shown::WHOLE
    },
    ..TableRecord::new(
        "step-events",
        || columns(&COLUMNS),
        Made::Events(|context, form| Box::new(StepEventRows::new(context, form)), None),
    )
};

/// Event with the data for its cells.
pub(super) struct StepEventRow<'a> {
    rows: &'a StepEventRows<'a>,
    event: &'a StepEvent,
    of: &'a StepRow,
}

type CellOf = for<'t> fn(&StepEventRow<'t>) -> CellRef<'t>;

pub(super) static COLUMNS: [(Column, CellOf); 9] = [
    (column("step", "Position", Unit::Count, "Position of the step, from 0."), |it| {
        CellRef::int(it.of.step.map(u64::from))
    }),
    (
        column(
            "name",
            "Step",
            Unit::Text,
            "Number or name of the step in the trace, or its position if it has neither.",
        ),
        |it| step_name(&it.rows.step_names, it.of.step),
    ),
    (column("device_name", "Device", Unit::Text, "The device."), |it| {
        let device = it.rows.context.analysis.devices.used.get(it.of.device as usize);
        device.map_or(CellRef::Absent, |device| CellRef::text(&device.name))
    }),
    (
        column(
            "part",
            "Part",
            Unit::Text,
            "`compute`, `communication`, ..., `other_idle`: see the parts of \
             [step_breakdown](#step_breakdown).",
        ),
        |it| CellRef::Text(it.event.part.label()),
    ),
    (
        column(
            "hlo_op_name",
            "Op",
            Unit::Text,
            "HLO op that the event names, or the name of the event if it names no op.",
        )
        .caveat("Empty for idle time."),
        |it| if it.is_idle() { CellRef::Absent } else { it.names().0 },
    ),
    (column("kernel_name", "Kernel", Unit::Text, "Name of the event, if it also names an HLO op."), |it| {
        if it.is_idle() { CellRef::Absent } else { it.names().1 }
    }),
    (column("before", "Until", Unit::Text, "For idle time, the op that ended it."), |it| {
        if it.is_idle() { it.names().0 } else { CellRef::Absent }
    }),
    (
        column(
            "start_us",
            "Start",
            Unit::TimeUs,
            "Start of the event, as time since the start of the capture. For events that began before the step, the \
                start of the step.",
        )
        .caveat("Idle time with several causes has one row per cause, all with the same start."),
        |it| CellRef::Float((it.event.start - it.rows.origin).as_us()),
    ),
    (
        column("time_us", "Time", Unit::TimeUs, "Time of the event inside the step, without ops nested in it.")
            .caveat("Includes time that overlaps with an op on another stream."),
        |it| CellRef::Float(it.event.time.as_us()),
    ),
];

/// Maximum number of events of a device that are reported, because a capture may contain millions.
const MOST_EVENTS: usize = 200_000;

/// Events of some steps.
pub(crate) struct StepEventRows<'a> {
    context: Context<'a>,
    trace: &'a Trace,
    events: Vec<StepEvent>,
    step_names: Vec<String>,
    origin: Ps,
    columns: Vec<Column>,
}

impl<'a> StepEventRows<'a> {
    /// Creates the rows of the steps in `variant`, for example `3-5`. Any other text selects all steps.
    pub(crate) fn new(context: &Context<'a>, variant: &str) -> StepEventRows<'a> {
        let (trace, analysis) = (context.captured_trace(), context.analysis);
        let range = variant.split_once('-').and_then(|(first, last)| {
            let (first, last): (u32, u32) = (first.parse().ok()?, last.parse().ok()?);
            Some(first..=last)
        });
        let chosen = |step: Option<u32>| match (&range, step) {
            (Some(range), Some(step)) => range.contains(&step),
            _ => true,
        };
        let Analysis { step_breakdown, captured, hosts, calls, .. } = analysis;
        let events = step_breakdown.events(trace, captured, hosts, calls, &|row| chosen(row.step), MOST_EVENTS);
        let origin = analysis.devices.capture.map_or(Ps::ZERO, |capture| capture.start);
        let step_names = step_names(&context.profile.steps);
        StepEventRows { context: *context, trace, events, step_names, origin, columns: columns(&COLUMNS) }
    }
}

impl<'a> StepEventRow<'a> {
    fn is_idle(&self) -> bool {
        self.event.part.is_idle()
    }

    /// Returns the HLO op that the event belongs to, with the event's own name, or only its own name.
    fn names(&self) -> (CellRef<'a>, CellRef<'a>) {
        let trace = self.rows.trace;
        let Some(event) = self.event.op.and_then(|op| trace.events.get(op)) else {
            return (CellRef::Absent, CellRef::Absent);
        };
        let hlo_op = CellRef::text(trace.text(trace.args.get(event.args).hlo_op));
        let own = CellRef::text(trace.text(event.name));
        if hlo_op == CellRef::Absent { (own, CellRef::Absent) } else { (hlo_op, own) }
    }
}

impl Rows for StepEventRows<'_> {
    fn name(&self) -> &'static str {
        "step-events"
    }

    fn columns(&self) -> &[Column] {
        &self.columns
    }

    fn len(&self) -> usize {
        self.events.len()
    }

    fn cell(&self, row: usize, column: usize) -> CellRef<'_> {
        let (Some(event), Some((_, cell))) = (self.events.get(row), COLUMNS.get(column)) else {
            return CellRef::Absent;
        };
        let of = self.context.analysis.step_breakdown.rows.get(event.row as usize);
        of.map_or(CellRef::Absent, |of| cell(&StepEventRow { rows: self, event, of }))
    }
}
