//! Finds the scope of each instruction, and the pass of the training step that it belongs to, from its framework path.

use base::framework_path::{scopes, training_pass};
use hlo::{Instruction, InstructionIndex, Module};
use rustc_hash::FxHashMap;

/// Maximum number of instructions to look through to find the pass of an instruction.
const MOST_STEPS: u32 = 8;

/// Pass of a training step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pass {
    Forward,
    Backward,
    /// Repetition of the forward pass for the backward pass.
    Recomputed,
}

/// Index of a scope of a program. Zero means no scope.
pub(crate) type ScopeIndex = usize;

/// Passes and scopes of a program's instructions. Instructions share paths, and paths share scopes, so each path and
/// each scope is parsed only once.
#[derive(Clone, Debug)]
pub(crate) struct Paths {
    passes: Vec<Option<Pass>>,
    scopes: Vec<ScopeIndex>,
    names: Vec<String>,
}

impl Paths {
    pub(crate) fn of(module: &Module) -> Paths {
        let mut known = Known { paths: FxHashMap::default(), scopes: FxHashMap::default(), names: vec![String::new()] };
        known.scopes.insert(String::new(), 0);
        let passes = module.instructions().iter().map(|it| known.pass(module, it, MOST_STEPS)).collect();
        let scopes = module.instructions().iter().map(|it| known.scope(it)).collect();
        Paths { passes, scopes, names: known.names }
    }

    /// Returns the pass of an instruction. Returns `None` if the pass is unknown.
    pub(crate) fn pass(&self, instruction: InstructionIndex) -> Option<Pass> {
        self.passes.get(instruction as usize).copied().flatten()
    }

    pub(crate) fn scope(&self, instruction: InstructionIndex) -> ScopeIndex {
        self.scopes.get(instruction as usize).copied().unwrap_or_default()
    }

    /// Returns the name of a scope, with parts separated by slashes. Empty if there is no scope.
    pub(crate) fn name(&self, scope: ScopeIndex) -> &str {
        self.names.get(scope).map_or("", String::as_str)
    }

    /// Returns the names of all scopes, by index.
    pub(crate) fn names(&self) -> &[String] {
        &self.names
    }
}

/// Returns the scope of a path that JAX gives an instruction. For an argument, the scope is the name without its last
/// part, the name of the array.
pub(crate) fn scope_of(path: &str, is_argument: bool) -> String {
    if !is_argument {
        return scopes(path).join("/");
    }
    let mut parts = hlo::argument_parts(path);
    parts.pop();
    parts.join("/")
}

/// Paths that were already parsed.
struct Known<'m> {
    /// Pass and scope by path. The flag is true for names of arguments.
    paths: FxHashMap<(&'m str, bool), (Option<Pass>, ScopeIndex)>,
    scopes: FxHashMap<String, ScopeIndex>,
    names: Vec<String>,
}

impl<'m> Known<'m> {
    /// Returns pass and scope of an instruction from its path alone.
    fn by_path(&mut self, instruction: &'m Instruction) -> (Option<Pass>, ScopeIndex) {
        let (path, is_argument) = (instruction.metadata.op_name.as_str(), instruction.is("parameter"));
        if let Some(&known) = self.paths.get(&(path, is_argument)) {
            return known;
        }
        let pass = training_pass(path).map(|pass| match pass {
            "recomputed" => Pass::Recomputed,
            "backward" => Pass::Backward,
            _ => Pass::Forward,
        });
        let scope = *self.scopes.entry(scope_of(path, is_argument)).or_insert_with_key(|name| {
            self.names.push(name.clone());
            self.names.len() - 1
        });
        self.paths.insert((path, is_argument), (pass, scope));
        (pass, scope)
    }

    fn scope(&mut self, instruction: &'m Instruction) -> ScopeIndex {
        self.by_path(instruction).1
    }

    /// Returns the pass of an instruction from its path. A fusion without a path has the pass of its contents, which
    /// are searched from the last instruction. An instruction that only passes a value on has the pass of its operand.
    fn pass(&mut self, module: &'m Module, instruction: &'m Instruction, steps: u32) -> Option<Pass> {
        self.by_path(instruction).0.or_else(|| match instruction.opcode.as_str() {
            "fusion" => hlo::fused(module, instruction).iter().rev().find_map(|it| self.by_path(it).0),
            "copy" | "copy-start" | "copy-done" | "bitcast" | "get-tuple-element" => {
                self.pass(module, module.operand(instruction, 0)?, steps.checked_sub(1)?)
            }
            _ => None,
        })
    }
}
