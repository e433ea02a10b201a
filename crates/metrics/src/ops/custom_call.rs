//! Costs of custom calls: the compiler does not look into them, so only their author knows what they cost.
//!
//! XLA writes 0 FLOPs and 0 bytes for most of them. For a Pallas kernel it may count one iteration of the grid: FLOPs that are too few
//! by any factor, beside 0 bytes. Neither is a cost.

use hlo::{Instruction, Module};
use trace::Args;

/// XLA's category of calls into code that it did not make and does not look into.
const CATEGORY: &str = "custom-call";

/// A custom call, and what is known of an estimate by its author.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CustomCall {
    /// The program states the author's estimate.
    Estimated,
    /// The program states none.
    NotEstimated,
    /// The program, or the call's configuration, is not in the file.
    Unknown,
}

impl CustomCall {
    /// The custom call that an op is, by its instruction where the program is in the file, else by XLA's category and expression.
    pub(super) fn of(program: Option<(&Module, &Instruction)>, category: &str, expression: &str) -> Option<CustomCall> {
        let Some((module, instruction)) = program else {
            return (category == CATEGORY || expression.contains(" custom-call(")).then_some(CustomCall::Unknown);
        };
        // An asynchronous call wraps the call in a computation of its own.
        let wrapped = || module.root(module.called(instruction, 0).filter(|_| instruction.is("async-start"))?);
        let call = Some(instruction).filter(|it| it.is(CATEGORY)).or_else(|| wrapped().filter(|it| it.is(CATEGORY)))?;
        Some(match hlo::has_author_estimate(call) {
            Some(true) => CustomCall::Estimated,
            Some(false) => CustomCall::NotEstimated,
            None => CustomCall::Unknown,
        })
    }

    /// Are the profile's FLOPs and bytes of this call the author's? Without the program that shows in both being there: an estimate
    /// consists of both, and what XLA writes of its own account lacks the bytes.
    pub(super) fn is_counted(self, args: &Args) -> bool {
        let positive = |amount: Option<i64>| amount.is_some_and(|amount| amount > 0);
        let [flops, bytes] = [positive(args.flops.or(args.model_flops)), positive(args.bytes_accessed)];
        match self {
            // A kernel that only copies has no FLOPs.
            CustomCall::Estimated => bytes,
            CustomCall::NotEstimated => false,
            CustomCall::Unknown => flops && bytes,
        }
    }
}
