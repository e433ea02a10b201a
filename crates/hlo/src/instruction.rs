//! One instruction of a module and what the file says of it.

use super::attributes::Attributes;
use super::shape::Shape;

/// Index of an instruction in [`super::Module::instructions`].
pub type InstructionIndex = u32;

/// Index of a computation in [`super::Module::computations`].
pub type ComputationIndex = u32;

/// One HLO instruction.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Instruction {
    /// Id of the instruction, unique in its computation.
    pub id: i64,
    /// Name of the instruction, unique in the module: `loop_add_fusion.3`.
    pub name: String,
    /// What the instruction does: `fusion`, `dot`, `custom-call`.
    pub opcode: String,
    /// Type of the instruction's result.
    pub shape: Shape,
    /// Operands of the instruction. Those that the file does not hold are left out.
    pub operands: Vec<InstructionIndex>,
    /// Computations that it calls, in the opcode's order (a while loop: body, condition). Those that the file does not
    /// hold are left out.
    pub called: Vec<ComputationIndex>,
    /// The computation that it stands in.
    pub computation: ComputationIndex,
    /// Source that made the instruction.
    pub metadata: Metadata,
    /// What only some opcodes have.
    pub(super) attributes: Option<Box<Attributes>>,
}

/// Which source made an instruction.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Metadata {
    /// Type of the framework's op, empty when unknown.
    pub op_type: String,
    /// The framework's path: `jit(f)/jit(main)/layer_3/attn/dot_general`, empty when unknown.
    pub op_name: String,
    /// Source file, empty when unknown: of the innermost line of its call stack that is in no library, see [`base::source_line`]; where it has none, as
    /// the program states it.
    pub source_file: String,
    /// Line in the source file, 0 when unknown.
    pub source_line: i64,
    /// Name of the op of which this one is a duplicate, empty when it is none.
    pub deduplicated_name: String,
    /// 1-based frame in the module's stack frames, 0 when unknown.
    pub stack_frame: i64,
}

impl Metadata {
    /// `file:line`, `None` when unknown.
    pub fn source(&self) -> Option<String> {
        match (self.source_file.as_str(), self.source_line) {
            ("", _) => None,
            (file, 0) => Some(file.to_owned()),
            (file, line) => Some(format!("{file}:{line}")),
        }
    }
}

impl Instruction {
    /// What only some opcodes have; all empty where the instruction has none of it.
    pub fn attributes(&self) -> &Attributes {
        static NONE: Attributes = Attributes::NONE;
        self.attributes.as_deref().unwrap_or(&NONE)
    }

    /// Is the opcode this one?
    pub fn is(&self, opcode: &str) -> bool {
        self.opcode == opcode
    }

    /// Target of a custom call.
    pub fn custom_call_target(&self) -> Option<&str> {
        Some(self.attributes().custom_call_target.as_str())
            .filter(|target| self.is("custom-call") && !target.is_empty())
    }
}
