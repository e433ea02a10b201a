//! What a buffer is for, with the rule that says so and how sure it is.
//!
//! | class | rule |
//! |---|---|
//! | parameter, optimizer state, gradient, input | an argument, by its name; else, where the program computes gradients, by whether it comes back changed |
//! | output | holds a result of the program, and no argument |
//! | constant | holds a constant |
//! | collective scratch | a collective makes it |
//! | activation | made in the forward pass and freed in the backward pass |
//! | gradient | made in the backward pass, with the type and shape of a parameter |
//! | temporary | comes and goes otherwise |
//! | unknown | nothing of this can be said |
//!
//! Passes are those of the paths that JAX gives its ops: `jvp(` is forward, `transpose(` backward, `rematted_computation` computed again.

use base::framework_path::training_pass;
use hlo::{ArrayShape, Instruction, Module, NamedRole, Outcome, collective_kind, has_gradients};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::assignment::{Allocation, Category};
use crate::heap::Lifetime;
use crate::program::{LiveBuffer, ProgramMemory, SpaceMemory};

/// Instructions that are looked through for the pass of one.
const MOST_STEPS: u32 = 8;

/// What a buffer is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Class {
    /// A parameter of the model.
    Parameter,
    /// What the optimizer keeps from step to step.
    OptimizerState,
    /// A gradient of a parameter.
    Gradient,
    /// A value of the forward pass that is kept for the backward pass.
    Activation,
    /// What the program is given to work on.
    Input,
    /// A result.
    Output,
    /// A constant that is part of the program.
    Constant,
    /// What a collective writes.
    CollectiveScratch,
    /// A value that is needed for a while.
    Temporary,
    /// Not known.
    Unknown,
}

impl Class {
    /// Its name for people and files.
    pub fn label(self) -> &'static str {
        match self {
            Class::Parameter => "parameter",
            Class::OptimizerState => "optimizer state",
            Class::Gradient => "gradient",
            Class::Activation => "activation",
            Class::Input => "input",
            Class::Output => "output",
            Class::Constant => "constant",
            Class::CollectiveScratch => "collective scratch",
            Class::Temporary => "temporary",
            Class::Unknown => "unknown",
        }
    }
}

/// How sure a class is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Confidence {
    /// Other explanations are likely too.
    Low,
    /// Holds for usual programs.
    Medium,
    /// The compiler, or a name that somebody gave, says it.
    High,
}

impl Confidence {
    /// Its name for people and files.
    pub fn label(self) -> &'static str {
        match self {
            Confidence::Low => "low",
            Confidence::Medium => "medium",
            Confidence::High => "high",
        }
    }
}

/// A class with its reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Classification {
    /// The class.
    pub class: Class,
    /// The rule that gives it.
    pub rule: &'static str,
    /// How sure it is.
    pub confidence: Confidence,
}

const fn classification(class: Class, confidence: Confidence, rule: &'static str) -> Classification {
    Classification { class, rule, confidence }
}

/// The pass of a training step that an instruction is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pass {
    Forward,
    Backward,
    /// The forward pass again, for the backward pass.
    Recomputed,
}

/// Tells the classes of a program's buffers.
#[derive(Debug)]
pub struct Classifier<'p> {
    program: &'p ProgramMemory,
    has_gradients: bool,
    /// Of arguments, by their numbers.
    arguments: FxHashMap<i64, Classification>,
    /// Types and shapes of parameters.
    parameters: FxHashSet<(hlo::DataType, &'p [u64])>,
    /// Index of the first heap event of the backward pass, by memory space.
    backward_begins: FxHashMap<i64, usize>,
}

impl<'p> Classifier<'p> {
    /// For the buffers of a program.
    pub fn new(program: &'p ProgramMemory) -> Classifier<'p> {
        let module = &program.module;
        let has_gradients = has_gradients(module);
        let all = hlo::arguments(module);
        let is_named = all.iter().any(|it| matches!(NamedRole::of(it.name), Some(NamedRole::Parameters(_))));
        let begins = |space: &SpaceMemory| Some((space.space, backward_begins(module, space)?));
        let mut found = Classifier {
            program,
            has_gradients,
            arguments: FxHashMap::default(),
            parameters: FxHashSet::default(),
            backward_begins: program.spaces.iter().filter(|_| has_gradients).filter_map(begins).collect(),
        };
        for argument in &all {
            let is_donated = module.outputs_with_buffer_of(argument.number).next().is_some();
            let class = argument_class(argument, has_gradients, is_named, is_donated);
            if class.class == Class::Parameter {
                found.parameters.insert((argument.shape.data_type, &argument.shape.dimensions));
            }
            found.arguments.insert(argument.number, class);
        }
        found
    }

    /// What a buffer is for that is alive when a memory space is fullest.
    pub fn classify(&self, space: &SpaceMemory, live: &LiveBuffer) -> Classification {
        use Confidence::High;
        let Some(allocation) = self.program.assignment.allocation_of(live.buffer) else {
            return classification(Class::Unknown, Confidence::Low, "it lies in no allocation");
        };
        match allocation.category() {
            Category::Parameter => self.argument(allocation),
            Category::Output => classification(Class::Output, High, "holds a result of the program"),
            Category::ThreadLocal => classification(Class::Temporary, High, "memory of a call"),
            Category::Constant => classification(Class::Constant, High, "holds a constant of the program"),
            Category::Temporary => self.temporary(space, live),
        }
    }

    fn argument(&self, allocation: &Allocation) -> Classification {
        let known = allocation.parameter.and_then(|number| self.arguments.get(&number).copied());
        known.unwrap_or(classification(Class::Unknown, Confidence::Low, "an argument that is no array"))
    }

    fn temporary(&self, space: &SpaceMemory, live: &LiveBuffer) -> Classification {
        use Confidence::{High, Low, Medium};
        let module = &self.program.module;
        let Some(instruction) = self.program.instruction(live.buffer) else {
            return classification(Class::Unknown, Low, "its instruction is not in the file");
        };
        if collective_kind(module, instruction).is_some() {
            return classification(Class::CollectiveScratch, High, "a collective makes it");
        }
        if !self.has_gradients {
            return classification(Class::Temporary, High, "the program computes no gradients");
        }
        let begins = self.backward_begins.get(&space.space).copied();
        let freed = live.lifetime.map_or(Freed::NotKnown, |lifetime| Freed::of(module, space, &lifetime, begins));
        let begins_before = live.lifetime.zip(begins).is_some_and(|(lifetime, begins)| lifetime.start < begins);
        match (pass(module, instruction, MOST_STEPS), freed) {
            (Some(Pass::Backward), _) if self.is_like_a_parameter(instruction, live) => {
                classification(Class::Gradient, Medium, "of the backward pass, with the type and shape of a parameter")
            }
            (Some(Pass::Backward), _) => classification(Class::Temporary, Medium, "of the backward pass"),
            (Some(Pass::Recomputed), _) => {
                classification(Class::Temporary, High, "computed again for the backward pass")
            }
            (Some(Pass::Forward), Freed::Backward) => {
                classification(Class::Activation, High, "made in the forward pass and freed in the backward pass")
            }
            (Some(Pass::Forward), Freed::Forward) => {
                classification(Class::Temporary, Medium, "made and freed in the forward pass")
            }
            (Some(Pass::Forward), Freed::AfterBackwardBegan) => classification(
                Class::Activation,
                Medium,
                "made in the forward pass and freed after the backward pass began",
            ),
            (None, Freed::Backward) if begins_before => {
                classification(Class::Activation, Medium, "made before the backward pass and freed in it")
            }
            (Some(Pass::Forward), Freed::NotKnown) | (None, _) => {
                classification(Class::Unknown, Low, "its path names no pass of the training step that made or freed it")
            }
        }
    }

    /// Has the buffer the type and shape of a parameter?
    fn is_like_a_parameter(&self, instruction: &'p Instruction, live: &LiveBuffer) -> bool {
        let index = self.program.assignment.buffers.get(live.buffer).map(|buffer| buffer.shape_index.as_slice());
        let array: Option<&'p ArrayShape> =
            crate::unpadded::part(&instruction.shape, index.unwrap_or_default()).array();
        array.is_some_and(|array| self.parameters.contains(&(array.data_type, array.dimensions.as_slice())))
    }
}

/// What an argument is for, by its name alone; `None` where that says nothing.
pub(crate) fn named_argument(name: &str) -> Option<Classification> {
    let by_name = |class| classification(class, Confidence::High, "an argument, by its name");
    Some(match NamedRole::of(name)? {
        NamedRole::Parameters(_) => by_name(Class::Parameter),
        NamedRole::OptimizerState => by_name(Class::OptimizerState),
        NamedRole::Gradients => by_name(Class::Gradient),
        NamedRole::Inputs => by_name(Class::Input),
        NamedRole::Other => {
            let rule = "an argument whose name says that it is no parameter";
            classification(Class::Unknown, Confidence::Medium, rule)
        }
    })
}

/// What an argument is for, by its name, else by what the program does to it.
fn argument_class(
    argument: &hlo::Argument<'_>,
    has_gradients: bool,
    is_named: bool,
    is_donated: bool,
) -> Classification {
    use Confidence::{Low, Medium};
    if let Some(known) = named_argument(argument.name) {
        return known;
    }
    let is_floating = argument.shape.data_type.is_floating();
    match argument.outcome {
        Outcome::Updated if has_gradients && is_floating && !is_named && is_donated => classification(
            Class::Parameter,
            Medium,
            "an argument that the training step gives back changed in its memory",
        ),
        // A function that returns gradients looks like this, too.
        Outcome::Updated if has_gradients && is_floating && !is_named => {
            classification(Class::Parameter, Low, "an argument that the program gives back changed, or its gradient")
        }
        Outcome::NotReturned if has_gradients && (is_named || !is_floating) => {
            classification(Class::Input, Medium, "an argument that the training step reads and does not give back")
        }
        _ => classification(Class::Unknown, Low, "an argument whose name and use do not say what it is"),
    }
}

/// Where a buffer is freed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Freed {
    Forward,
    Backward,
    AfterBackwardBegan,
    NotKnown,
}

impl Freed {
    /// By how far the program is when its memory is free.
    fn of(module: &Module, space: &SpaceMemory, lifetime: &Lifetime, backward_begins: Option<usize>) -> Freed {
        let reached = space.heap.as_ref().map(|heap| heap.reached.as_slice()).unwrap_or_default();
        let Some(end) = lifetime.end else { return Freed::NotKnown };
        let instruction = reached.get(end).copied().flatten().and_then(|index| module.at(index));
        match instruction.and_then(|instruction| pass(module, instruction, MOST_STEPS)) {
            Some(Pass::Forward) => Freed::Forward,
            Some(Pass::Backward | Pass::Recomputed) => Freed::Backward,
            None if backward_begins.is_some_and(|begins| end >= begins) => Freed::AfterBackwardBegan,
            None => Freed::NotKnown,
        }
    }
}

/// Index of the first event of the backward pass.
fn backward_begins(module: &Module, space: &SpaceMemory) -> Option<usize> {
    let is_backward = |instruction: &Option<u32>| {
        let instruction = instruction.and_then(|index| module.at(index));
        instruction.is_some_and(|it| matches!(pass(module, it, MOST_STEPS), Some(Pass::Backward | Pass::Recomputed)))
    };
    space.heap.as_ref()?.reached.iter().position(is_backward)
}

/// The pass of an instruction; `None` where nothing tells it.
pub(crate) fn pass_of(module: &Module, instruction: &Instruction) -> Option<Pass> {
    pass(module, instruction, MOST_STEPS)
}

/// The pass of an instruction: by its path; of a fusion without one, by that of what is in it, the last first; of what only hands
/// a value on, by that of its operand.
fn pass(module: &Module, instruction: &Instruction, steps: u32) -> Option<Pass> {
    let by_path = |instruction: &Instruction| match training_pass(&instruction.metadata.op_name)? {
        "recomputed" => Some(Pass::Recomputed),
        "backward" => Some(Pass::Backward),
        _ => Some(Pass::Forward),
    };
    by_path(instruction).or_else(|| match instruction.opcode.as_str() {
        "fusion" => hlo::fused(module, instruction).iter().rev().find_map(by_path),
        "copy" | "copy-start" | "copy-done" | "bitcast" | "get-tuple-element" => {
            pass(module, module.operand(instruction, 0)?, steps.checked_sub(1)?)
        }
        _ => None,
    })
}
