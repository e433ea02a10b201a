//! Memory tables: buffers of compiled programs, and events of allocators.

pub(super) mod allocations;
pub(super) mod buffers;
mod errors;
mod groups;
pub(super) mod heap;
pub(super) mod programs;
pub(super) mod timeline;
pub(super) mod what_if;

use memory::Recorded;
use table::{Column, Unit, column};

/// Column for the time of an event.
const TIME: Column = column("time_us", "Time", Unit::TimeUs, "Time of the event, from the start of the capture.")
    .caveat("In XProf's memory profile, the time is measured from the start of the event's line.");

/// Returns the name of a host. Empty if the host has no name.
fn host_name(recorded: &Recorded, host: u16) -> &str {
    recorded.hosts.get(usize::from(host)).map_or("", String::as_str)
}
