//! A compiled module: its computations and instructions.

use super::by_name::ByName;
use super::instruction::{ComputationIndex, Instruction, InstructionIndex};
use super::stack_frames::StackFrames;

/// A compiled module. Values of constants are not stored, except for single numbers.
#[derive(Clone, Debug, Default)]
pub struct Module {
    pub(super) name: String,
    pub(super) id: i64,
    pub(super) computations: Vec<Computation>,
    pub(super) instructions: Vec<Instruction>,
    pub(super) entry: Option<ComputationIndex>,
    pub(super) by_name: ByName,
    pub(super) damaged: bool,
    /// Instructions in execution order, computation by computation. Empty if the file contains no complete schedule.
    pub(super) schedule: Vec<InstructionIndex>,
    pub(super) frames: StackFrames,
    /// Device assignment of the module.
    pub(super) assignment: Assignment,
    /// `(output, argument)` pairs that share a buffer, sorted by argument.
    pub(super) aliases: Vec<(i64, i64)>,
}

/// Devices that a module was compiled for: `xla.DeviceAssignmentProto`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Assignment {
    pub replicas: i64,
    pub partitions: i64,
    /// Ids of the devices, ordered by replica, then by partition. Empty if the file does not list all devices.
    pub devices: Vec<u32>,
}

/// A list of instructions with parameters and one result.
#[derive(Clone, Debug, Default)]
pub struct Computation {
    /// Id of the computation.
    pub id: i64,
    /// Name of the computation: `fused_computation.3`.
    pub name: String,
    /// Instructions of the computation, operands before their users, as a range of [`Module::instructions`].
    pub instructions: std::ops::Range<InstructionIndex>,
    /// The instruction that is the computation's result.
    pub root: Option<InstructionIndex>,
    /// True if all instructions of the computation are elementwise, including instructions of fusions inside it.
    pub elementwise: bool,
    /// True if a fusion calls the computation.
    pub is_fused: bool,
}

impl Module {
    /// Returns the name of the module: `jit_f`.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the module's own id. Events refer to the module by its program id instead.
    pub fn id(&self) -> i64 {
        self.id
    }

    /// Returns the source files in the program's call stacks. Empty if the file has no call stacks.
    pub fn files(&self) -> &[String] {
        &self.frames.files
    }

    /// Returns true if some of the module's bytes violate the format.
    pub fn damaged(&self) -> bool {
        self.damaged
    }

    /// Returns true if the file contains the order of execution.
    pub fn is_scheduled(&self) -> bool {
        !self.schedule.is_empty()
    }

    /// Returns the instructions of a computation in execution order, or in the file's order if there is no schedule.
    pub fn in_order(&self, computation: &Computation) -> impl Iterator<Item = (InstructionIndex, &Instruction)> {
        computation.instructions.clone().filter_map(|place| {
            let index = self.schedule.get(place as usize).copied().unwrap_or(place);
            Some((index, self.at(index)?))
        })
    }

    /// Returns an instruction by its name (`loop_add_fusion.3`), with or without a leading `%`.
    pub fn instruction(&self, name: &str) -> Option<&Instruction> {
        self.at(self.by_name.find(&self.instructions, name.strip_prefix('%').unwrap_or(name))?)
    }

    /// Returns an instruction by its index.
    pub fn at(&self, index: InstructionIndex) -> Option<&Instruction> {
        self.instructions.get(index as usize)
    }

    /// Returns all instructions, computation by computation.
    pub fn instructions(&self) -> &[Instruction] {
        &self.instructions
    }

    /// Returns all computations, callees before their callers.
    pub fn computations(&self) -> &[Computation] {
        &self.computations
    }

    /// Returns a computation by its index.
    pub fn computation(&self, index: ComputationIndex) -> Option<&Computation> {
        self.computations.get(index as usize)
    }

    /// Returns the entry computation.
    pub fn entry(&self) -> Option<&Computation> {
        self.computation(self.entry?)
    }

    /// Returns the index of the entry computation.
    pub fn entry_index(&self) -> Option<ComputationIndex> {
        self.entry.filter(|&index| self.computation(index).is_some())
    }

    /// Returns the index of an instruction of this module.
    pub fn index_of(&self, instruction: &Instruction) -> Option<InstructionIndex> {
        self.by_name.find(&self.instructions, &instruction.name)
    }

    /// Returns the `n`-th operand of an instruction.
    pub fn operand(&self, instruction: &Instruction, n: usize) -> Option<&Instruction> {
        self.at(*instruction.operands.get(n)?)
    }

    /// Returns the operands of an instruction.
    pub fn operands<'m>(&'m self, instruction: &'m Instruction) -> impl Iterator<Item = &'m Instruction> {
        instruction.operands.iter().filter_map(|&index| self.at(index))
    }

    /// Returns the instructions of a computation, operands before their users.
    pub fn instructions_of(&self, computation: &Computation) -> &[Instruction] {
        let range = &computation.instructions;
        self.instructions.get(range.start as usize..range.end as usize).unwrap_or_default()
    }

    /// Returns the result of a computation.
    pub fn root(&self, computation: &Computation) -> Option<&Instruction> {
        self.at(computation.root?)
    }

    /// Returns the `n`-th computation that an instruction calls.
    pub fn called(&self, instruction: &Instruction, n: usize) -> Option<&Computation> {
        self.computation(*instruction.called.get(n)?)
    }

    /// Returns the source line of an instruction as `file:line`. For a fusion without a source line, returns the source
    /// line of its root. If the root has none, returns the source line of the last instruction in the fusion that has
    /// one.
    pub fn source_of(&self, instruction: &Instruction) -> Option<String> {
        self.with_source(instruction)?.metadata.source()
    }

    /// Returns the call stack of the source line that [`Module::source_of`] returns, as `file:line`, innermost first.
    /// Empty if the file has no call stack.
    pub fn stack_of(&self, instruction: &Instruction) -> Vec<String> {
        let frame = self.with_source(instruction).map_or(0, |from| from.metadata.stack_frame);
        self.frames.stack(frame).map(|(file, line)| format!("{file}:{line}")).collect()
    }

    /// Returns the function that contains the source line of an instruction, if the file records it.
    pub fn function_of(&self, instruction: &Instruction) -> Option<&str> {
        self.frames.own_function(self.with_source(instruction)?.metadata.stack_frame)
    }

    /// Returns the function that the module was compiled from, if the file records it and if the function is defined inside
    /// another one: `Forecaster.forecast.<locals>.<lambda>` for the module `jit__lambda`.
    pub fn local_function(&self) -> Option<&str> {
        let compiled = self.name.strip_prefix("jit_").unwrap_or(&self.name).trim_matches('_');
        self.frames.own_functions().find(|function| {
            let own = function.rsplit_once("<locals>.").map(|(_, own)| own.trim_matches(['<', '>', '_']));
            own == Some(compiled)
        })
    }

    fn with_source<'m>(&'m self, instruction: &'m Instruction) -> Option<&'m Instruction> {
        let has_source = |it: &&Instruction| !it.metadata.source_file.is_empty();
        Some(instruction).filter(has_source).or_else(|| {
            let fused = self.called(instruction, 0).filter(|_| instruction.is("fusion"))?;
            let root = self.root(fused).filter(has_source);
            root.or_else(|| self.instructions_of(fused).iter().rfind(has_source))
        })
    }

    /// Returns the operand that a fusion passes to a parameter of its computation. `None` if the parameter belongs to another
    /// computation, or if several fusions share the computation.
    pub fn argument_of(&self, parameter: &Instruction) -> Option<&Instruction> {
        self.computation(parameter.computation).filter(|it| it.is_fused)?;
        let mut callers = self.instructions.iter().filter(|it| it.called.contains(&parameter.computation));
        let caller = callers.next().filter(|it| it.is("fusion"))?;
        let number = usize::try_from(parameter.attributes().parameter_number?).ok()?;
        if callers.next().is_some() { None } else { self.operand(caller, number) }
    }

    /// Returns true if an output may share the buffer of an argument. If the result is a tuple, its elements are the
    /// outputs.
    pub fn is_aliased(&self, output: usize, argument: i64) -> bool {
        self.outputs_with_buffer_of(argument).any(|of| of == output)
    }

    /// Returns the outputs that may share the buffer of an argument.
    pub fn outputs_with_buffer_of(&self, argument: i64) -> impl Iterator<Item = usize> {
        let first = self.aliases.partition_point(|it| it.1 < argument);
        let of_argument = self.aliases.iter().skip(first).take_while(move |it| it.1 == argument);
        of_argument.filter_map(|it| usize::try_from(it.0).ok())
    }

    /// Returns the `(replicas, partitions)` that the module was compiled for, if the file records them.
    pub fn devices(&self) -> Option<(i64, i64)> {
        let Assignment { replicas, partitions, .. } = self.assignment;
        (replicas > 0 && partitions > 0).then_some((replicas, partitions))
    }

    /// Returns the number of devices that the module was compiled for. 1 if the file does not record it.
    pub fn num_devices(&self) -> u64 {
        let (replicas, partitions) = self.devices().unwrap_or((1, 1));
        replicas.unsigned_abs().saturating_mul(partitions.unsigned_abs())
    }

    /// Returns the ids of the devices that the module was compiled for, ordered by replica, then by partition. The
    /// numbers in `replica_groups` and pairs have the same order. Empty if the file does not list them.
    pub fn device_ids(&self) -> &[u32] {
        &self.assignment.devices
    }
}
