//! Data of a trace other than events with a duration: values over time, instants, and links between events.

use super::{LineId, PlaneId, StrId};
use base::Ps;

/// Values of a plane's counter over time.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CounterTrack {
    /// Plane that the counter belongs to.
    pub plane: PlaneId,
    /// Name of the counter. If a counter has several series, the name includes the name of the series.
    pub name: StrId,
    /// Times of the samples, ascending, relative to the anchor.
    pub times: Vec<Ps>,
    /// Value at each of `times`. All values are finite. The unit is unknown, because the file does not contain it.
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

/// An event with a name and a time, but no duration.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Instant {
    /// Scope of the instant.
    pub scope: InstantScope,
    /// Name of the instant.
    pub name: StrId,
    /// Time of the instant, relative to the anchor.
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

/// Rule that selects one event on the line of a flow point. The point belongs to this event.
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
    /// Number of the flow, from 0. All points with the same number form one flow, in file order. Flows of different
    /// captures have different numbers.
    pub flow: u32,
    /// Role of the point in the flow.
    pub role: FlowRole,
    /// Rule that selects the event to which the point belongs.
    pub binding: FlowBinding,
    /// Line of the event to which the point belongs.
    pub line: LineId,
    /// Name of the flow.
    pub name: StrId,
    /// Time of the point, relative to the anchor.
    pub time: Ps,
}
