//! Stats of events that crossprof reads, with their names in the two formats.

use super::args::{NumberArg, TextArg};
use super::event_columns::EventColumn;

/// A stat of an event in an xplane file, or an argument of an event in a Chrome trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventStat {
    /// A text of [`Args`](super::Args).
    Text(TextArg),
    /// A number of [`Args`](super::Args).
    Number(NumberArg),
    /// A value in a sparse column.
    Column(EventColumn),
    /// The stat `name`, which contains the framework path of GPU events. See
    /// [`Args::complete_path`](super::Args::complete_path).
    Name,
    /// The stat `annotation`, which contains the framework op and is written by TensorFlow.
    Annotation,
    /// Start on the chip's own clock, in picoseconds.
    ChipStart,
    /// Duration on the chip's own clock, in picoseconds.
    ChipDuration,
    /// [`MemoryBytes`](super::MemoryBytes), encoded as a message (xplane only).
    Memory,
    /// The stat `dcn_collective_info`, which contains the groups of a collective between TPU slices as a message
    /// (xplane only).
    DcnCollective,
    /// Name of a step, which replaces the event's name (xplane only).
    StepName,
}

impl EventStat {
    /// Returns the stat that has this name in an xplane file. Returns `None` if crossprof does not use the stat.
    pub fn of_xplane(stat: &[u8]) -> Option<EventStat> {
        let argument = || TextArg::of_xplane(stat).map(EventStat::Text);
        let number = || NumberArg::of_xplane(stat).map(EventStat::Number);
        let column = || EventColumn::of_xplane(stat).map(EventStat::Column);
        let other = || match stat {
            b"memory_access_breakdown" => Some(EventStat::Memory),
            b"dcn_collective_info" => Some(EventStat::DcnCollective),
            b"step_name" => Some(EventStat::StepName),
            _ => EventStat::of_either(stat),
        };
        argument().or_else(number).or_else(column).or_else(other)
    }

    /// Returns the stat that has this key in a Chrome trace. Returns `None` if crossprof does not use the key.
    pub fn of_json(key: &[u8]) -> Option<EventStat> {
        let argument = || TextArg::of_json(key).map(EventStat::Text);
        let number = || NumberArg::of_json(key).map(EventStat::Number);
        let column = || EventColumn::of_json(key).map(EventStat::Column);
        argument().or_else(number).or_else(column).or_else(|| EventStat::of_either(key))
    }

    fn of_either(name: &[u8]) -> Option<EventStat> {
        Some(match name {
            b"name" => EventStat::Name,
            b"annotation" => EventStat::Annotation,
            b"device_offset_ps" => EventStat::ChipStart,
            b"device_duration_ps" => EventStat::ChipDuration,
            _ => return None,
        })
    }
}
