//! Costs of one execution of a program.

use crate::cost::{Conventions, cost_by};
use crate::module::Module;

/// Size of a program and the cost of one execution.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Totals {
    /// Number of instructions, including instructions inside fusions.
    pub instructions: u64,
    /// Number of fusions.
    pub fusions: u64,
    /// FLOPs of all instructions whose cost is known.
    pub flops: f64,
    /// Bytes that these instructions read and write.
    pub bytes: f64,
    /// Number of instructions in the entry computation with unknown cost (calls to unknown libraries).
    pub unknown: u64,
}

impl Totals {
    /// Returns the totals of a program.
    pub fn of(module: &Module, conventions: Conventions) -> Totals {
        let all = module.instructions();
        let mut totals = Totals {
            instructions: all.len() as u64,
            fusions: all.iter().filter(|it| it.is("fusion")).count() as u64,
            ..Totals::default()
        };
        for instruction in super::entry(module).map_or(&[][..], |entry| module.instructions_of(entry)) {
            match cost_by(module, instruction, conventions) {
                Some(cost) => {
                    totals.flops += cost.flops;
                    totals.bytes += cost.bytes_accessed;
                }
                None => totals.unknown += 1,
            }
        }
        totals
    }
}
