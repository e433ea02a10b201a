//! What a trace shows beside durations: values over time, and moments.

use super::{LineId, PlaneId, StrId};
use base::Ps;

/// A value of a plane over time.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CounterTrack {
    /// The plane that shows it.
    pub plane: PlaneId,
    /// Its name; where one counter has several series, with that of the series.
    pub name: StrId,
    /// When it was sampled, ascending, from the anchor.
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
    /// What it belongs to.
    pub scope: InstantScope,
    /// Its name.
    pub name: StrId,
    /// When it was, from the anchor.
    pub time: Ps,
}
