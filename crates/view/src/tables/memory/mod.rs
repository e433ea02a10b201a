//! Tables of memory: what compiled programs keep in it, and what allocators report of it.

pub(super) mod allocations;
pub(super) mod buffers;
mod errors;
mod groups;
pub(super) mod heap;
pub(super) mod programs;
pub(super) mod timeline;
pub(super) mod what_if;

use crate::table::{Column, Unit, column};
use memory::Recorded;

/// When something happened.
const TIME: Column = column("time_us", "Time", Unit::TimeUs, "When, from the start of the capture.")
    .caveat("XProf's memory profile counts from the start of the event's line.");

/// The name of a host; empty where it has none.
fn host_name(recorded: &Recorded, host: u16) -> &str {
    recorded.hosts.get(usize::from(host)).map_or("", String::as_str)
}
