//! Arguments whose memory no result is written into, though one could be.

use super::draft::Draft;
use super::memory::{LEAST_BYTES, VIEW, largest_program, name, of_peak};
use super::numbers::Numbers;
use super::{Rule, Verdict};
use base::format;
use memory::UnsharedArgument;
use report::{Confidence, FindingSeverity};
use trace::Framework;

/// The rule.
pub(super) const RULE: Rule = Rule { id: "undonated_arguments", title: "Arguments that are not donated", check };

/// Share of the peak (ours: what a tenth more batch would need).
const NOTE_PERCENT: f64 = 10.0;
/// From this share on the finding is a warning (ours: a quarter of the memory holds old values).
const WARNING_PERCENT: f64 = 25.0;

fn check(numbers: &Numbers<'_>) -> Verdict {
    // Variables of TensorFlow are updated in place.
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
    // What was donated was meant to be reused: any is a mistake.
    let (is_donated, arguments) = if sum(&donated) >= LEAST_BYTES { (true, donated) } else { (false, updated) };
    let bytes = sum(&arguments);
    let percent = of_peak(bytes, program);
    let Some(largest) = arguments.first() else { return Verdict::Fine };
    if bytes < LEAST_BYTES || (!is_donated && percent < NOTE_PERCENT) {
        return Verdict::Fine;
    }
    let is_one = arguments.len() == 1;
    let what = match (is_donated, is_one) {
        (true, true) => "is donated, but no result is written into its memory",
        (true, false) => "are donated, but no result is written into their memory",
        (false, true) => "is returned changed and is not donated: its old and new values are in memory at once",
        (false, false) => "are returned changed and are not donated: their old and new values are in memory at once",
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
    let is_bad = percent >= WARNING_PERCENT;
    Draft::new(
        if is_bad { FindingSeverity::Warning } else { FindingSeverity::Note },
        if is_donated { Confidence::High } else { Confidence::Medium },
        &format!(
            "{} of arguments are {}",
            format::bytes(bytes),
            if is_donated { "donated and not reused" } else { "not donated" }
        ),
        message,
    )
    .remedy(if is_donated {
        "A donated argument is reused only by a result of the same type, shape and sharding: return one (jax.lax.with_sharding_constraint \
         on the new value), or do not donate it. JAX warns \"Some donated buffers were not usable\" when it compiles."
    } else {
        "Where the caller needs the old value no more, donate it: jax.jit(step, donate_argnums=(0,)) or donate_argnames."
    })
    .passed("undonated_percent", percent, if is_bad { WARNING_PERCENT } else { NOTE_PERCENT })
    .evidence("undonated_bytes", bytes as f64)
    .count("undonated_arguments", arguments.len() as u64)
    .link(VIEW, "")
    .fires()
}

fn counted(arguments: u64) -> String {
    if arguments == 1 { "An argument".to_owned() } else { format!("{} arguments", format::count(arguments)) }
}
