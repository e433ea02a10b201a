//! Counts of damage and inconsistencies in memory files. Each kind of problem is reported once, and all other data is
//! still read.

use std::collections::BTreeMap;
use std::fmt;

/// Upper limit for sizes (1 EiB). No memory is that large, and sums below this limit never overflow.
pub(crate) const MOST_BYTES: u64 = 1 << 60;

/// Kind of damage.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Problem {
    /// A message that is not the expected protobuf message.
    Unreadable,
    /// A message that is longer than the remaining bytes.
    Cut,
    /// An allocation or an event that refers to a missing buffer.
    UnknownBuffer,
    /// A buffer that is defined by a missing instruction.
    UnknownInstruction,
    /// A size or an offset of 2^60 bytes (1 EiB) or more, by itself or in total. Such a size or offset is treated as 0.
    ImpossibleSize,
    /// A repeated id. The first occurrence is used.
    RepeatedId,
    /// An event that allocates a buffer that is already allocated.
    AllocatedTwice,
    /// An event that frees a buffer that is not allocated.
    FreedTwice,
    /// A cycle of buffers that share each other's memory.
    CyclicSharing,
    /// An event that is not an allocation, a release or a share.
    UnknownEvent,
    /// A heap trace with buffers of several allocations.
    SeveralAllocations,
}

impl Problem {
    fn text(self) -> &'static str {
        match self {
            Problem::Unreadable => "unreadable parts",
            Problem::Cut => "truncated parts",
            Problem::UnknownBuffer => "references to missing buffers",
            Problem::UnknownInstruction => "buffers of missing instructions",
            Problem::ImpossibleSize => "sizes of 2^60 bytes or more, alone or in total, treated as 0",
            Problem::RepeatedId => "repeated ids (the first of each is used)",
            Problem::AllocatedTwice => "buffers allocated twice",
            Problem::FreedTwice => "buffers freed without being allocated",
            Problem::CyclicSharing => "buffers that share memory in a cycle",
            Problem::UnknownEvent => "heap events of an unknown kind",
            Problem::SeveralAllocations => "heap traces with buffers from several allocations",
        }
    }
}

/// Number of occurrences of each problem.
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

    /// Returns the number of occurrences of a problem.
    pub fn count(&self, problem: Problem) -> u64 {
        self.0.get(&problem).copied().unwrap_or_default()
    }

    /// Returns true if there are no problems.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// Writes `buffers freed without being allocated: 2; unreadable parts: 1`. Empty if there are no problems.
impl fmt::Display for Problems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, (problem, count)) in self.0.iter().enumerate() {
            let separator = if place > 0 { "; " } else { "" };
            write!(f, "{separator}{}: {count}", problem.text())?;
        }
        Ok(())
    }
}
