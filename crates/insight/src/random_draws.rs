//! Finds the ops that draw random numbers, and what they draw.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

use rustc_hash::FxHashMap;

use super::numbers::Numbers;
use hlo::{ArrayShape, ComputationIndex, Instruction, Module};
use metrics::{Op, OpClass, Text};

/// Compiled functions of `jax.random`, with the public function that calls each.
const SAMPLERS: [(&str, &str); 17] = [
    ("_bernoulli", "jax.random.bernoulli"),
    ("_gumbel", "jax.random.gumbel"),
    ("_normal", "jax.random.normal"),
    ("_normal_real", "jax.random.normal"),
    ("_truncated_normal", "jax.random.truncated_normal"),
    ("_randint", "jax.random.randint"),
    ("_exponential", "jax.random.exponential"),
    ("_laplace", "jax.random.laplace"),
    ("_cauchy", "jax.random.cauchy"),
    ("_logistic", "jax.random.logistic"),
    ("_rademacher", "jax.random.rademacher"),
    ("_poisson", "jax.random.poisson"),
    ("_gamma", "jax.random.gamma"),
    ("_beta", "jax.random.beta"),
    ("_dirichlet", "jax.random.dirichlet"),
    ("_shuffle", "jax.random.permutation"),
    ("_uniform", "jax.random.uniform"),
];
/// Primitives and functions that make random bits and keys.
const BITS: [&str; 10] = [
    "threefry2x32",
    "_threefry_split",
    "_threefry_fold_in",
    "_threefry_random_bits",
    "_threefry_seed",
    "random_bits",
    "random_split",
    "random_fold_in",
    "random_seed",
    RBG,
];
/// Primitive of the `rbg` generator.
pub(super) const RBG: &str = "rng_bit_generator";
/// Returns the words of an op's path. If XLA joined several paths, returns the words that all of them contain.
pub(super) fn words(path: &str) -> impl Iterator<Item = &str> {
    let first = path.split(';').next().unwrap_or_default();
    let common = first.split("/(").next().unwrap_or_default();
    common.split(['/', '(', ')', ':'])
}

/// Returns true if an op with this path draws random numbers.
fn draws(path: &str) -> bool {
    words(path).any(|word| BITS.contains(&word) || SAMPLERS.iter().any(|(name, _)| *name == word))
}

/// Loops that draw random numbers, and all computations inside them, with the source line of each.
struct Loops(BTreeMap<ComputationIndex, String>);

impl Loops {
    fn of(module: &Module) -> Loops {
        let mut inside: BTreeMap<ComputationIndex, String> = BTreeMap::new();
        // Callers come after the computations that they call.
        for (index, computation) in module.computations().iter().enumerate().rev() {
            let outer = ComputationIndex::try_from(index).ok().and_then(|index| inside.get(&index).cloned());
            for it in module.instructions_of(computation) {
                let own =
                    (it.is("while") && draws(&it.metadata.op_name)).then(|| module.source_of(it).unwrap_or_default());
                if let Some(source) = own.or_else(|| outer.clone()) {
                    inside.extend(it.called.iter().map(|&called| (called, source.clone())));
                }
            }
        }
        Loops(inside)
    }
}

/// Finds the ops that draw random numbers.
#[derive(Default)]
pub(super) struct Draws {
    /// Loops of each program.
    loops: BTreeMap<i64, Loops>,
    /// True for each framework path that draws random numbers. A million ops may have a few thousand paths.
    paths: RefCell<FxHashMap<Text, bool>>,
}

impl Draws {
    /// Looks for loops that draw random numbers in the programs that ran.
    pub(crate) fn new(numbers: &Numbers<'_>) -> Draws {
        let programs: BTreeSet<i64> = numbers.context.analysis.ops.rows.iter().filter_map(|op| op.program_id).collect();
        let loops = programs.into_iter().filter_map(|id| Some((id, Loops::of(numbers.module(id)?)))).collect();
        Draws { loops, ..Draws::default() }
    }

    /// Returns the source line that draws an op's random numbers. Empty if unknown. `None` if the op draws no random
    /// numbers.
    pub(crate) fn source<'a>(&'a self, numbers: &'a Numbers<'_>, op: &Op) -> Option<&'a str> {
        let ops = &numbers.context.analysis.ops;
        let own = ops.text(numbers.trace, op.source);
        if op.family.class() == OpClass::Communication {
            return None;
        }
        let path = || draws(ops.text(numbers.trace, op.framework_path));
        if *self.paths.borrow_mut().entry(op.framework_path).or_insert_with(path) {
            return Some(own);
        }
        let (module, instruction) = numbers.instruction(op)?;
        let of_loop = || self.loops.get(&op.program_id?)?.0.get(&instruction.computation).map(String::as_str);
        let fused = hlo::fused(module, instruction).iter().filter(|it| !it.metadata.op_name.is_empty());
        let (random, all) = fused
            .fold((0usize, 0usize), |(random, all), it| (random + usize::from(draws(&it.metadata.op_name)), all + 1));
        of_loop().or((all > 0 && 2 * random >= all).then_some(own))
    }
}

/// Random numbers that an op draws.
#[derive(Default)]
pub(super) struct Drawn<'a> {
    /// Array of the random numbers, or of the mask that is made from them. For a loop, the largest array of its state.
    pub array: Option<&'a ArrayShape>,
    /// Public function of `jax.random` that the op, or a fused instruction, belongs to.
    pub sampler: Option<&'static str>,
}

impl<'a> Drawn<'a> {
    /// Looks for the random numbers of an op in its compiled program. A fusion may also use the numbers, and return
    /// both a mask and the masked values. Only the instructions inside the fusion show which of its results is the
    /// mask.
    pub(crate) fn by(numbers: &Numbers<'a>, op: &Op) -> Drawn<'a> {
        let own = sampler(numbers.context.analysis.ops.text(numbers.trace, op.framework_path));
        let Some((module, instruction)) = numbers.instruction(op) else {
            return Drawn { array: None, sampler: own };
        };
        let array = |it: &'a Instruction| it.shape.arrays().into_iter().max_by(|a, b| a.bytes().total_cmp(&b.bytes()));
        let inside = || hlo::fused(module, instruction).iter().rev().filter(|it| draws(&it.metadata.op_name));
        let of_sampler = inside().find_map(|it| sampler(&it.metadata.op_name));
        let last = inside().find(|it| sampler(&it.metadata.op_name).is_some()).or_else(|| inside().next());
        Drawn { array: last.and_then(array).or_else(|| array(instruction)), sampler: own.or(of_sampler) }
    }
}

/// Returns the public function of `jax.random` that an op's path belongs to.
pub(super) fn sampler(path: &str) -> Option<&'static str> {
    words(path).find_map(|word| SAMPLERS.iter().find(|(name, _)| *name == word)).map(|(_, function)| *function)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_of_random_functions_draw() {
        assert!(draws("jit(f)/dropout/threefry2x32"));
        // Only a part of a joined path draws random numbers.
        assert!(!draws("jit(f)/(jit(_bernoulli)/lt:mlp/mul)"));
    }
}
