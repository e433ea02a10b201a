//! Program, measured numbers and options from which a graph is built.

use hlo::Module;
use serde::{Deserialize, Serialize};

use crate::flow::Choices;
use crate::numbers::Measured;

/// How instructions form groups.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Grouping {
    /// By name scope. Similar numbered layers form one group.
    #[default]
    Layers,
    /// By name scope. Each layer forms its own group.
    Scopes,
    /// Only computations form groups: an instruction contains the computations that it calls.
    Computations,
}

/// Program, measured numbers and options from which a tree is built.
#[derive(Clone, Copy, Debug)]
pub struct Source<'a> {
    /// The module.
    pub module: &'a Module,
    /// Measured numbers.
    pub measured: &'a Measured,
    /// Kinds of instructions that are left out.
    pub choices: Choices,
    /// Kind of groups.
    pub grouping: Grouping,
}
