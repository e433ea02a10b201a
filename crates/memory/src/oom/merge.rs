//! Merges repeated reports of an error. The allocator, the runtime, and each process and exception that passes the
//! error on may report the same error.

use super::{OutOfMemory, rounds_to};

/// Maximum number of reports. In a large run, each process may write its own report.
const MOST_REPORTS: usize = 100;

impl OutOfMemory {
    /// Returns true if both reports may belong to the same error, because their values do not contradict each other.
    pub(super) fn agrees(&self, other: &OutOfMemory) -> bool {
        let numbers = [
            (self.needed_bytes, other.needed_bytes),
            (self.requested_bytes, other.requested_bytes),
            (self.free_bytes, other.free_bytes),
            (self.capacity_bytes, other.capacity_bytes),
        ];
        let same_name = |a: &str, b: &str| a.is_empty() || b.is_empty() || a == b;
        numbers.iter().all(|&(a, b)| a.zip(b).is_none_or(|(a, b)| rounds_to(a, b)))
            && same_name(&self.memory_space, &other.memory_space)
            && same_name(&self.device, &other.device)
    }

    /// Returns true if the reports have a number in common.
    fn repeats(&self, other: &OutOfMemory) -> bool {
        self.needed_bytes.and(other.needed_bytes).or(self.requested_bytes.and(other.requested_bytes)).is_some()
    }

    /// Adds the values that this report lacks from another report of the same error.
    pub(super) fn complete(&mut self, other: OutOfMemory) {
        let fill = |own: &mut Option<u64>, other: Option<u64>| *own = own.or(other);
        if self.statement.is_empty() || !self.has_sizes() && other.has_sizes() {
            self.statement = other.statement;
        }
        for (own, other) in [(&mut self.memory_space, other.memory_space), (&mut self.device, other.device)] {
            if own.is_empty() {
                *own = other;
            }
        }
        fill(&mut self.needed_bytes, other.needed_bytes);
        fill(&mut self.capacity_bytes, other.capacity_bytes);
        fill(&mut self.requested_bytes, other.requested_bytes);
        fill(&mut self.in_use_bytes, other.in_use_bytes);
        fill(&mut self.free_bytes, other.free_bytes);
        fill(&mut self.largest_free_bytes, other.largest_free_bytes);
        fill(&mut self.reserved_unused_bytes, other.reserved_unused_bytes);
        self.padded = self.padded.or(other.padded);
        // If an allocator continues without the memory, the program does not fail there.
        self.is_survived &= other.is_survived;
        for (name, bytes) in other.sums {
            if self.sum(&name).is_none() {
                self.sums.push((name, bytes));
            }
        }
        if self.buffers.len() < other.buffers.len() {
            self.buffers = other.buffers;
        }
    }
}

/// Returns the distinct reports. Includes reports without a size only if no report has a size.
pub(super) fn distinct(reports: Vec<OutOfMemory>) -> Vec<OutOfMemory> {
    let any_sizes = reports.iter().any(OutOfMemory::has_sizes);
    let mut distinct: Vec<OutOfMemory> = Vec::new();
    for report in reports {
        if report.has_sizes() != any_sizes {
            continue;
        }
        let is_same = |known: &&mut OutOfMemory| {
            let same_list = known.buffers.is_empty() || report.buffers.is_empty() || known.buffers == report.buffers;
            known.agrees(&report)
                && same_list
                && (known.repeats(&report) || !any_sizes || known.buffers == report.buffers)
        };
        if let Some(known) = distinct.iter_mut().find(is_same) {
            known.complete(report);
        } else if distinct.len() < MOST_REPORTS {
            distinct.push(report);
        }
    }
    // Survived errors matter only if nothing failed.
    if distinct.iter().any(|report| !report.is_survived) {
        distinct.retain(|report| !report.is_survived);
    }
    distinct
}
