//! Measured numbers of instructions, and their sums over nested computations.

use base::Ps;
use hlo::{InstructionIndex, Module};
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

/// Numbers of an op over the measured window. `None` means not measured.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Numbers {
    /// Self time of all occurrences on all devices.
    pub time: Option<Ps>,
    /// FLOPs of all executions.
    pub flops: Option<f64>,
    /// Bytes that all executions read and wrote.
    pub bytes: Option<f64>,
    /// Limit that the op is closest to (`compute`, `hbm`). Empty if unknown, and for sums.
    pub bound_by: String,
}

impl Numbers {
    /// Adds the numbers of another op.
    pub fn add(&mut self, other: &Numbers) {
        self.time = sum(self.time, other.time, |a, b| a + b);
        self.flops = sum(self.flops, other.flops, |a, b| a + b);
        self.bytes = sum(self.bytes, other.bytes, |a, b| a + b);
    }
}

fn sum<T: Copy>(a: Option<T>, b: Option<T>, add: impl Fn(T, T) -> T) -> Option<T> {
    match (a, b) {
        (Some(a), Some(b)) => Some(add(a, b)),
        (a, b) => a.or(b),
    }
}

/// Numbers of the instructions of a module.
#[derive(Clone, Debug, Default)]
pub struct Measured {
    /// Numbers by [`InstructionIndex`]. Instructions without numbers have no entry.
    own: FxHashMap<InstructionIndex, Numbers>,
    /// Sums of the numbers of an instruction and of the computations that it calls.
    whole: FxHashMap<InstructionIndex, Numbers>,
}

impl Measured {
    /// Assigns the numbers of ops to the instructions with the same names. Adds the numbers of ops with the same name.
    pub fn new<'a>(module: &Module, ops: impl IntoIterator<Item = (&'a str, Numbers)>) -> Measured {
        let mut own: FxHashMap<InstructionIndex, Numbers> = FxHashMap::default();
        for (name, numbers) in ops {
            let Some(index) = module.instruction(name).and_then(|it| module.index_of(it)) else { continue };
            let known = own
                .entry(index)
                .or_insert_with(|| Numbers { bound_by: numbers.bound_by.clone(), ..Numbers::default() });
            known.add(&numbers);
        }
        let whole = if own.is_empty() { FxHashMap::default() } else { sums(module, &own) };
        Measured { own, whole }
    }

    /// Returns true if no instruction has numbers.
    pub fn is_empty(&self) -> bool {
        self.own.is_empty()
    }

    /// Returns the numbers of an instruction, without the computations that it calls.
    pub fn own(&self, index: InstructionIndex) -> Option<&Numbers> {
        self.own.get(&index)
    }

    /// Returns the sums of the numbers of an instruction and of the computations that it calls. If several instructions
    /// call the same computation, only the first of them includes its numbers, so that no time is included twice.
    pub fn whole(&self, index: InstructionIndex) -> Option<&Numbers> {
        self.whole.get(&index).or_else(|| self.own.get(&index))
    }
}

/// Returns the sums for all instructions that call computations with measured instructions.
///
/// Computations precede their callers, so one pass over the file is enough. If a file violates this order, sums are
/// missing, but the pass still ends.
fn sums(module: &Module, own: &FxHashMap<InstructionIndex, Numbers>) -> FxHashMap<InstructionIndex, Numbers> {
    let mut whole: FxHashMap<InstructionIndex, Numbers> = FxHashMap::default();
    let mut of_computation: Vec<Option<Numbers>> = vec![None; module.computations().len()];
    for (at, computation) in module.computations().iter().enumerate() {
        let mut total: Option<Numbers> = None;
        for (index, instruction) in computation.instructions.clone().zip(module.instructions_of(computation)) {
            let mut sum = own.get(&index).cloned();
            let mut is_more = false;
            for &called in &instruction.called {
                // The first caller takes the sum.
                if let Some(inner) = of_computation.get_mut(called as usize).and_then(Option::take) {
                    sum.get_or_insert_default().add(&inner);
                    is_more = true;
                }
            }
            if let Some(sum) = sum {
                total.get_or_insert_default().add(&sum);
                if is_more {
                    whole.insert(index, sum);
                }
            }
        }
        if let Some(place) = of_computation.get_mut(at) {
            *place = total;
        }
    }
    whole
}
