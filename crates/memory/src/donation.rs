//! Arguments that a program could write its results into and does not: each costs the memory of a second copy while the program runs.

use hlo::{NamedRole, Outcome};
use prost::Message;
use rustc_hash::{FxHashMap, FxHashSet};

use crate::assignment::Allocation;
use crate::messages::messages;
use crate::problems::Problems;
use crate::program::ProgramMemory;
use crate::proto::Donor;
use crate::space::MAIN;

/// An argument in the main memory that shares its memory with no result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnsharedArgument {
    /// Number of the argument, from 0.
    pub number: i64,
    /// What the framework calls it; empty where unknown.
    pub name: String,
    /// Type and shape.
    pub shape: String,
    /// Bytes of the argument's allocation.
    pub bytes: u64,
    /// Was the argument donated? JAX says so only of arguments for which it found no result by itself.
    pub is_donated: bool,
}

/// Arguments that come back as a changed value in other memory, or were donated and are used for no result, the largest first. Of a program
/// that is no training step only those that have the name of a state: `x` of `x + y` is kept by whoever added.
pub fn unshared_arguments(program: &ProgramMemory, hlo_proto: &[u8]) -> Vec<UnsharedArgument> {
    let donors = donors(hlo_proto);
    let module = &program.module;
    let has_gradients = hlo::has_gradients(module);
    // The first allocation of each argument.
    let mut allocations: FxHashMap<i64, &Allocation> = FxHashMap::default();
    for allocation in program.assignment.allocations.iter().filter(|it| it.parameter_index.is_empty()) {
        if let Some(number) = allocation.parameter {
            allocations.entry(number).or_insert(allocation);
        }
    }
    let bytes_of = |number: i64| {
        let own = allocations.get(&number)?;
        (own.space == MAIN && !own.is_output).then_some(own.size)
    };
    let mut found: Vec<UnsharedArgument> = hlo::arguments(module)
        .into_iter()
        .filter_map(|argument| {
            let is_donated = donors.contains(&argument.number);
            let is_state =
                has_gradients || matches!(NamedRole::of(argument.name), Some(role) if role != NamedRole::Inputs);
            let is_meant = is_donated || (is_state && argument.outcome == Outcome::Updated);
            let bytes = bytes_of(argument.number).filter(|_| is_meant)?;
            Some(UnsharedArgument {
                number: argument.number,
                name: argument.name.to_owned(),
                shape: hlo::Shape::Array(argument.shape.clone()).text(false),
                bytes,
                is_donated,
            })
        })
        .collect();
    base::sort::sort_by(&mut found, |a, b| b.bytes.cmp(&a.bytes));
    found
}

/// Numbers of the arguments that were donated and that the compiler gave no result: `hlo_module.buffer_donor` (18), its entries (1).
fn donors(hlo_proto: &[u8]) -> FxHashSet<i64> {
    let donors = parts(hlo_proto, 1).flat_map(|module| parts(module, 18)).flat_map(|donors| parts(donors, 1));
    donors.filter_map(|entry| Some(Donor::decode(entry).ok()?.parameter_number)).collect()
}

/// The messages of a field. Damage was counted when the program was read.
fn parts(message: &[u8], number: u32) -> impl Iterator<Item = &[u8]> {
    let all = messages(message, &mut Problems::default());
    all.into_iter().filter(move |part| part.0 == number).map(|part| part.1)
}
