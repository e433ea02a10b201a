//! What the framework's path of each instruction says: its pass of a training step, and its scope.

use base::framework_path::{scopes, training_pass};
use hlo::{Instruction, InstructionIndex, Module};
use rustc_hash::FxHashMap;

/// Instructions that are looked through for the pass of one.
const MOST_STEPS: u32 = 8;

/// The pass of a training step that an instruction is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pass {
    Forward,
    Backward,
    /// The forward pass again, for the backward pass.
    Recomputed,
}

/// Number of a scope of a program; 0 is none.
pub(crate) type ScopeIndex = usize;

/// The passes and scopes of the instructions of a program. Instructions share paths, and paths share scopes: each is looked at once.
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

    /// The pass of an instruction; `None` where nothing says it.
    pub(crate) fn pass(&self, instruction: InstructionIndex) -> Option<Pass> {
        self.passes.get(instruction as usize).copied().flatten()
    }

    /// The scope of an instruction.
    pub(crate) fn scope(&self, instruction: InstructionIndex) -> ScopeIndex {
        self.scopes.get(instruction as usize).copied().unwrap_or_default()
    }

    /// Name of a scope, parts with a slash between them; empty of no scope.
    pub(crate) fn name(&self, scope: ScopeIndex) -> &str {
        self.names.get(scope).map_or("", String::as_str)
    }

    /// The names of all scopes, by their numbers.
    pub(crate) fn names(&self) -> &[String] {
        &self.names
    }
}

/// The scope of a path that JAX gives an instruction; of an argument all but the last part of its name, which is the array's.
pub(crate) fn scope_of(path: &str, is_argument: bool) -> String {
    if !is_argument {
        return scopes(path).join("/");
    }
    let mut parts = hlo::argument_parts(path);
    parts.pop();
    parts.join("/")
}

/// What is known of paths already.
struct Known<'m> {
    /// Pass and scope by path; arguments' names are apart.
    paths: FxHashMap<(&'m str, bool), (Option<Pass>, ScopeIndex)>,
    scopes: FxHashMap<String, ScopeIndex>,
    names: Vec<String>,
}

impl<'m> Known<'m> {
    /// Pass and scope of an instruction by its path alone.
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

    /// The pass of an instruction: by its path; of a fusion without one, by that of what is in it, the last first; of what only hands
    /// a value on, by that of its operand.
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
