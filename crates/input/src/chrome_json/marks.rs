//! Counters, instants, flows and the display order of threads, as they wait until the clock is settled and all threads are known.
//!
//! These marks neither settle the clock nor make threads known, and add no plane and no line, so that no number depends
//! on them.

use hashbrown::HashMap;
use rustc_hash::FxBuildHasher;

use super::id::Id;
use super::number::Time;
use trace::{FlowPoint, StrId};

/// What waits to be placed.
#[derive(Debug, Default)]
pub(super) struct Marks {
    /// Tracks in the order in which they were met.
    pub tracks: Vec<WaitingTrack>,
    /// Index of the track by process, name and id of the counter, and name of the series.
    pub track_of: HashMap<(Id, StrId, Id, StrId), usize, FxBuildHasher>,
    pub instants: Vec<WaitingInstant>,
    pub flows: Vec<WaitingFlowPoint>,
    /// Numbers of flows by process, where their id is of that process only, and by category, name and id.
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

/// An instant.
#[derive(Debug)]
pub(super) struct WaitingInstant {
    /// `g` for the whole trace, `p` for a process, else a thread.
    pub scope: u8,
    pub pid: Id,
    pub tid: Id,
    pub name: StrId,
    pub time: Time,
}

/// A point of a flow.
#[derive(Debug)]
pub(super) struct WaitingFlowPoint {
    pub pid: Id,
    pub tid: Id,
    pub time: Time,
    /// The point but for its line and time, which are still to be set.
    pub point: FlowPoint,
}
