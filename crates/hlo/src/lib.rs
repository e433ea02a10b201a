//! Compiled modules (HLO) that a profile embeds. These modules contain the computations that GPU kernels and TPU ops
//! run.
//!
//! ```text
//! Trace::hlo (bytes) -> Modules::find(host, program id) -> Module -> instruction(name of the kernel's hlo_op)
//!                                                                        |-> category, expression, fused, source
//!                                                                        |-> cost         FLOPs and bytes
//!                                                                        '-> collective   the devices that communicate
//! ```
//!
//! A module is read on first access. The values of large constants are skipped, because nothing uses them. The crate
//! `memory` reads buffer assignments.

#![warn(clippy::indexing_slicing, clippy::panic, clippy::unwrap_used)]

mod argument_names;
mod arguments;
mod array_uses;
mod attributes;
mod backend_config;
mod by_name;
mod category;
pub(crate) mod collective;
pub mod cost;
mod data_type;
mod derived;
pub mod diff;
mod expression;
mod fingerprint;
mod half;
mod instruction;
mod link;
mod mask;
mod module;
mod modules;
mod operand_types;
mod phases;
mod placement;
mod precision;
mod print;
mod read;
mod replica_groups;
mod row_indices;
mod same_on_devices;
mod shape;
mod stack_frames;
mod text;

pub use argument_names::{NamedRole, parts as argument_parts};
pub use arguments::{Argument, Outcome, arguments, has_gradients};
pub use array_uses::array_uses;
pub use attributes::{
    Attributes, ConvolutionDimensions, DotDimensions, GatherDimensions, MeshAxes, ReplicaGroups, SliceDimension,
    TriangularSolve, WindowDimension,
};
pub use category::category;
pub use collective::{Collective, collective, collective_kind};
pub use cost::elementwise::is_elementwise;
pub use cost::{Conventions, Cost, CostSource, cost, cost_by, has_author_estimate};
pub use data_type::DataType;
pub use expression::expression;
pub use fingerprint::{InstructionIdentity, fingerprint, instruction_identity, module_fingerprint};
pub use instruction::{ComputationIndex, Instruction, InstructionIndex, Metadata};
pub use link::{Link, Target};
pub use mask::kept_share;
pub use module::{Computation, Module};
pub use modules::Modules;
pub use operand_types::operand_types;
pub use phases::{Phases, named as named_phase};
pub use placement::Placement;
pub use precision::{Precision, precision};
pub use print::{Line, Printed, print, print_computation};
pub use read::{module as read_module, proto as read_proto};
pub use replica_groups::lists as replica_lists;
pub use row_indices::{RowIndices, row_indices};
pub use same_on_devices::same_on_devices;
pub use shape::{ArrayShape, Layout, Shape};
pub use text::is_text;

/// Returns true if the instruction computes a result again so that the first result need not stay in memory. Such an
/// instruction has `.remat` in its name (from the compiler's own pass) or `rematted_computation` in its framework path
/// (from `jax.checkpoint`).
pub fn is_rematerialized(_module: &Module, instruction: &Instruction) -> bool {
    instruction.name.contains(".remat") || instruction.metadata.op_name.contains("rematted_computation")
}

/// Returns the instructions inside a fusion, including parameters, with operands before their users. The result is
/// empty for other instructions.
pub fn fused<'m>(module: &'m Module, instruction: &Instruction) -> &'m [Instruction] {
    if !instruction.is("fusion") {
        return &[];
    }
    module.called(instruction, 0).map_or(&[], |computation| module.instructions_of(computation))
}
