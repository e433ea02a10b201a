//! Classes of buffers by purpose, with the rule and the confidence of each classification.
//!
//! | class | rule |
//! |---|---|
//! | parameter, optimizer state, gradient, input | an argument, by its name, or by its use in a program with gradients |
//! | output | holds a result of the program, and no argument |
//! | constant | holds a constant |
//! | collective scratch | made by a collective |
//! | activation | made in the forward pass and freed in the backward pass |
//! | gradient | made in the backward pass, with the type and shape of a parameter |
//! | temporary | any other short-lived value |
//! | unknown | none of these rules applies |
//!
//! The passes come from the paths that JAX gives its ops: `jvp(` means forward, `transpose(` means backward, and
//! `rematted_computation` means recomputed.

use std::sync::Arc;

use hlo::{ArrayShape, DataType, NamedRole, Outcome, collective_kind, has_gradients};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::assignment::{Allocation, Category};
use crate::heap::Lifetime;
use crate::paths::Pass;
use crate::program::{LiveBuffer, ProgramMemory, SpaceMemory};

/// Purpose of a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Class {
    /// A parameter of the model.
    Parameter,
    /// State that the optimizer keeps from step to step.
    OptimizerState,
    /// A gradient of a parameter.
    Gradient,
    /// A value of the forward pass that the backward pass needs.
    Activation,
    /// Input of the program.
    Input,
    /// Result of the program.
    Output,
    /// A constant that is part of the program.
    Constant,
    /// Result of a collective.
    CollectiveScratch,
    /// A short-lived value.
    Temporary,
    /// Unknown purpose.
    Unknown,
}

impl Class {
    /// All classes, in the order of the reports.
    pub const ALL: [Class; 10] = [
        Class::Parameter,
        Class::OptimizerState,
        Class::Gradient,
        Class::Activation,
        Class::Input,
        Class::Output,
        Class::Constant,
        Class::CollectiveScratch,
        Class::Temporary,
        Class::Unknown,
    ];

    /// Returns the name of the class, for displays and files.
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

/// Confidence of a classification.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Confidence {
    /// Other classes are also likely.
    Low,
    /// Correct for usual programs.
    Medium,
    /// Recorded by the compiler, or evident from a name that the user chose.
    High,
}

impl Confidence {
    /// Returns the name of the confidence, for displays and files.
    pub fn label(self) -> &'static str {
        match self {
            Confidence::Low => "low",
            Confidence::Medium => "medium",
            Confidence::High => "high",
        }
    }
}

/// A class with the rule behind it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Classification {
    /// Class of the buffer.
    pub class: Class,
    /// Rule that determines the class.
    pub rule: &'static str,
    /// Confidence of the rule.
    pub confidence: Confidence,
}

const fn classification(class: Class, confidence: Confidence, rule: &'static str) -> Classification {
    Classification { class, rule, confidence }
}

/// Classifies the buffers of a program.
#[derive(Clone, Debug)]
pub struct Classifier {
    program: Arc<ProgramMemory>,
    has_gradients: bool,
    /// Classes of arguments, by argument number.
    arguments: FxHashMap<i64, Classification>,
    /// Shapes of parameters, by data type.
    parameters: FxHashMap<DataType, FxHashSet<Vec<u64>>>,
    /// Index of the first heap event of the backward pass, by memory space.
    backward_begins: FxHashMap<i64, usize>,
}

impl Classifier {
    /// Creates a classifier for the buffers of a program.
    pub fn new(program: &Arc<ProgramMemory>) -> Classifier {
        let module = &program.module;
        let has_gradients = has_gradients(module);
        let all = hlo::arguments(module);
        let is_named = all.iter().any(|it| matches!(NamedRole::of(it.name), Some(NamedRole::Parameters(_))));
        let begins = |space: &SpaceMemory| Some((space.space, backward_begins(program, space)?));
        let mut found = Classifier {
            program: Arc::clone(program),
            has_gradients,
            arguments: FxHashMap::default(),
            parameters: FxHashMap::default(),
            backward_begins: program.spaces.iter().filter(|_| has_gradients).filter_map(begins).collect(),
        };
        for argument in &all {
            let is_donated = module.outputs_with_buffer_of(argument.number).next().is_some();
            let class = argument_class(argument, has_gradients, is_named, is_donated);
            if class.class == Class::Parameter {
                let shapes = found.parameters.entry(argument.shape.data_type).or_default();
                shapes.insert(argument.shape.dimensions.clone());
            }
            found.arguments.insert(argument.number, class);
        }
        found
    }

    /// Returns the program.
    pub fn program(&self) -> &Arc<ProgramMemory> {
        &self.program
    }

    /// Returns true if an array has the type and shape of a parameter.
    pub(crate) fn is_like_a_parameter(&self, array: &ArrayShape) -> bool {
        self.parameters.get(&array.data_type).is_some_and(|shapes| shapes.contains(array.dimensions.as_slice()))
    }

    /// Classifies a buffer that is alive at the peak of a memory space.
    pub fn classify(&self, space: &SpaceMemory, live: &LiveBuffer) -> Classification {
        use Confidence::High;
        let Some(allocation) = self.program.assignment.allocation_of(live.buffer) else {
            return classification(Class::Unknown, Confidence::Low, "not in any allocation");
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
        known.unwrap_or(classification(Class::Unknown, Confidence::Low, "an argument that is not an array"))
    }

    fn temporary(&self, space: &SpaceMemory, live: &LiveBuffer) -> Classification {
        use Confidence::{High, Low, Medium};
        let program = &self.program;
        let index = program.assignment.buffers.get(live.buffer).and_then(|buffer| buffer.instruction);
        let Some((index, instruction)) = index.and_then(|index| Some((index, program.module.at(index)?))) else {
            return classification(Class::Unknown, Low, "its instruction is not in the file");
        };
        if collective_kind(&program.module, instruction).is_some() {
            return classification(Class::CollectiveScratch, High, "made by a collective");
        }
        if !self.has_gradients {
            return classification(Class::Temporary, High, "the program computes no gradients");
        }
        let begins = self.backward_begins.get(&space.space).copied();
        let freed = live.lifetime.map_or(Freed::NotKnown, |lifetime| Freed::of(program, space, &lifetime, begins));
        let begins_before = live.lifetime.zip(begins).is_some_and(|(lifetime, begins)| lifetime.start < begins);
        let is_like_a_parameter = || program.array(live.buffer).is_some_and(|array| self.is_like_a_parameter(array));
        match (program.paths().pass(index), freed) {
            (Some(Pass::Backward), _) if is_like_a_parameter() => classification(
                Class::Gradient,
                Medium,
                "made in the backward pass, with the type and shape of a parameter",
            ),
            (Some(Pass::Backward), _) => classification(Class::Temporary, Medium, "made in the backward pass"),
            (Some(Pass::Recomputed), _) => classification(Class::Temporary, High, "recomputed for the backward pass"),
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
            (Some(Pass::Forward), Freed::NotKnown) | (None, _) => classification(
                Class::Unknown,
                Low,
                "its path does not show which pass of the training step made or freed it",
            ),
        }
    }
}

/// Classifies an argument by its name alone. Returns `None` if the name does not reveal its purpose.
pub(crate) fn named_argument(name: &str) -> Option<Classification> {
    let by_name = |class| classification(class, Confidence::High, "an argument, by its name");
    Some(match NamedRole::of(name)? {
        NamedRole::Parameters(_) => by_name(Class::Parameter),
        NamedRole::OptimizerState => by_name(Class::OptimizerState),
        NamedRole::Gradients => by_name(Class::Gradient),
        NamedRole::Inputs => by_name(Class::Input),
        NamedRole::Other => {
            let rule = "an argument whose name shows that it is not a parameter";
            classification(Class::Unknown, Confidence::Medium, rule)
        }
    })
}

/// Classifies an argument by its name or, if the name does not reveal its purpose, by the program's use of it.
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
        Outcome::Updated if has_gradients && is_floating && !is_named && is_donated => {
            classification(Class::Parameter, Medium, "an argument that the training step returns updated in its memory")
        }
        // A function that returns gradients looks like a program that returns updated arguments.
        Outcome::Updated if has_gradients && is_floating && !is_named => {
            classification(Class::Parameter, Low, "an argument that the program returns updated, or its gradient")
        }
        Outcome::NotReturned if has_gradients && (is_named || !is_floating) => {
            classification(Class::Input, Medium, "an argument that the training step reads and does not return")
        }
        _ => classification(Class::Unknown, Low, "an argument whose name and use do not reveal its class"),
    }
}

/// Pass in which a buffer is freed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Freed {
    Forward,
    Backward,
    AfterBackwardBegan,
    NotKnown,
}

impl Freed {
    /// Returns the pass that the program has reached when the buffer is freed.
    fn of(program: &ProgramMemory, space: &SpaceMemory, lifetime: &Lifetime, backward_begins: Option<usize>) -> Freed {
        let reached = space.heap.as_ref().map(|heap| heap.reached.as_slice()).unwrap_or_default();
        let Some(end) = lifetime.end else { return Freed::NotKnown };
        match reached.get(end).copied().flatten().and_then(|index| program.paths().pass(index)) {
            Some(Pass::Forward) => Freed::Forward,
            Some(Pass::Backward | Pass::Recomputed) => Freed::Backward,
            None if backward_begins.is_some_and(|begins| end >= begins) => Freed::AfterBackwardBegan,
            None => Freed::NotKnown,
        }
    }
}

/// Returns the index of the first event of the backward pass.
fn backward_begins(program: &ProgramMemory, space: &SpaceMemory) -> Option<usize> {
    let pass = |instruction: &Option<u32>| program.paths().pass((*instruction)?);
    let is_backward = |instruction: &Option<u32>| matches!(pass(instruction), Some(Pass::Backward | Pass::Recomputed));
    space.heap.as_ref()?.reached.iter().position(is_backward)
}
