//! Contents of a trace other than events: values over time, instants, and links between events.

use super::{LineId, PlaneId, StrId};
use base::Ps;

/// A value of a plane over time.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CounterTrack {
    /// Plane that the counter belongs to.
    pub plane: PlaneId,
    /// Name of the counter. If one counter has several series, the name includes the name of the series.
    pub name: StrId,
    /// Times of the samples, ascending, from the anchor.
    pub times: Vec<Ps>,
    /// Finite value at each of `times`. The file does not name the unit.
    pub values: Vec<f64>,
}

/// Scope of an instant.
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

/// A moment with a name and no duration.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Instant {
    /// Scope of the instant.
    pub scope: InstantScope,
    /// Name of the instant.
    pub name: StrId,
    /// Time of the instant, from the anchor.
    pub time: Ps,
}

/// Role of a point in its flow.
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

/// Rule that selects the event of a line that a flow point belongs to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FlowBinding {
    /// The innermost event that runs at the point's time.
    #[default]
    Enclosing,
    /// The first event that starts at the point's time or later.
    Next,
}

/// One point of a flow. A flow links events, such as a launch and its kernel or an op and its gradient.
///
/// ```text
/// thread 1   |---launch---|
///                o Start ------.
/// stream 7                     '--> o End
///                                   |---kernel---|
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FlowPoint {
    /// Number of the flow, from 0. All points with this number form the flow, in file order. Different captures share
    /// no flow numbers.
    pub flow: u32,
    /// Role of the point in the flow.
    pub role: FlowRole,
    /// Rule that selects the event that the point belongs to.
    pub binding: FlowBinding,
    /// Line of the event that the point belongs to.
    pub line: LineId,
    /// Name of the flow.
    pub name: StrId,
    /// Time of the point, from the anchor.
    pub time: Ps,
}
