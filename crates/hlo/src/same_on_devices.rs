//! Finds the values that all devices of a program compute alike.
//!
//! ```text
//! p, sharding={replicated} ----------------------------.
//! x, sharding={devices=[4,1]<=[4]} --> gradient(x, p) --> all-reduce --> update(p, _)      the same on all devices
//!                                      different
//! ```

use rustc_hash::FxHashSet;

use super::collective::collective;
use super::instruction::{Instruction, InstructionIndex};
use super::module::Module;
use super::placement::Placement;

/// Instructions whose results differ between devices, or are random.
const DIFFERENT: [&str; 6] = ["partition-id", "replica-id", "rng", "infeed", "recv", "recv-done"];

/// Returns the instructions of the entry computation, and of the loops in it, whose results are the same on all devices: all
/// their inputs are replicated arguments, constants, or results of an all-reduce or all-gather over all devices.
///
/// Treats a result as different if it is unknown whether it is the same. Returns an empty set for a program for one device.
pub fn same_on_devices(module: &Module) -> FxHashSet<InstructionIndex> {
    let mut same = FxHashSet::default();
    let (devices, has_replicas) = (module.num_devices(), module.devices().is_some_and(|(replicas, _)| replicas > 1));
    if devices < 2 {
        return same;
    }
    let Some(entry) = module.entry() else { return same };
    for (index, it) in module.in_order(entry) {
        let is_same = match it.opcode.as_str() {
            // Replicas get their own arguments.
            "parameter" => !has_replicas && is_replicated(it),
            _ => {
                is_reduced_over(module, it, devices) || {
                    let inputs_are_same = it.operands.iter().all(|operand| same.contains(operand));
                    inputs_are_same && is_alike(module, it, 0)
                }
            }
        };
        if is_same {
            same.insert(index);
            if it.is("while") {
                let body = module.called(it, 0).map_or(&[][..], |body| module.instructions_of(body));
                same.extend(body.iter().filter_map(|inside| module.index_of(inside)));
            }
        }
    }
    same
}

/// Returns true for an argument that each device holds as a whole.
fn is_replicated(parameter: &Instruction) -> bool {
    let rank = parameter.shape.array().map(|array| array.dimensions.len());
    rank.is_some_and(|rank| Placement::of(parameter.attributes(), rank) == Some(Placement::Replicated))
}

/// Returns true for an all-reduce or all-gather over all devices.
fn is_reduced_over(module: &Module, instruction: &Instruction, devices: u64) -> bool {
    let Some(found) = collective(module, instruction) else { return false };
    let is_of_all = found
        .replica_groups
        .is_some_and(|groups| groups.len() == 1 && groups.iter().all(|it| it.len() as u64 == devices));
    matches!(found.kind, "all-reduce" | "all-gather") && is_of_all && !instruction.is("fusion")
}

/// Maximum depth of nested computations that are read.
const DEEPEST: usize = 16;

/// Returns true if an instruction computes the same result from the same inputs on each device.
fn is_alike(module: &Module, instruction: &Instruction, depth: usize) -> bool {
    let is_unknown = instruction.is("custom-call") && !instruction.is_matrix_product();
    let is_different = DIFFERENT.contains(&instruction.opcode.as_str()) || collective(module, instruction).is_some();
    if depth > DEEPEST || is_unknown || is_different {
        return false;
    }
    (0..instruction.called.len()).all(|at| {
        let called = module.called(instruction, at).map_or(&[][..], |called| module.instructions_of(called));
        called.iter().all(|inside| is_alike(module, inside, depth + 1))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::read_module;

    const PROGRAM: &str = "HloModule m, num_partitions=4

add {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT c = f32[] add(a, b)
}

ENTRY main {
  p = f32[8,8] parameter(0), sharding={replicated}
  x = f32[2,8] parameter(1), sharding={devices=[4,1]<=[4]}
  h = f32[2,8] dot(x, p), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  g = f32[8,8] dot(x, h), lhs_contracting_dims={0}, rhs_contracting_dims={0}
  sum = f32[8,8] all-reduce(g), replica_groups={{0,1,2,3}}, to_apply=add
  pairs = f32[8,8] all-reduce(g), replica_groups={{0,1},{2,3}}, to_apply=add
  gram = f32[8,8] dot(sum, sum), lhs_contracting_dims={1}, rhs_contracting_dims={1}
  other = f32[8,8] dot(pairs, p), lhs_contracting_dims={1}, rhs_contracting_dims={1}
  id = u32[] partition-id()
  wide = u32[8,8] broadcast(id), dimensions={}
  ROOT new = f32[8,8] subtract(p, gram)
}
";

    #[test]
    fn values_are_the_same_after_a_reduction_over_all_devices() {
        let module = read_module(PROGRAM.as_bytes());
        let same = same_on_devices(&module);
        let names = ["p", "x", "h", "g", "sum", "pairs", "gram", "other", "id", "wide", "new"];
        let is_same = |name: &&str| {
            module.instruction(name).and_then(|it| module.index_of(it)).is_some_and(|it| same.contains(&it))
        };
        assert_eq!(names.into_iter().filter(is_same).collect::<Vec<_>>(), ["p", "sum", "gram", "new"]);
        let alone = read_module(PROGRAM.replace("=4\n", "=1\n").as_bytes());
        assert!(same_on_devices(&alone).is_empty());
    }
}
