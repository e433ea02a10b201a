//! Marks of a trace: counters, instants, flows and the display order of threads. Marks wait until the anchor and all
//! threads are known.
//!
//! Marks neither affect the anchor nor add planes or lines, so no metric depends on them.

use hashbrown::HashMap;
use rustc_hash::FxBuildHasher;

use super::id::Id;
use super::number::Time;
use trace::{FlowPoint, StrId};

/// Marks that wait until they can be added to the trace.
#[derive(Debug, Default)]
pub(super) struct Marks {
    /// Counter tracks, in the order of their first sample.
    pub tracks: Vec<WaitingTrack>,
    /// Index of each counter track. The key consists of the process, the counter's name and id, and the name of the
    /// series.
    pub track_of: HashMap<(Id, StrId, Id, StrId), usize, FxBuildHasher>,
    pub instants: Vec<WaitingInstant>,
    pub flows: Vec<WaitingFlowPoint>,
    /// Number of each flow. The key consists of the process (only if the id is local to a process), the category, the
    /// name and the id.
    pub flow_of: HashMap<(Option<Id>, StrId, StrId, Id), u32, FxBuildHasher>,
    /// `thread_sort_index` of threads.
    pub orders: Vec<(Id, Id, i64)>,
}

/// One series of a counter.
#[derive(Debug)]
pub(super) struct WaitingTrack {
    pub pid: Id,
    pub name: StrId,
    pub samples: Vec<(Time, f64)>,
}

/// An instant event that waits for the anchor and its thread.
#[derive(Debug)]
pub(super) struct WaitingInstant {
    /// `g` for the whole trace, `p` for a process, and any other letter for a thread.
    pub scope: u8,
    pub pid: Id,
    pub tid: Id,
    pub name: StrId,
    pub time: Time,
}

/// A flow point that waits for the anchor and its thread.
#[derive(Debug)]
pub(super) struct WaitingFlowPoint {
    pub pid: Id,
    pub tid: Id,
    pub time: Time,
    /// The flow point, whose line and time are set later.
    pub point: FlowPoint,
}
