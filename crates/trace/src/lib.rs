//! Data model of a profile. The model consists of planes (devices and hosts), their lines (streams, threads), and the
//! events on the lines, which are stored in columns.
//!
//! Every input format is decoded into a [`Trace`], and all later code reads only the trace. The terms come from the
//! XPlane format: a *plane* is a device or a host (a process in a Chrome trace), and a *line* is one row of a plane (a
//! thread).

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
mod index;
mod interval;
mod kinds;
mod marks;
mod merge;
mod packed;
pub mod snapshot;
mod strings;

pub use args::{Args, ArgsId, ArgsTable, MemoryBytes, NumberArg, TextArg, instruction_name};
pub use blocks::{in_blocks, in_blocks_mut};
pub use builder::TraceBuilder;
pub use by_line::{ByLine, LineEvents};
pub use chip_clock::{ChipClock, ChipClocks, ChipTime};
pub use classify::{LineKind, PlaneKind, classify, is_gpu_cat, is_op_cat, plane_kind};
pub use column::SparseColumn;
pub use cpu_ops::{CpuOps, END_MARKER};
pub use event_columns::{ColumnValues, EventColumn, Holds, POOL_CONTEXT};
pub use event_id::{EventId, EventIds};
pub use event_stat::EventStat;
pub use events::{Event, Events, RowBlock};
pub use index::Numbering;
pub use interval::{Interval, IntervalSet, Union};
pub use kinds::EventKind;
pub use marks::{CounterTrack, FlowBinding, FlowPoint, FlowRole, Instant, InstantScope};
pub use merge::merge;
pub use report::{Framework, Platform, SourceFormat, Words};
pub use strings::{StrId, Strings};

use std::sync::Arc;

use base::{Ps, Warning};

/// Index into [`Trace::planes`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PlaneId(pub(crate) u32);

impl PlaneId {
    /// Returns the index into [`Trace::planes`].
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// Index into [`Trace::lines`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LineId(pub(crate) u32);

impl LineId {
    /// Returns the index into [`Trace::lines`].
    pub fn index(self) -> usize {
        self.0 as usize
    }

    /// Returns the index of the line in 32 bits, for large tables.
    pub fn get(self) -> u32 {
        self.0
    }
}

/// Value of a stat of a plane. It comes from a stat of the plane in an xplane file, or from a label of the process in a
/// JSON trace.
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
    /// Name of the plane, as in the file (`/device:TPU:0`).
    pub name: StrId,
    /// Kind of the plane.
    pub kind: PlaneKind,
    /// Index of the host (input file) that the plane belongs to, if the run has several hosts.
    pub host: u16,
    /// Key that sorts planes for display (ascending), if the file contains it (`process_sort_index`).
    pub order: Option<i64>,
    /// `(name, value)` of each stat of the plane, in file order.
    pub stats: Vec<(StrId, StatValue)>,
    /// Alignment between the plane's own clock, which its events use, and the host's clock. `None` if the file contains
    /// only event times.
    pub clock: Option<ChipClock>,
}

/// One row of a plane.
#[derive(Clone, Debug, Default)]
pub struct Line {
    /// Plane that the line belongs to.
    pub plane: PlaneId,
    /// Name of the line, as in the file (`XLA Ops`, `Stream #13(Compute)`, `python`).
    pub name: StrId,
    /// Kind of the line. See [`classify()`].
    pub kind: LineKind,
    /// Number of the line in the file: the `tid` of a Chrome trace, or the line id in an xplane file.
    pub id: Option<i64>,
    /// Number that the profiler displays for the line, if an xplane file contains it (`display_id`).
    pub display_id: Option<i64>,
    /// Key that sorts the lines of a plane for display (ascending), if the file contains it (`thread_sort_index`).
    pub order: Option<i64>,
    /// Time that the file's event times on this line are relative to, or [`Ps::ZERO`] if they need no offset.
    pub start: Ps,
}

/// A compiled module that a file contains.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HloProto {
    /// Id of the program, to which events refer ([`Args::program_id`]).
    pub program_id: i64,
    /// Name of the module, including the program id: `jit_f(12190760917235803885)`.
    pub name: StrId,
    /// Index of the host whose file contains the module.
    pub host: u16,
    /// The `xla.HloProto` message. The crate `hlo` decodes these bytes on demand.
    pub bytes: Arc<[u8]>,
}

/// An earlier stage of a program's compilation, from an XLA dump. [`Trace::hlo`] contains the last stage.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EarlierStage {
    /// Name of the stage, taken from the name of the file: `before_optimizations`.
    pub stage: StrId,
    /// The program at this stage, with the id and the name of its last stage.
    pub program: HloProto,
}

/// Times of the capture.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Capture {
    /// Offset in nanoseconds to add to times of the trace to get times on the file's own clock. The offset is the
    /// anchor if the file uses absolute times, and otherwise zero.
    pub anchor_ns: i64,
    /// Unix time at which the profiler started, in nanoseconds.
    pub start_unix_ns: Option<i64>,
    /// Unix time at which the capture stopped, in nanoseconds.
    pub stop_unix_ns: Option<i64>,
}

impl Capture {
    /// Returns the Unix time of the trace's zero, in nanoseconds. Zero is the anchor if the file's clock is absolute,
    /// and otherwise the start of the capture.
    pub fn zero_unix_ns(self) -> Option<i64> {
        if self.anchor_ns != 0 { Some(self.anchor_ns) } else { self.start_unix_ns }
    }

    /// Returns the capture with its times converted to another clock. The capture was timed by a clock that is
    /// `ahead_ns` ahead of the other clock.
    pub fn by_clock_behind(self, ahead_ns: i64) -> Capture {
        let moved = |ns: i64| ns.saturating_sub(ahead_ns);
        Capture {
            // A file that counts from 0 has no clock to adjust.
            anchor_ns: if self.anchor_ns == 0 { 0 } else { moved(self.anchor_ns) },
            start_unix_ns: self.start_unix_ns.map(moved),
            stop_unix_ns: self.stop_unix_ns.map(moved),
        }
    }
}

/// Events of one run, from one or several hosts.
#[derive(Clone, Debug, Default)]
pub struct Trace {
    /// Format that the trace was read from. `None` until data was read.
    pub format: Option<SourceFormat>,
    /// The framework that produced the trace.
    pub framework: Framework,
    /// All texts of the trace.
    pub strings: Strings,
    /// Devices and hosts, in file order.
    pub planes: Vec<Plane>,
    /// Lines of the planes, in file order.
    pub lines: Vec<Line>,
    /// Distinct sets of event arguments.
    pub args: ArgsTable,
    /// Events with a duration, in file order.
    pub events: Events,
    /// Values over time, from the counters in the file.
    pub counters: Vec<CounterTrack>,
    /// Instants (events without a duration), in file order.
    pub instants: Vec<Instant>,
    /// Points of the flows (links between events), in file order.
    pub flows: Vec<FlowPoint>,
    /// Times of the capture.
    pub capture: Capture,
    /// Number of complete (`X`) events in the file, including omitted events. This number shows whether the writer
    /// reached its limit.
    pub complete_events: u64,
    /// HLO of the compiled modules that the file contains. A Chrome trace contains no HLO.
    pub hlo: Vec<HloProto>,
    /// Earlier stages of the programs in `hlo`, starting with the first stage. Only XLA dumps contain earlier stages.
    pub earlier_stages: Vec<EarlierStage>,
    /// Names of the run's hosts. [`Plane::host`] is an index into this list.
    pub hosts: Vec<String>,
    /// Relations between the ops of XLA's CPU backend. `None` until the relations are computed.
    pub cpu_ops: Option<CpuOps>,
    /// Omitted events: events of the file that have no time, or whose time is far from all others. Each entry is the id
    /// of the event that took the place of an omitted event. Entries ascend. [`Trace::file_index`] includes the omitted
    /// events.
    pub far_off: Vec<EventId>,
    /// Problems found while the trace was read.
    pub warnings: Vec<Warning>,
    /// Clocks of the devices, used while the trace is read.
    pub clocks: ChipClocks,
}

impl Trace {
    /// Appends a plane. Returns `None` if the trace already has as many planes as there are 32-bit ids.
    pub fn add_plane(&mut self, plane: Plane) -> Option<PlaneId> {
        let id = u32::try_from(self.planes.len()).map(PlaneId).ok()?;
        self.planes.push(plane);
        Some(id)
    }

    /// Appends a line. Returns `None` if the trace already has as many lines as there are 32-bit ids.
    pub fn add_line(&mut self, line: Line) -> Option<LineId> {
        let id = u32::try_from(self.lines.len()).map(LineId).ok()?;
        self.lines.push(line);
        Some(id)
    }

    /// Returns the id of the line at an index of [`Trace::lines`].
    pub fn line_id(&self, index: usize) -> Option<LineId> {
        self.lines.get(index).and_then(|_| u32::try_from(index).ok()).map(LineId)
    }

    /// Returns the id of the plane at an index of [`Trace::planes`].
    pub fn plane_id(&self, index: usize) -> Option<PlaneId> {
        self.planes.get(index).and_then(|_| u32::try_from(index).ok()).map(PlaneId)
    }

    /// Returns the ids of all lines, in order.
    pub fn line_ids(&self) -> impl Iterator<Item = LineId> + use<> {
        (0..u32::try_from(self.lines.len()).unwrap_or(u32::MAX)).map(LineId)
    }

    /// Returns the source file and line for events with these arguments. The file and line come from the innermost
    /// frame of the call stack that is not in a library. If the call stack has no such frame, returns the recorded
    /// source line. See [`base::source_line`].
    pub fn source(&self, args: &Args) -> &str {
        base::source_line::own(self.text(args.source_stack)).unwrap_or_else(|| self.text(args.source))
    }

    /// Returns the text of a handle.
    pub fn text(&self, id: StrId) -> &str {
        self.strings.get(id)
    }

    /// Returns the plane of a line.
    pub fn plane_of(&self, line: &Line) -> Option<&Plane> {
        self.planes.get(line.plane.index())
    }

    /// Returns the index of an event in its own file. `first` is this trace's first event from that file. The index
    /// includes omitted events, because a decoder that reads the file again numbers them too.
    pub fn file_index(&self, first: EventId, event: EventId) -> Option<u32> {
        let before = |event: EventId| self.far_off.partition_point(|place| *place < event);
        let left_out = before(EventId(event.0.checked_add(1)?)).checked_sub(before(first))?;
        event.0.checked_sub(first.0)?.checked_add(u32::try_from(left_out).ok()?)
    }

    /// Returns the arguments of an event.
    pub fn args_of(&self, event: &Event) -> Args {
        self.args.get(event.args)
    }

    /// Returns the value of the plane's stat with this name.
    pub fn plane_stat(&self, plane: &Plane, name: &str) -> Option<StatValue> {
        let name = self.strings.find(name)?;
        plane.stats.iter().find(|(key, _)| *key == name).map(|&(_, value)| value)
    }
}
