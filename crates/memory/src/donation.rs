//! Finds arguments whose memory the program could reuse for its results but does not. For each such argument, a second
//! copy takes memory while the program runs.

use hlo::{NamedRole, Outcome};
use prost::Message;
use rustc_hash::{FxHashMap, FxHashSet};

use crate::assignment::Allocation;
use crate::messages::messages;
use crate::problems::Problems;
use crate::program::ProgramMemory;
use crate::proto::Donor;
use crate::space::MAIN;

/// An argument in main memory whose memory no result shares.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnsharedArgument {
    /// Position of the argument, starting at 0.
    pub number: i64,
    /// The framework's name of the argument. Empty if unknown.
    pub name: String,
    /// Type and shape, as HLO text.
    pub shape: String,
    /// Bytes of the argument's allocation.
    pub bytes: u64,
    /// True if the argument was donated. JAX records this only for arguments without a matching result.
    pub is_donated: bool,
}

/// Returns the arguments whose new values are returned in other memory, and the arguments that were donated but not reused,
/// largest first. For a program that is not a training step, returns only arguments whose names denote state, because the
/// caller may still need other arguments, such as `x` after `x + y`. A function that returns gradients does not update its
/// arguments either.
pub fn unshared_arguments(program: &ProgramMemory, hlo_proto: &[u8]) -> Vec<UnsharedArgument> {
    let donors = donors(hlo_proto);
    let module = &program.module;
    let has_gradients = hlo::has_gradients(module);
    // Maps each argument to its first allocation.
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
            let is_meant = is_donated || (is_state && argument.outcome == Outcome::Updated && argument.is_carried);
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

/// Returns the numbers of the arguments that were donated but not reused for a result. Reads the entries (field 1) of
/// `hlo_module.buffer_donor` (field 18).
fn donors(hlo_proto: &[u8]) -> FxHashSet<i64> {
    if hlo::is_text(hlo_proto) {
        // HloModule jit_f, buffer_donor={ (0, {}), (2, {}) }, ...
        let header = hlo_proto.split(|&byte| byte == b'\n').next().map(String::from_utf8_lossy).unwrap_or_default();
        let list =
            header.split_once("buffer_donor={").and_then(|(_, rest)| rest.split_once(" }")).map_or("", |it| it.0);
        return list.split('(').filter_map(|entry| entry.split_once(',')?.0.parse().ok()).collect();
    }
    let donors = parts(hlo_proto, 1).flat_map(|module| parts(module, 18)).flat_map(|donors| parts(donors, 1));
    donors.filter_map(|entry| Some(Donor::decode(entry).ok()?.parameter_number)).collect()
}

/// Returns the messages of a field. Damage was already counted when the program was read.
fn parts(message: &[u8], number: u32) -> impl Iterator<Item = &[u8]> {
    let all = messages(message, &mut Problems::default());
    all.into_iter().filter(move |part| part.0 == number).map(|part| part.1)
}
