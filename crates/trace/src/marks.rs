//! What a trace shows beside durations: values over time, moments, and links between events.

use super::{LineId, PlaneId, StrId};
use base::Ps;

/// A value of a plane over time.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CounterTrack {
    /// The plane that shows it.
    pub plane: PlaneId,
    /// Name of the counter; where one counter has several series, with that of the series.
    pub name: StrId,
    /// When the counter was sampled, ascending, from the anchor.
    pub times: Vec<Ps>,
    /// The finite value at each of `times`, in the file's unit, which it does not name.
    pub values: Vec<f64>,
}

/// What an instant belongs to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum InstantScope {
    /// The whole trace.
    #[default]
    Trace,
    /// A plane.
    Plane(PlaneId),
    /// A line.
    Line(LineId),
}

/// A moment that has a name and no duration.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Instant {
    /// What the instant belongs to.
    pub scope: InstantScope,
    /// Name of the instant.
    pub name: StrId,
    /// When the instant was, from the anchor.
    pub time: Ps,
}

/// What a moment is to a flow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FlowRole {
    /// The flow leaves an event here.
    #[default]
    Start,
    /// The flow passes through an event.
    Step,
    /// The flow arrives at an event.
    End,
}

/// Which event of its line a point of a flow belongs to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FlowBinding {
    /// The innermost event that runs at the point's time.
    #[default]
    Enclosing,
    /// The first event that starts at the point's time or later.
    Next,
}

/// One point of a flow: a link from event to event, from a launch to its kernel or from an op to its gradient.
///
/// ```text
/// thread 1   |---launch---|
///                o Start ------.
/// stream 7                     '--> o End
///                                   |---kernel---|
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FlowPoint {
    /// Number of the flow, from 0: its points are all that have it, in file order. Two captures have none in common.
    pub flow: u32,
    /// What the point is to the flow.
    pub role: FlowRole,
    /// Which event the point belongs to.
    pub binding: FlowBinding,
    /// The line of the event that the point belongs to.
    pub line: LineId,
    /// Name of the flow.
    pub name: StrId,
    /// When the point is, from the anchor.
    pub time: Ps,
}
