//! Memory over time, as the allocators of a capture report it: an event for each allocation and each release
//! (`MemoryAllocation`, `MemoryDeallocation`), which also says how full the allocator is after it.
//!
//! Where XProf does otherwise, [`xprof`] does as it does:
//!
//! | | here | XProf |
//! |---|---|---|
//! | time | from the start of the capture | since the start of the event's line, which differs from thread to thread |
//! | peak of several equal ones | the first | the last in the order of the file |
//! | alive at the peak | all that the capture saw allocated | those of the peak's step |
//! | the rest | allocated before the capture | "unused preallocated device memory" |

mod read;
mod title;
pub mod xprof;

use std::collections::BTreeMap;

use base::{Ps, sort};
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

pub use read::allocators;

/// What an event says has happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Activity {
    /// Memory was given out.
    Allocation,
    /// Memory was given back.
    Release,
}

impl Activity {
    /// Name of the activity for people and files.
    pub fn label(self) -> &'static str {
        match self {
            Activity::Allocation => "allocation",
            Activity::Release => "release",
        }
    }
}

/// An allocation or a release. Numbers that the file does not give are 0, or `None` where 0 would say something.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct AllocatorEvent {
    /// Place of the event among those of the file.
    pub place: u64,
    /// When the event happened, from the start of the capture.
    pub time: Ps,
    /// When the event happened, from the start of its line.
    pub time_in_line: Ps,
    /// What happened.
    pub activity: Activity,
    /// Bytes that are reserved for the stack of programs (TPU), after the event.
    pub reserved_bytes: u64,
    /// Bytes that are given out, after the event.
    pub in_use_bytes: u64,
    /// Bytes that can still be given out, after the event.
    pub available_bytes: u64,
    /// How much of the free memory of the pool does not lie in its largest piece, 0 to 1; `None` where the pool is full.
    pub fragmentation: Option<f64>,
    /// The most bytes that were ever given out, since the process began.
    pub lifetime_peak_bytes: u64,
    /// Bytes that were asked for.
    pub requested_bytes: Option<u64>,
    /// Bytes that were given, rounded up by the allocator.
    pub allocation_bytes: Option<u64>,
    /// Address of the memory.
    pub address: u64,
    /// Index of what else the event says in [`Allocator::labels`]. Of a release what its allocation says, where the capture saw that.
    pub labels: u32,
    /// Index of what the event itself says, also where it is a release.
    pub own_labels: u32,
}

/// What an event says of its memory beyond numbers; empty texts where it says nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Labels {
    /// The framework's op that asked.
    pub op: String,
    /// What the memory is for.
    pub region: String,
    /// Shape of what lies there.
    pub shape: String,
}

impl AllocatorEvent {
    /// Bytes that are not available: given out, or reserved.
    pub fn used_bytes(&self) -> u64 {
        self.in_use_bytes.saturating_add(self.reserved_bytes)
    }

    /// How much of the free memory of the pool does not lie in its largest piece, percent.
    pub fn fragmentation_percent(&self) -> Option<f64> {
        self.fragmentation.map(|share| 100.0 * share)
    }
}

/// One allocator: usually one per device.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Allocator {
    /// Name of the allocator as the file has it: `GPU_0_bfc`, or the number of its device.
    pub name: String,
    /// Name for people: `device 0 HBM`, `device 0 pinned host`; the file's name if it says neither device nor kind.
    pub title: String,
    /// Index of the allocator's host.
    pub host: u16,
    /// What the allocator's events say beyond numbers, each once.
    pub labels: Vec<Labels>,
    /// Events of the allocator by time; those of one time in the order of the file.
    pub events: Vec<AllocatorEvent>,
}

/// Equal allocations that are alive.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Alive {
    /// Index of the event of one of the allocations.
    pub event: usize,
    /// Number of the equal allocations.
    pub count: u64,
}

/// What fills an allocator at a moment.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Contents {
    /// Allocations that the capture saw, the largest first.
    pub alive: Vec<Alive>,
    /// Bytes that are given out and of which the capture saw no allocation: they are older.
    pub before_capture_bytes: u64,
    /// Bytes that are reserved.
    pub reserved_bytes: u64,
}

impl Allocator {
    /// What an event says of its memory beyond numbers.
    pub fn labels_of(&self, event: &AllocatorEvent) -> Option<&Labels> {
        self.labels.get(event.labels as usize)
    }

    /// The number of its device on its host: the last number of its name. `GPU_0_bfc` is of device 0, and TPUs' are called by the number of
    /// their device.
    pub fn device_ordinal(&self) -> Option<u32> {
        self.name.split(|c: char| !c.is_ascii_digit()).rfind(|digits| !digits.is_empty())?.parse().ok()
    }

    /// Index of the event after which most bytes are used, the first of equals; `None` without events.
    pub fn peak(&self) -> Option<usize> {
        let used = self.events.iter().map(AllocatorEvent::used_bytes).enumerate();
        used.reduce(|most, it| if it.1 > most.1 { it } else { most }).map(|(index, _)| index)
    }

    /// Bytes that there are: used and available, after the event.
    pub fn capacity_bytes(&self, event: usize) -> Option<u64> {
        self.events.get(event).map(|event| event.used_bytes().saturating_add(event.available_bytes))
    }

    /// The most bytes that were ever given out, since the process began.
    pub fn lifetime_peak_bytes(&self) -> Option<u64> {
        self.events.iter().map(|event| event.lifetime_peak_bytes).max()
    }

    /// Releases of what the capture did not see allocated: it is older.
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

    /// What fills the allocator after an event. An address that is given out again without a release in between is held by the later
    /// allocation.
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

    /// Allocations by size, the largest first, equal ones as one.
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
