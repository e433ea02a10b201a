//! Memory over time, from the events of a capture's allocators. Each allocation and each release is an event
//! (`MemoryAllocation`, `MemoryDeallocation`) with the allocator's fill level after the event.
//!
//! [`xprof`] reproduces XProf's figures. The following figures differ:
//!
//! | | here | XProf |
//! |---|---|---|
//! | time | since the start of the capture | since the start of the event's line, which differs between threads |
//! | peak, if several are equal | the first | the last in file order |
//! | alive at the peak | all allocations in the capture | the allocations in the peak's step |
//! | the rest | allocated before the capture | "unused preallocated device memory" |

mod preallocated;
mod read;
mod title;
pub mod xprof;

use std::collections::BTreeMap;

use base::{Ps, sort};
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

pub use read::allocators;

/// Type of an allocator event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Activity {
    /// Memory was allocated.
    Allocation,
    /// Memory was freed.
    Release,
}

impl Activity {
    /// Returns the name of the activity, for displays and files.
    pub fn label(self) -> &'static str {
        match self {
            Activity::Allocation => "allocation",
            Activity::Release => "release",
        }
    }
}

/// An allocation or a release. Numbers that the file lacks are 0, or `None` if 0 would be a meaningful value.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct AllocatorEvent {
    /// Position of the event in the file.
    pub place: u64,
    /// Time of the event, from the start of the capture.
    pub time: Ps,
    /// Time of the event, from the start of its line.
    pub time_in_line: Ps,
    /// Type of the event.
    pub activity: Activity,
    /// Bytes reserved for the stack of programs (TPU), after the event.
    pub reserved_bytes: u64,
    /// Bytes in use, after the event.
    pub in_use_bytes: u64,
    /// Bytes still available, after the event.
    pub available_bytes: u64,
    /// Fraction of the pool's free memory that is outside its largest free block, from 0 to 1. `None` if the pool is
    /// full.
    pub fragmentation: Option<f64>,
    /// Peak of the bytes in use since the process started.
    pub lifetime_peak_bytes: u64,
    /// Bytes requested.
    pub requested_bytes: Option<u64>,
    /// Bytes allocated. The allocator rounds up the requested bytes.
    pub allocation_bytes: Option<u64>,
    /// Address of the memory.
    pub address: u64,
    /// Index of the event's labels in [`Allocator::labels`]. For a release, the labels of its allocation if the capture
    /// contains the allocation.
    pub labels: u32,
    /// Index of the event's own labels, also for a release.
    pub own_labels: u32,
}

/// Texts of an event about its memory. Empty if the event lacks them.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Labels {
    /// The framework's op that requested the memory.
    pub op: String,
    /// Purpose of the memory.
    pub region: String,
    /// Shape of the array in the memory.
    pub shape: String,
}

impl AllocatorEvent {
    /// Returns the bytes that are not available: in use or reserved.
    pub fn used_bytes(&self) -> u64 {
        self.in_use_bytes.saturating_add(self.reserved_bytes)
    }

    /// Returns the fraction of the pool's free memory that is outside its largest free block, in percent.
    pub fn fragmentation_percent(&self) -> Option<f64> {
        self.fragmentation.map(|share| 100.0 * share)
    }
}

/// One allocator. A device usually has one allocator.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Allocator {
    /// Name of the allocator in the file: `GPU_0_bfc`, or the number of its device.
    pub name: String,
    /// Display name: `device 0 HBM`, `device 0 pinned host`. If the name in the file contains neither a device nor a kind, it
    /// is used unchanged.
    pub title: String,
    /// Index of the allocator's host.
    pub host: u16,
    /// Distinct labels of the allocator's events.
    pub labels: Vec<Labels>,
    /// Events of the allocator by time. Events at the same time are in file order.
    pub events: Vec<AllocatorEvent>,
}

/// Identical allocations that are alive.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Alive {
    /// Index of the event of one of the allocations.
    pub event: usize,
    /// Number of identical allocations.
    pub count: u64,
}

/// Contents of an allocator at one moment.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Contents {
    /// Live allocations that were made during the capture, largest first.
    pub alive: Vec<Alive>,
    /// Bytes in use that were allocated before the capture.
    pub before_capture_bytes: u64,
    /// Bytes reserved for the stack of programs.
    pub reserved_bytes: u64,
}

impl Allocator {
    /// Returns the labels of an event.
    pub fn labels_of(&self, event: &AllocatorEvent) -> Option<&Labels> {
        self.labels.get(event.labels as usize)
    }

    /// Returns the number of the allocator's device on its host: the last number in the allocator's name. `GPU_0_bfc`
    /// belongs to device 0. TPU allocators are named by the number of their device.
    pub fn device_ordinal(&self) -> Option<u32> {
        self.name.split(|c: char| !c.is_ascii_digit()).rfind(|digits| !digits.is_empty())?.parse().ok()
    }

    /// Returns the index of the event after which the most bytes are used. If several events qualify, returns the
    /// first. Returns `None` without events.
    pub fn peak(&self) -> Option<usize> {
        let used = self.events.iter().map(AllocatorEvent::used_bytes).enumerate();
        used.reduce(|most, it| if it.1 > most.1 { it } else { most }).map(|(index, _)| index)
    }

    /// Returns the capacity after the event: the used plus the available bytes.
    pub fn capacity_bytes(&self, event: usize) -> Option<u64> {
        self.events.get(event).map(|event| event.used_bytes().saturating_add(event.available_bytes))
    }

    /// Returns the peak of the bytes in use since the process started.
    pub fn lifetime_peak_bytes(&self) -> Option<u64> {
        self.events.iter().map(|event| event.lifetime_peak_bytes).max()
    }

    /// Returns how many releases free memory that was allocated before the capture.
    pub fn releases_of_older(&self) -> u64 {
        let mut alive = FxHashMap::default();
        let is_unmatched = |event: &&AllocatorEvent| match event.activity {
            Activity::Allocation => {
                alive.insert(event.address, ());
                false
            }
            Activity::Release => alive.remove(&event.address).is_none(),
        };
        self.events.iter().filter(is_unmatched).count() as u64
    }

    /// Returns the contents of the allocator after an event. If an address is allocated twice without a release in between, it
    /// belongs to the later allocation.
    pub fn contents(&self, after: usize) -> Contents {
        let Some(moment) = self.events.get(after) else { return Contents::default() };
        let mut alive: BTreeMap<u64, usize> = BTreeMap::new();
        for (index, event) in self.events.iter().enumerate().take(after.saturating_add(1)) {
            match event.activity {
                Activity::Allocation => drop(alive.insert(event.address, index)),
                Activity::Release => drop(alive.remove(&event.address)),
            }
        }
        let alive: Vec<usize> = alive.into_values().collect();
        let size = |&index: &usize| self.events.get(index).and_then(|event| event.allocation_bytes).unwrap_or(0);
        let known = alive.iter().map(size).fold(0, u64::saturating_add);
        Contents {
            alive: self.merged(alive),
            before_capture_bytes: moment.in_use_bytes.saturating_sub(known),
            reserved_bytes: moment.reserved_bytes,
        }
    }

    /// Sorts allocations by size, largest first, and merges identical ones.
    fn merged(&self, mut alive: Vec<usize>) -> Vec<Alive> {
        let key = |index: usize| {
            let event = self.events.get(index)?;
            let sizes =
                [event.allocation_bytes, event.requested_bytes].map(|bytes| std::cmp::Reverse(bytes.unwrap_or(0)));
            Some((sizes, self.labels_of(event)))
        };
        sort::sort_by(&mut alive, |&a, &b| key(a).cmp(&key(b)).then(a.cmp(&b)));
        let same = alive.chunk_by(|&a, &b| key(a) == key(b));
        same.filter_map(|same| Some(Alive { event: *same.first()?, count: same.len() as u64 })).collect()
    }
}

#[cfg(test)]
mod tests;
