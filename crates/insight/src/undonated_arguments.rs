//! Results could reuse the memory of arguments, but do not.
//!
//! The rule finds two kinds of arguments of the largest program:
//!
//! * arguments that the program returns updated (`hlo::arguments`): a result of the argument's type is computed from
//!   the argument element by element (`p - rate * g`), or is the argument with a part replaced. The gradient of an
//!   argument is not such a result. If the program computes no gradients, only arguments that are named like a state
//!   are included;
//! * donated arguments for which the compiler found no result (`buffer_donor` of the module).
//!
//! `undonated_percent` is the share of the peak memory that these arguments take. Severity: note from 10 %, warning
//! from 25 % (ours: donating them makes room for a batch that is a tenth or a third larger). A warning also needs at
//! least 64 MiB (ours: smaller arguments seldom limit a program, even if they are a large share of a small peak). For
//! donated arguments, the finding is a note from 1 MiB. Confidence: high for donated arguments, else medium, because
//! the caller may need the old value. Remedy: use `donate_argnums`. The rule is not reported for TensorFlow, because
//! TensorFlow updates variables in place. The rule is skipped if the file contains no program with its buffers.

use super::draft::Draft;
use super::limits::OF_PEAK_MEMORY_PERCENT;
use super::memory::{LEAST_BYTES, largest_program, name, of_peak};
use super::numbers::Numbers;
use super::{Rule, Verdict};
use base::format;
use memory::UnsharedArgument;
use report::{Confidence, FindingSeverity, View};
use trace::Framework;

pub(super) static RULE: Rule =
    Rule { id: "undonated_arguments", title: "Arguments that are not donated", ..Rule::checked_by(check) };

/// Minimum number of bytes for a warning. We chose this limit because smaller arguments seldom limit a program, even if
/// they are a large share of a small peak.
const WARNING_BYTES: u64 = 64 << 20;

fn check(numbers: &Numbers<'_>) -> Verdict {
    // TensorFlow updates variables in place.
    if numbers.trace.framework == Framework::TensorFlow {
        return Verdict::Irrelevant;
    }
    let program = match largest_program(numbers) {
        Ok(program) => program,
        Err(verdict) => return verdict,
    };
    let donated: Vec<&UnsharedArgument> = program.unshared.iter().filter(|it| it.is_donated).collect();
    let updated: Vec<&UnsharedArgument> = program.unshared.iter().filter(|it| !it.is_donated).collect();
    let sum = |of: &[&UnsharedArgument]| of.iter().fold(0_u64, |sum, it| sum.saturating_add(it.bytes));
    // The user expects donated arguments to be reused, so an argument that is not reused is a mistake.
    let (is_donated, arguments) = if sum(&donated) >= LEAST_BYTES { (true, donated) } else { (false, updated) };
    let bytes = sum(&arguments);
    let percent = of_peak(bytes, program);
    let Some(largest) = arguments.first() else { return Verdict::Fine };
    if bytes < LEAST_BYTES || (!is_donated && percent < OF_PEAK_MEMORY_PERCENT.good) {
        return Verdict::Fine;
    }
    let is_one = arguments.len() == 1;
    let what = match (is_donated, is_one) {
        (true, true) => "is donated, but no result reuses its memory",
        (true, false) => "are donated, but no result reuses their memory",
        (false, true) => "is updated but not donated, so its old and new values are in memory at the same time",
        (false, false) => "are updated but not donated, so their old and new values are in memory at the same time",
    };
    let message = format!(
        "{} of {} ({}, {} of the peak) {what}. The largest is {} ({}, {}).",
        counted(arguments.len() as u64),
        name(program),
        format::bytes(bytes),
        format::percent(percent),
        if largest.name.is_empty() { format!("argument {}", largest.number) } else { format::printable(&largest.name) },
        largest.shape,
        format::bytes(largest.bytes)
    );
    let is_bad = is_bad(percent, bytes);
    Draft::new(
        if is_bad { FindingSeverity::Warning } else { FindingSeverity::Note },
        if is_donated { Confidence::High } else { Confidence::Medium },
        &format!(
            "{} of arguments are {}",
            format::bytes(bytes),
            if is_donated { "donated but not reused" } else { "not donated" }
        ),
        message,
    )
    .remedy(if is_donated {
        "Return a result with the same type, shape and sharding as the donated argument (jax.lax.with_sharding_constraint on the \
         new value), or do not donate it. No other result can reuse its memory. JAX warns \"Some donated buffers were not \
         usable\" when it compiles."
    } else {
        "If the caller no longer needs the old values, donate them: jax.jit(step, donate_argnums=(0,)) or donate_argnames."
    })
    .passed("undonated_percent", percent, if is_bad { OF_PEAK_MEMORY_PERCENT.bad } else { OF_PEAK_MEMORY_PERCENT.good })
    .evidence("undonated_bytes", bytes as f64)
    .count("undonated_arguments", arguments.len() as u64)
    .link(View::Memory, "")
    .fires()
}

fn is_bad(percent: f64, bytes: u64) -> bool {
    percent >= OF_PEAK_MEMORY_PERCENT.bad && bytes >= WARNING_BYTES
}

fn counted(arguments: u64) -> String {
    if arguments == 1 { "An argument".to_owned() } else { format!("{} arguments", format::count(arguments)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_warning_needs_a_large_share_and_many_bytes() {
        assert!(is_bad(OF_PEAK_MEMORY_PERCENT.bad, WARNING_BYTES));
        assert!(
            !is_bad(OF_PEAK_MEMORY_PERCENT.bad, WARNING_BYTES - 1)
                && !is_bad(OF_PEAK_MEMORY_PERCENT.bad - 0.1, WARNING_BYTES)
        );
    }
}
