//! What happened in steps, one by one: every op and every idle time, with the part of the step that it is.

use crate::table::{CellRef, Column, Rows, Unit};
use base::Ps;
use metrics::{Analysis, Context, StepEvent};
use trace::{EventId, Trace};

const fn column(key: &'static str, title: &'static str, unit: Unit) -> Column {
    Column { key, title, unit }
}

const COLUMNS: [Column; 8] = [
    column("step", "Step", Unit::Count),
    column("device_name", "Device", Unit::Text),
    column("part", "Part", Unit::Text),
    column("hlo_op_name", "Op", Unit::Text),
    column("kernel_name", "Kernel", Unit::Text),
    column("before", "Until", Unit::Text),
    column("start_us", "Start", Unit::TimeUs),
    column("time_us", "Time", Unit::TimeUs),
];

/// Events of a device that are reported: no one reads more, and a capture may hold millions.
const MOST_EVENTS: usize = 200_000;

/// The events of some steps.
pub struct StepEventRows<'a> {
    context: Context<'a>,
    trace: &'a Trace,
    events: Vec<StepEvent>,
    origin: Ps,
}

impl<'a> StepEventRows<'a> {
    /// Of the steps of `variant`, `3-5`; of all for any other text.
    pub fn new(context: &Context<'a>, variant: &str) -> StepEventRows<'a> {
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
        StepEventRows { context: *context, trace, events, origin }
    }

    /// The HLO op that an event says to be of, else its own name; beside the former its own name.
    fn names(&self, op: Option<EventId>) -> (CellRef<'_>, CellRef<'_>) {
        let Some(event) = op.and_then(|op| self.trace.events.get(op)) else {
            return (CellRef::Absent, CellRef::Absent);
        };
        let hlo_op = CellRef::text(self.trace.text(self.trace.args.get(event.args).hlo_op));
        let own = CellRef::text(self.trace.text(event.name));
        if hlo_op == CellRef::Absent { (own, CellRef::Absent) } else { (hlo_op, own) }
    }
}

impl Rows for StepEventRows<'_> {
    fn name(&self) -> &'static str {
        "step-events"
    }

    fn columns(&self) -> &[Column] {
        &COLUMNS
    }

    fn len(&self) -> usize {
        self.events.len()
    }

    fn cell(&self, row: usize, column: usize) -> CellRef<'_> {
        let analysis = self.context.analysis;
        let Some(event) = self.events.get(row) else { return CellRef::Absent };
        let Some(of) = analysis.step_breakdown.rows.get(event.row as usize) else { return CellRef::Absent };
        let is_idle = event.part.is_idle();
        match COLUMNS.get(column).map_or("", |column| column.key) {
            "step" => CellRef::int(of.step.map(u64::from)),
            "device_name" => {
                let device = analysis.devices.used.get(of.device as usize);
                device.map_or(CellRef::Absent, |device| CellRef::text(&device.name))
            }
            "part" => CellRef::Text(event.part.label()),
            "hlo_op_name" if !is_idle => self.names(event.op).0,
            "kernel_name" if !is_idle => self.names(event.op).1,
            "before" if is_idle => self.names(event.op).0,
            "start_us" => CellRef::Float((event.start - self.origin).as_us()),
            "time_us" => CellRef::Float(event.time.as_us()),
            _ => CellRef::Absent,
        }
    }
}
