//! A profile in memory: planes (devices and hosts), their lines (streams, threads) and the events on them, in columns.
//!
//! Every input format is decoded into a [`Trace`]; everything downstream reads only this. The vocabulary is the
//! XPlane's: a *plane* is a device or a host (a Chrome trace's process), a *line* is one row of it (a thread).

#![warn(clippy::indexing_slicing, clippy::panic, clippy::unwrap_used)]

mod align;
mod args;
mod blocks;
mod builder;
mod by_line;
mod chip_clock;
mod classify;
mod column;
pub mod copies;
mod cpu_ops;
mod event_columns;
mod event_id;
mod event_stat;
mod events;
mod framework;
mod index;
mod interval;
mod kinds;
mod marks;
mod merge;
mod packed;
pub mod snapshot;
mod strings;

pub use args::{Args, ArgsId, ArgsTable, MemoryBytes, NumberArg, TextArg};
pub use blocks::{in_blocks, in_blocks_mut};
pub use builder::TraceBuilder;
pub use by_line::{ByLine, LineEvents};
pub use chip_clock::{ChipClock, ChipClocks, ChipTime};
pub use classify::{LineKind, PlaneKind, Platform, classify, is_gpu_cat, is_op_cat, plane_kind};
pub use column::SparseColumn;
pub use cpu_ops::{CpuOps, END_MARKER};
pub use event_columns::{ColumnValues, EventColumn, Holds, POOL_CONTEXT};
pub use event_id::{EventId, EventIds};
pub use event_stat::EventStat;
pub use events::{Event, Events, RowBlock};
pub use framework::{Framework, Words};
pub use interval::{Interval, IntervalSet, Union};
pub use kinds::EventKind;
pub use marks::{CounterTrack, FlowBinding, FlowPoint, FlowRole, Instant, InstantScope};
pub use merge::merge;
pub use strings::{StrId, Strings};

use std::sync::Arc;

use base::{Ps, Warning};

/// Index into [`Trace::planes`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PlaneId(pub(crate) u32);

impl PlaneId {
    /// Index into [`Trace::planes`].
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// Index into [`Trace::lines`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LineId(pub(crate) u32);

impl LineId {
    /// Index into [`Trace::lines`].
    pub fn index(self) -> usize {
        self.0 as usize
    }

    /// Index of the line in 32 bits, for tables with many of them.
    pub fn get(self) -> u32 {
        self.0
    }
}

/// Where a trace came from: decides what its numbers can know.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SourceFormat {
    /// `*.xplane.pb`: what the profiler recorded.
    XPlane,
    /// Chrome trace JSON: a lossy export.
    ChromeJson,
}

/// A value that a plane says of itself (XPlane plane stats; a process label in JSON).
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum StatValue {
    /// A whole number.
    Int(i64),
    /// A real number.
    Double(f64),
    /// Text.
    Text(StrId),
}

/// A device or a host.
#[derive(Clone, Debug, Default)]
pub struct Plane {
    /// Name of the plane as in the file (`/device:TPU:0`).
    pub name: StrId,
    /// Kind of the plane.
    pub kind: PlaneKind,
    /// Index of the host (input file) it belongs to, where a run has several.
    pub host: u16,
    /// Place of the plane among those on display, ascending, where the file gives one (`process_sort_index`).
    pub order: Option<i64>,
    /// `(name, value)` of the plane's stats, in file order.
    pub stats: Vec<(StrId, StatValue)>,
    /// How the plane's own clock, which its events are on, lies against the host's; `None` where the file gives event
    /// times only.
    pub clock: Option<ChipClock>,
}

/// One row of a plane.
#[derive(Clone, Debug, Default)]
pub struct Line {
    /// The plane it belongs to.
    pub plane: PlaneId,
    /// Name of the line as in the file (`XLA Ops`, `Stream #13(Compute)`, `python`).
    pub name: StrId,
    /// Kind of the line; see [`classify()`].
    pub kind: LineKind,
    /// Number of the line in the file: a Chrome trace's `tid`, an xplane's line id.
    pub id: Option<i64>,
    /// The number by which the profiler shows it, where an xplane gives one (`display_id`).
    pub display_id: Option<i64>,
    /// Place of the line among those of the plane on display, ascending, where the file gives one
    /// (`thread_sort_index`).
    pub order: Option<i64>,
    /// The time from which the file counts the times of its events; [`Ps::ZERO`] where they are counted as here.
    pub start: Ps,
}

/// A compiled module as the file embeds it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HloProto {
    /// The program that events name ([`Args::program_id`]).
    pub program_id: i64,
    /// Name of the module with the program's number: `jit_f(12190760917235803885)`.
    pub name: StrId,
    /// Index of the host whose file it stands in.
    pub host: u16,
    /// The `xla.HloProto` message; the crate `hlo` reads it when it is asked for.
    pub bytes: Arc<[u8]>,
}

/// Times of the capture itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Capture {
    /// Added to the trace's times to get the file's own clock, in nanoseconds: 0, or where the file uses absolute time, the anchor.
    pub anchor_ns: i64,
    /// Unix time at which the profiler started, in nanoseconds.
    pub start_unix_ns: Option<i64>,
    /// Unix time at which the capture stopped, in nanoseconds.
    pub stop_unix_ns: Option<i64>,
}

impl Capture {
    /// The capture by a clock that the one which timed it is ahead of.
    pub fn by_clock_behind(self, ahead_ns: i64) -> Capture {
        let moved = |ns: i64| ns.saturating_sub(ahead_ns);
        Capture {
            // A file that counts from 0 has no clock to be moved.
            anchor_ns: if self.anchor_ns == 0 { 0 } else { moved(self.anchor_ns) },
            start_unix_ns: self.start_unix_ns.map(moved),
            stop_unix_ns: self.stop_unix_ns.map(moved),
        }
    }
}

/// One run's events, from one host or several.
#[derive(Clone, Debug, Default)]
pub struct Trace {
    /// Format that the trace was read from; `None` while nothing was read.
    pub format: Option<SourceFormat>,
    /// Producer of the trace.
    pub framework: Framework,
    /// All text of the trace.
    pub strings: Strings,
    /// Devices and hosts in file order.
    pub planes: Vec<Plane>,
    /// Rows of the planes in file order.
    pub lines: Vec<Line>,
    /// Distinct argument sets of the events.
    pub args: ArgsTable,
    /// The events.
    pub events: Events,
    /// Values over time.
    pub counters: Vec<CounterTrack>,
    /// Moments without duration, in file order.
    pub instants: Vec<Instant>,
    /// Points of the links between events, in file order.
    pub flows: Vec<FlowPoint>,
    /// Clock of the capture.
    pub capture: Capture,
    /// Number of complete (`X`) events that the file holds, kept or not: the writer's cap is known by it.
    pub complete_events: u64,
    /// The HLO of compiled modules that the file embeds; a Chrome trace embeds none.
    pub hlo: Vec<HloProto>,
    /// Host names of the run, in the order of [`Plane::host`].
    pub hosts: Vec<String>,
    /// What the ops of XLA's CPU backend are to each other; `None` until that was looked for.
    pub cpu_ops: Option<CpuOps>,
    /// For each event that the file holds and that was left out, because it lies far from all others or has no time: the event that has its place,
    /// in ascending order. [`Trace::file_index`] counts them.
    pub far_off: Vec<EventId>,
    /// What was lost or odd while reading.
    pub warnings: Vec<Warning>,
    /// The clocks of devices while the trace is being read.
    pub clocks: ChipClocks,
}

impl Trace {
    /// Appends a plane; `None` where there are more than an id can tell apart.
    pub fn add_plane(&mut self, plane: Plane) -> Option<PlaneId> {
        let id = u32::try_from(self.planes.len()).map(PlaneId).ok()?;
        self.planes.push(plane);
        Some(id)
    }

    /// Appends a line; `None` where there are more than an id can tell apart.
    pub fn add_line(&mut self, line: Line) -> Option<LineId> {
        let id = u32::try_from(self.lines.len()).map(LineId).ok()?;
        self.lines.push(line);
        Some(id)
    }

    /// The line at an index of [`Trace::lines`].
    pub fn line_id(&self, index: usize) -> Option<LineId> {
        self.lines.get(index).and_then(|_| u32::try_from(index).ok()).map(LineId)
    }

    /// Ids of all lines, in order.
    pub fn line_ids(&self) -> impl Iterator<Item = LineId> + use<> {
        (0..u32::try_from(self.lines.len()).unwrap_or(u32::MAX)).map(LineId)
    }

    /// Source file and line of events with these arguments: the innermost frame of the call stack that is in no library, else what is stated; see
    /// [`base::source_line`].
    pub fn source(&self, args: &Args) -> &str {
        base::source_line::own(self.text(args.source_stack)).unwrap_or_else(|| self.text(args.source))
    }

    /// Text of a handle.
    pub fn text(&self, id: StrId) -> &str {
        self.strings.get(id)
    }

    /// The plane of a line.
    pub fn plane_of(&self, line: &Line) -> Option<&Plane> {
        self.planes.get(line.plane.index())
    }

    /// The index of an event in its own file, whose first event here is `first`. Events that were left out count: a decoder that reads the file
    /// again meets them too.
    pub fn file_index(&self, first: EventId, event: EventId) -> Option<u32> {
        let before = |event: EventId| self.far_off.partition_point(|place| *place < event);
        let left_out = before(EventId(event.0.checked_add(1)?)).checked_sub(before(first))?;
        event.0.checked_sub(first.0)?.checked_add(u32::try_from(left_out).ok()?)
    }

    /// Arguments of an event.
    pub fn args_of(&self, event: &Event) -> Args {
        self.args.get(event.args)
    }

    /// Value of a plane's stat by name.
    pub fn plane_stat(&self, plane: &Plane, name: &str) -> Option<StatValue> {
        let name = self.strings.find(name)?;
        plane.stats.iter().find(|(key, _)| *key == name).map(|&(_, value)| value)
    }
}
