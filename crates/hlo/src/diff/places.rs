//! Finds the places of instructions in a program: whether an instruction runs by itself, and the scope that it belongs
//! to.

use base::framework_path::{scopes, training_pass};

use crate::instruction::{ComputationIndex, InstructionIndex};
use crate::module::Module;

/// Opcodes whose called computations run one instruction at a time.
const RUNS: [&str; 5] = ["while", "conditional", "call", "async-start", "custom-call"];

/// Maximum depth of nested fusions.
const MOST_NESTED: usize = 4;

/// Places of the instructions of one program.
#[derive(Clone, Debug, Default)]
pub struct Places {
    /// True for computations whose instructions run one by one. False for computations inside fusions and reductions.
    runs: Vec<bool>,
    /// First instruction that calls each computation.
    callers: Vec<Option<InstructionIndex>>,
}

impl Places {
    /// Finds the places in a program.
    pub fn of(module: &Module) -> Places {
        let mut callers = vec![None; module.computations().len()];
        for (at, instruction) in (0..).zip(module.instructions()) {
            for &called in &instruction.called {
                if let Some(place @ None) = callers.get_mut(called as usize) {
                    *place = Some(at);
                }
            }
        }
        Places { runs: running(module), callers }
    }

    /// Returns true for an instruction that runs by itself, not inside a fusion or reduction.
    pub fn runs(&self, module: &Module, at: InstructionIndex) -> bool {
        let computation = module.at(at).map(|it| it.computation as usize);
        computation.and_then(|it| self.runs.get(it)) == Some(&true)
    }

    /// Returns the pass and the name scopes of an instruction: `forward/layer_3/attn`. If an instruction of a fusion or
    /// reduction has no path, returns the pass and scopes of its caller.
    pub fn scope(&self, module: &Module, at: InstructionIndex) -> String {
        let mut next = module.at(at);
        for _ in 0..MOST_NESTED {
            let Some(it) = next else { break };
            let path = it.metadata.op_name.as_str();
            // The path of a reduction's parameter is only the name of the primitive.
            if path.contains('/') || self.runs.get(it.computation as usize) == Some(&true) {
                return training_pass(path).into_iter().chain(scopes(path)).collect::<Vec<_>>().join("/");
            }
            let caller = self.callers.get(it.computation as usize).copied().flatten();
            next = caller.and_then(|caller| module.at(caller));
        }
        String::new()
    }
}

/// Returns true for each computation whose instructions run one by one.
fn running(module: &Module) -> Vec<bool> {
    let mut runs = vec![false; module.computations().len()];
    let entry = super::entry(module).map(std::ptr::from_ref);
    let indices = || (0..).zip(module.computations());
    let mut next: Vec<ComputationIndex> =
        indices().filter(|(_, it)| entry == Some(std::ptr::from_ref(*it))).map(|(index, _)| index).collect();
    while let Some(at) = next.pop() {
        if let (Some(place @ false), Some(computation)) = (runs.get_mut(at as usize), module.computation(at)) {
            *place = true;
            let callers = module.instructions_of(computation).iter().filter(|it| RUNS.contains(&it.opcode.as_str()));
            next.extend(callers.flat_map(|it| &it.called));
        }
    }
    runs
}
