//! Decides whether costs of custom calls are usable. The compiler cannot analyse custom calls, so only the author of a
//! call can declare a cost.
//!
//! XLA writes 0 FLOPs and 0 bytes for most custom calls. For a Pallas kernel, XLA may write 0 bytes, and the FLOPs of
//! only a single iteration of the grid. Neither number is a usable cost.

use facts::hlo_categories::CUSTOM_CALL;
use hlo::{Instruction, Module};
use trace::Args;

/// Availability of the author's cost estimate for a custom call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CustomCall {
    /// The program contains the author's estimate.
    Estimated,
    /// The program contains no estimate.
    NotEstimated,
    /// The program, or the call's configuration, is not in the file.
    Unknown,
}

impl CustomCall {
    /// Returns the availability of the author's estimate for an op, or `None` if the op is not a custom call. Uses the
    /// instruction if the program is in the file, and XLA's category and the expression if not.
    pub(super) fn of(program: Option<(&Module, &Instruction)>, category: &str, expression: &str) -> Option<CustomCall> {
        let Some((module, instruction)) = program else {
            return (category == CUSTOM_CALL || expression.contains(" custom-call(")).then_some(CustomCall::Unknown);
        };
        // An asynchronous op contains the custom call in a separate computation.
        let wrapped = || module.root(module.called(instruction, 0).filter(|_| instruction.is("async-start"))?);
        let call =
            Some(instruction).filter(|it| it.is(CUSTOM_CALL)).or_else(|| wrapped().filter(|it| it.is(CUSTOM_CALL)))?;
        Some(match hlo::has_author_estimate(call) {
            Some(true) => CustomCall::Estimated,
            Some(false) => CustomCall::NotEstimated,
            None => CustomCall::Unknown,
        })
    }

    /// Returns true if the profile's FLOPs and bytes of this call come from the author. If the program is unknown,
    /// returns true if both values are present, because only an author's estimate contains both. XLA's own numbers lack
    /// the bytes.
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
