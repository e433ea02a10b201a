//! Finds the phase of a training step that each instruction of a program belongs to.
//!
//! ```text
//! jit(step)/jvp(mlp)/dot_general              forward      from the framework path
//! jit(step)/transpose(jvp(mlp))/dot_general   backward     from the framework path
//! jit(step)/mul                               update       one of its inputs comes from the backward pass
//! jit(step)/mul                               update       all of its users belong to the update: the decay of a moment
//! jit(step)/threefry2x32                      other        neither
//! (no path: a copy that XLA added)            the phase of its first operand with a phase, or of its first user
//! ```
//!
//! A fusion has the phase of the matrix product or convolution inside it, because the product or convolution determines
//! the fusion's time. A fusion without a product or convolution has the phase of its root, because XLA gives the fusion
//! the path of its root.

use super::instruction::{ComputationIndex, Instruction, InstructionIndex};
use super::module::Module;
use base::framework_path::{scopes, training_pass};
use report::Phase;

/// Phases of the instructions of a program that computes gradients.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Phases {
    /// Phase of each instruction.
    of: Vec<Phase>,
}

/// Name scopes that wrap an optimizer by convention.
const UPDATE_SCOPES: [&str; 4] = ["optimizer", "apply_gradients", "apply_updates", "optimizer_update"];

/// Opcodes that belong to no phase, because their path is the path of an argument or a literal.
const LEAVES: [&str; 4] = ["parameter", "constant", "iota", "partition-id"];

impl Phases {
    /// Finds the phases of all instructions. Returns `None` if the program computes no gradients.
    pub fn of(module: &Module) -> Option<Phases> {
        let all = module.instructions();
        let own: Vec<Option<Phase>> = all.iter().map(|it| named(&it.metadata.op_name)).collect();
        if !own.contains(&Some(Phase::Backward)) {
            return None;
        }
        let makes = make_gradients(module, &own);
        let after = after_gradients(module, &own, &makes);
        let runs_both = |it: &Instruction| !it.is("fusion") && calls(&it.called, &makes);
        let mut of: Vec<Option<Phase>> = Vec::with_capacity(all.len());
        for (at, instruction) in all.iter().enumerate() {
            let by_path = own.get(at).copied().flatten();
            of.push(match by_path {
                Some(phase) => Some(phase),
                None if LEAVES.contains(&instruction.opcode.as_str()) || instruction.metadata.op_name.is_empty() => {
                    None
                }
                // The instruction is a loop over batches.
                None if runs_both(instruction) => Some(Phase::Backward),
                None if after.get(at) == Some(&true) => Some(Phase::Update),
                None => Some(Phase::Other),
            });
        }
        // A fusion has the phase of the product inside it. Callees come before their callers.
        for (at, instruction) in all.iter().enumerate().filter(|(_, it)| it.is("fusion")) {
            let is_product =
                |at: &InstructionIndex| module.at(*at).is_some_and(|it| it.is("dot") || it.is("convolution"));
            let product = inside(module, instruction).find(is_product);
            let phase = product.and_then(|product| *of.get(product as usize)?);
            if let (Some(phase), Some(place)) = (phase, of.get_mut(at)) {
                *place = Some(phase);
            }
        }
        before_update(module, &mut of);
        without_path(module, &mut of);
        Some(Phases { of: of.into_iter().map(Option::unwrap_or_default).collect() })
    }

    /// Returns the phase of an instruction.
    pub fn phase(&self, at: InstructionIndex) -> Phase {
        self.of.get(at as usize).copied().unwrap_or_default()
    }

    /// Returns true if the instruction is a fusion that contains instructions of several phases.
    pub fn is_mixed(&self, module: &Module, instruction: &Instruction) -> bool {
        let has_phase = |at: &InstructionIndex| {
            let found = module.at(*at);
            found.is_some_and(|it| !LEAVES.contains(&it.opcode.as_str()) && !it.metadata.op_name.is_empty())
        };
        let mut phases = inside(module, instruction).filter(has_phase).map(|at| self.phase(at));
        let first = phases.next();
        phases.any(|phase| Some(phase) != first)
    }
}

/// Returns the instructions inside a fusion. The range is empty for other instructions.
fn inside(module: &Module, instruction: &Instruction) -> std::ops::Range<InstructionIndex> {
    let called = module.called(instruction, 0).filter(|_| instruction.is("fusion"));
    called.map_or(0..0, |computation| computation.instructions.clone())
}

/// Returns the phase that a framework path names. Ignores the other instructions of the program.
pub fn named(path: &str) -> Option<Phase> {
    match training_pass(path) {
        Some("recomputed") => return Some(Phase::Recomputed),
        Some("backward") => return Some(Phase::Backward),
        Some(_) => return Some(Phase::Forward),
        None => {}
    }
    scopes(path).iter().any(|scope| UPDATE_SCOPES.contains(scope)).then_some(Phase::Update)
}

/// Returns true for each computation that computes gradients, directly or in a computation that it calls.
fn make_gradients(module: &Module, own: &[Option<Phase>]) -> Vec<bool> {
    let mut makes: Vec<bool> = Vec::with_capacity(module.computations().len());
    for computation in module.computations() {
        let is_one = |at: InstructionIndex| {
            own.get(at as usize) == Some(&Some(Phase::Backward))
                || module.at(at).is_some_and(|it| calls(&it.called, &makes))
        };
        let found = computation.instructions.clone().any(is_one);
        makes.push(found);
    }
    makes
}

/// Returns true if one of the called computations is in the set.
fn calls(called: &[ComputationIndex], set: &[bool]) -> bool {
    called.iter().any(|&called| set.get(called as usize) == Some(&true))
}

/// Returns true for each instruction with an input that depends on a gradient, and for each loop that computes
/// gradients. Visits callers before the computations that they call, so that the inputs of a loop are known when its
/// body is visited.
fn after_gradients(module: &Module, own: &[Option<Phase>], makes: &[bool]) -> Vec<bool> {
    let mut after = vec![false; own.len()];
    let mut called_after = vec![false; module.computations().len()];
    for (index, computation) in module.computations().iter().enumerate().rev() {
        let from_caller = called_after.get(index).copied().unwrap_or_default();
        for at in computation.instructions.clone() {
            let Some(instruction) = module.at(at) else { continue };
            let is_gradient = |operand: &InstructionIndex| {
                let at = *operand as usize;
                after.get(at) == Some(&true) || matches!(own.get(at), Some(Some(Phase::Backward | Phase::Update)))
            };
            let depends = match instruction.is("parameter") {
                true => from_caller,
                false => instruction.operands.iter().any(is_gradient),
            };
            if let Some(place) = after.get_mut(at as usize) {
                *place = depends || calls(&instruction.called, makes);
            }
            if depends {
                mark(&mut called_after, &instruction.called);
            }
        }
    }
    after
}

fn mark(called_after: &mut [bool], called: &[ComputationIndex]) {
    for &callee in called {
        if let Some(place) = called_after.get_mut(callee as usize) {
            *place = true;
        }
    }
}

/// Moves instructions that only the update uses, such as the decay of a moment, from [`Phase::Other`] to
/// [`Phase::Update`]. Visits users before the instructions whose results they read. The user of a computation's root is
/// the caller.
fn before_update(module: &Module, of: &mut [Option<Phase>]) {
    /// Phases of an instruction's users.
    #[derive(Clone, Copy, Default)]
    struct Users {
        update: bool,
        others: bool,
    }
    let mut users = vec![Users::default(); of.len()];
    for (at, instruction) in module.instructions().iter().enumerate().rev() {
        let (Some(place), Some(&used)) = (of.get_mut(at), users.get(at)) else { continue };
        if *place == Some(Phase::Other) && used.update && !used.others {
            *place = Some(Phase::Update);
        }
        let Some(phase) = *place else { continue };
        let roots = instruction.called.iter().filter_map(|&called| module.computation(called)?.root);
        for read in instruction.operands.iter().copied().chain(roots) {
            if let Some(users) = users.get_mut(read as usize) {
                users.update |= phase == Phase::Update;
                users.others |= phase != Phase::Update;
            }
        }
    }
}

/// Gives an instruction without a path the phase of its first operand that has a phase. If no operand has a phase, gives it
/// the phase of its first user.
fn without_path(module: &Module, of: &mut [Option<Phase>]) {
    for (at, instruction) in module.instructions().iter().enumerate() {
        if of.get(at) == Some(&None) && !LEAVES.contains(&instruction.opcode.as_str()) {
            let phase = instruction.operands.iter().find_map(|&operand| *of.get(operand as usize)?);
            if let Some(place) = of.get_mut(at) {
                *place = phase;
            }
        }
    }
    for (at, instruction) in module.instructions().iter().enumerate().rev() {
        let Some(&Some(phase)) = of.get(at) else { continue };
        for &operand in &instruction.operands {
            if let Some(place @ None) = of.get_mut(operand as usize) {
                *place = Some(phase);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use super::*;

    fn module(name: &str) -> Module {
        let path = format!("{}/../../tests/data/phases/{name}.pb.gz", env!("CARGO_MANIFEST_DIR"));
        let mut bytes = Vec::new();
        flate2::read::GzDecoder::new(std::fs::File::open(path).unwrap()).read_to_end(&mut bytes).unwrap();
        crate::read_module(&bytes)
    }

    /// Returns the phase according to the scopes that tests/data/phases/make.py puts around its code.
    fn truth(path: &str) -> Option<Phase> {
        let marks = [
            ("rematted_computation", Phase::Recomputed),
            ("transpose(", Phase::Backward),
            ("truth_forward", Phase::Forward),
            ("truth_update", Phase::Update),
            ("truth_other", Phase::Other),
        ];
        marks.into_iter().find_map(|(mark, phase)| path.contains(mark).then_some(phase))
    }

    #[test]
    fn phases_are_those_of_the_source() {
        for (name, least) in [("adamw", 250), ("clipped", 300), ("checkpointed", 290), ("accumulated", 290)] {
            let module = module(name);
            let phases = Phases::of(&module).unwrap();
            let mut checked = 0;
            for (at, it) in (0..).zip(module.instructions()) {
                let expected = truth(&it.metadata.op_name).filter(|_| !LEAVES.contains(&it.opcode.as_str()));
                if let Some(expected) = expected {
                    assert_eq!(phases.phase(at), expected, "{name}: {} {}", it.name, it.metadata.op_name);
                    checked += 1;
                }
            }
            assert!(checked >= least, "{name}: {checked}");
        }
    }

    /// In the compiled program, each outermost fusion has the phase of one of the instructions inside it.
    #[test]
    fn a_fusion_has_a_phase_of_what_it_contains() {
        for name in ["adamw", "clipped", "checkpointed", "accumulated"] {
            let module = module(&format!("{name}.optimized"));
            let phases = Phases::of(&module).unwrap();
            let mut mixed = 0;
            for (at, it) in (0..).zip(module.instructions()).filter(|(_, it)| it.is("fusion")) {
                let within = crate::fused(&module, it).iter().filter(|it| !LEAVES.contains(&it.opcode.as_str()));
                // The loop's own slices are in no scope of the source.
                let within: Option<Vec<Phase>> = within.map(|it| truth(&it.metadata.op_name)).collect();
                let Some(within) = within.filter(|within| !within.is_empty()) else { continue };
                assert!(within.contains(&phases.phase(at)), "{name}: {} {:?} {within:?}", it.name, phases.phase(at));
                let is_mixed = within.iter().any(|phase| Some(phase) != within.first());
                assert_eq!(phases.is_mixed(&module, it), is_mixed, "{name}: {} {within:?}", it.name);
                mixed += usize::from(is_mixed);
            }
            assert!(mixed > 0, "{name}");
        }
    }

    #[test]
    fn programs_without_gradients_have_no_phases() {
        let bytes = include_bytes!("../../../tests/data/hlo/jit_scan.pb");
        assert_eq!(Phases::of(&crate::read_module(bytes)), None);
    }
}
