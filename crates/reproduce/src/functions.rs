//! Python functions for the computations that an op calls.

use std::fmt::Write as _;

use hlo::{Computation, ComputationIndex, Instruction, InstructionIndex, Module};
use rustc_hash::FxHashMap;

use crate::mesh::Mesh;
use crate::names::{self, Names};
use crate::{Unsupported, limits, python};

/// Function that returns the Python expression of an instruction, given the expressions of its operands. The function
/// may write further Python functions.
pub(crate) type Expression = fn(&mut Functions<'_>, &Instruction, &[String]) -> Result<String, Unsupported>;

/// Python functions of one script. Each function is written once.
pub(crate) struct Functions<'m> {
    /// The program.
    pub module: &'m Module,
    /// Devices of the collectives, if the op contains any.
    pub mesh: Option<Mesh>,
    /// Identifiers of the script.
    pub names: Names,
    /// Python text of the functions written so far, callees first.
    pub text: String,
    /// Differences between the script and the program, as sentences for the head comment.
    pub notes: Vec<String>,
    /// True if a value has a 64-bit type.
    pub is_wide: bool,
    op: String,
    /// Writes one instruction. This is a field because instructions call functions, and functions consist of instructions.
    expression: Expression,
    made: FxHashMap<ComputationIndex, String>,
    open: Vec<ComputationIndex>,
    instructions: usize,
}

impl<'m> Functions<'m> {
    pub(crate) fn new(
        module: &'m Module,
        op: &Instruction,
        mesh: Option<Mesh>,
        expression: Expression,
    ) -> Functions<'m> {
        Functions {
            module,
            mesh,
            names: Names::new(),
            text: String::new(),
            notes: Vec::new(),
            is_wide: false,
            op: op.name.clone(),
            expression,
            made: FxHashMap::default(),
            open: Vec::new(),
            instructions: 0,
        }
    }

    /// Adds a sentence to the head comment, once.
    pub(crate) fn note(&mut self, sentence: &str) {
        if !self.notes.iter().any(|it| it == sentence) {
            self.notes.push(sentence.to_owned());
        }
    }

    /// Returns the name of the function for the `n`-th computation that an instruction calls.
    pub(crate) fn called(&mut self, instruction: &Instruction, n: usize) -> Result<String, Unsupported> {
        let index = instruction.called.get(n).copied();
        let index = index.ok_or_else(|| Unsupported::missing("the called computation", &instruction.name))?;
        self.function(index)
    }

    /// Returns the name of the function for a computation. Writes the function if it is not written yet.
    fn function(&mut self, index: ComputationIndex) -> Result<String, Unsupported> {
        if let Some(name) = self.made.get(&index) {
            return Ok(name.clone());
        }
        let module = self.module;
        let computation = module.computation(index);
        let computation = computation.ok_or_else(|| Unsupported::missing("a called computation", &self.op))?;
        if self.open.contains(&index) {
            return Err(Unsupported::Cyclic(names::comment(&computation.name)));
        }
        if self.open.len() >= limits::DEPTH {
            return Err(self.too_large());
        }
        self.open.push(index);
        let name = self.names.add(&computation.name);
        let text = self.definition(&name, computation)?;
        self.text.push_str(&text);
        self.open.pop();
        self.made.insert(index, name.clone());
        Ok(name)
    }

    fn too_large(&self) -> Unsupported {
        Unsupported::TooLarge { name: names::comment(&self.op), limit: limits::INSTRUCTIONS }
    }

    fn definition(&mut self, name: &str, computation: &Computation) -> Result<String, Unsupported> {
        let module = self.module;
        let root = computation.root.ok_or_else(|| Unsupported::missing("the result", &computation.name))?;
        let mut values: FxHashMap<InstructionIndex, String> = FxHashMap::default();
        let mut parameters = Vec::new();
        let mut body = String::new();
        for (index, instruction) in computation.instructions.clone().zip(module.instructions_of(computation)) {
            self.instructions += 1;
            if self.instructions > limits::INSTRUCTIONS {
                return Err(self.too_large());
            }
            let name = self.names.add(&instruction.name);
            self.is_wide |= instruction.shape.arrays().iter().any(|array| python::is_wide(array.data_type));
            if instruction.is("parameter") {
                parameters.push((instruction.attributes().parameter_number.unwrap_or(0), name.clone()));
            } else {
                let arguments: Option<Vec<String>> =
                    instruction.operands.iter().map(|operand| values.get(operand).cloned()).collect();
                let arguments = arguments.ok_or_else(|| Unsupported::missing("an operand", &instruction.name))?;
                let value = (self.expression)(self, instruction, &arguments)?;
                let _ = writeln!(body, "    {name} = {value}");
            }
            values.insert(index, name);
        }
        base::sort::sort_by_key(&mut parameters, |it| it.0);
        let parameters: Vec<String> = parameters.into_iter().map(|it| it.1).collect();
        let result = values.get(&root).ok_or_else(|| Unsupported::missing("the result", &computation.name))?;
        Ok(format!("def {name}({}):\n{body}    return {result}\n\n\n", parameters.join(", ")))
    }
}

/// Returns the opcode of a computation that applies one operation to its two parameters in order, like the sum of a
/// reduction.
pub(crate) fn simple<'m>(module: &'m Module, instruction: &Instruction, n: usize) -> Option<&'m str> {
    let computation = module.called(instruction, n)?;
    let root = module.root(computation)?;
    let [first, second] = root.operands.as_slice() else { return None };
    let number = |index: InstructionIndex| module.at(index).and_then(|it| it.attributes().parameter_number);
    let ordered = (number(*first), number(*second)) == (Some(0), Some(1));
    let commutes = matches!(root.opcode.as_str(), "add" | "multiply" | "maximum" | "minimum" | "and" | "or" | "xor");
    let swapped = (number(*first), number(*second)) == (Some(1), Some(0));
    (ordered || swapped && commutes).then_some(root.opcode.as_str())
}
