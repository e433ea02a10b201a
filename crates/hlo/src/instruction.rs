//! One instruction of a module, with its attributes and metadata.

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
    /// Opcode: `fusion`, `dot`, `custom-call`.
    pub opcode: String,
    /// Shape of the instruction's result.
    pub shape: Shape,
    /// Operands of the instruction. Omits operands that the file lacks.
    pub operands: Vec<InstructionIndex>,
    /// Computations that the instruction calls, in the opcode's order (a while loop: body, condition). Omits
    /// computations that the file lacks.
    pub called: Vec<ComputationIndex>,
    /// Computation that contains the instruction.
    pub computation: ComputationIndex,
    /// Framework op and source line that the instruction was compiled from.
    pub metadata: Metadata,
    /// Attributes that only some opcodes have. `None` if the instruction has none of these attributes.
    pub(super) attributes: Option<Box<Attributes>>,
}

/// Framework op and source line that an instruction was compiled from.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Metadata {
    /// Type of the framework's op. Empty if unknown.
    pub op_type: String,
    /// The framework's path: `jit(f)/jit(main)/layer_3/attn/dot_general`. Empty if unknown.
    pub op_name: String,
    /// Source file of the innermost call stack line that is not in a library (see [`base::source_line`]). If there is
    /// no such line, this is the file that the program records. Empty if unknown.
    pub source_file: String,
    /// Line in the source file. Zero if unknown.
    pub source_line: i64,
    /// Name of the op that this op duplicates. Empty if this op is not a duplicate.
    pub deduplicated_name: String,
    /// Index of the instruction's frame in the module's stack frames, from 1. Zero if unknown.
    pub stack_frame: i64,
}

impl Metadata {
    /// Returns `file:line`, or `None` if unknown.
    pub fn source(&self) -> Option<String> {
        match (self.source_file.as_str(), self.source_line) {
            ("", _) => None,
            (file, 0) => Some(file.to_owned()),
            (file, line) => Some(format!("{file}:{line}")),
        }
    }
}

impl Instruction {
    /// Returns the attributes that only some opcodes have. The fields are empty if the instruction has none of these
    /// attributes.
    pub fn attributes(&self) -> &Attributes {
        static NONE: Attributes = Attributes::NONE;
        self.attributes.as_deref().unwrap_or(&NONE)
    }

    /// Returns true if the instruction has this opcode.
    pub fn is(&self, opcode: &str) -> bool {
        self.opcode == opcode
    }

    /// Returns true for a matrix product: a dot, or a library call that computes one.
    pub fn is_matrix_product(&self) -> bool {
        let is_call = |target: &str| target.contains("gemm") || target.contains("matmul");
        self.is("dot") || self.custom_call_target().is_some_and(is_call)
    }

    /// Returns the target of a custom call, or `None` for other instructions.
    pub fn custom_call_target(&self) -> Option<&str> {
        Some(self.attributes().custom_call_target.as_str())
            .filter(|target| self.is("custom-call") && !target.is_empty())
    }
}
