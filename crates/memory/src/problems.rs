//! What is odd or damaged in a program's buffer assignment: counted, said once a kind, and nothing lost beside it.

use std::collections::BTreeMap;
use std::fmt;

/// No memory has so many bytes (1 EiB). Sums of fewer never overflow.
pub(crate) const MOST_BYTES: u64 = 1 << 60;

/// A kind of damage.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Problem {
    /// A message is not the protobuf message that stands in its place.
    Unreadable,
    /// The bytes end before the message does.
    Cut,
    /// An allocation or an event names a buffer that is not there.
    UnknownBuffer,
    /// A buffer is defined by an instruction that is not there.
    UnknownInstruction,
    /// A size or an offset that is [`MOST_BYTES`] or more, by itself or in sum. It counts as 0.
    ImpossibleSize,
    /// An id that occurs again. The first one counts.
    RepeatedId,
    /// An event allocates what is allocated.
    AllocatedTwice,
    /// An event frees what is not allocated.
    FreedTwice,
    /// A buffer shares the memory of one that shares its own.
    CyclicSharing,
    /// An event is neither an allocation, nor a release, nor the sharing of a buffer.
    UnknownEvent,
    /// A heap trace has buffers of several allocations.
    SeveralAllocations,
}

impl Problem {
    fn text(self) -> &'static str {
        match self {
            Problem::Unreadable => "parts that cannot be read",
            Problem::Cut => "parts that are cut off",
            Problem::UnknownBuffer => "references to buffers that are not there",
            Problem::UnknownInstruction => "buffers of instructions that are not there",
            Problem::ImpossibleSize => "sizes of 2^60 bytes or more, alone or in sum, counted as 0",
            Problem::RepeatedId => "repeated ids (the first of each counts)",
            Problem::AllocatedTwice => "buffers allocated while they are allocated",
            Problem::FreedTwice => "buffers freed while they are not allocated",
            Problem::CyclicSharing => "buffers that share memory in a circle",
            Problem::UnknownEvent => "heap events of an unknown kind",
            Problem::SeveralAllocations => "heap traces with buffers of several allocations",
        }
    }
}

/// How often each problem occurs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Problems(BTreeMap<Problem, u64>);

impl Problems {
    pub(crate) fn add(&mut self, problem: Problem) {
        *self.0.entry(problem).or_default() += 1;
    }

    pub(crate) fn extend(&mut self, others: &Problems) {
        for (&problem, count) in &others.0 {
            *self.0.entry(problem).or_default() += count;
        }
    }

    /// How often a problem occurs.
    pub fn count(&self, problem: Problem) -> u64 {
        self.0.get(&problem).copied().unwrap_or_default()
    }

    /// Is there no problem?
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// `2 buffers freed while they are not allocated; 1 parts that cannot be read`, empty where all is well.
impl fmt::Display for Problems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, (problem, count)) in self.0.iter().enumerate() {
            let separator = if place > 0 { "; " } else { "" };
            write!(f, "{separator}{}: {count}", problem.text())?;
        }
        Ok(())
    }
}
