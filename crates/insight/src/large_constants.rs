//! Arrays that were compiled into a program.

use super::draft::Draft;
use super::memory::{LEAST_BYTES, VIEW, largest_program, name, of_peak};
use super::numbers::Numbers;
use super::{Rule, Verdict};
use base::format;
use memory::Class;
use report::{Confidence, FindingSeverity};

/// The rule.
pub(super) const RULE: Rule = Rule { id: "large_constants", title: "Large arrays are part of the program", check };

/// Share of the peak (ours: what a tenth more batch would need).
const NOTE_PERCENT: f64 = 10.0;
/// From this share on the finding is a warning (ours: a quarter of the memory).
const WARNING_PERCENT: f64 = 25.0;

fn check(numbers: &Numbers<'_>) -> Verdict {
    let program = match largest_program(numbers) {
        Ok(program) => program,
        Err(verdict) => return verdict,
    };
    let bytes = program.summary.class_bytes(Class::Constant);
    let percent = of_peak(bytes, program);
    let Some(largest) = program.summary.constants.first() else { return Verdict::Fine };
    if percent < NOTE_PERCENT || bytes < LEAST_BYTES {
        return Verdict::Fine;
    }
    let source = largest.source.as_ref().map_or_else(String::new, |source| format!(", {}", format::printable(source)));
    let message = format!(
        "Constants take {} of the {} of {}; the largest is {} ({}{source}).",
        format::bytes(bytes),
        format::bytes(program.figures.peak_heap_bytes),
        name(program),
        format::bytes(largest.bytes),
        largest.shape_text().unwrap_or_else(|| largest.name.clone())
    );
    let is_bad = percent >= WARNING_PERCENT;
    Draft::new(
        if is_bad { FindingSeverity::Warning } else { FindingSeverity::Note },
        Confidence::High,
        &format!("{} of the peak are constants", format::percent(percent)),
        message,
    )
    .remedy(
        "An array that a compiled function closes over is copied into each program that is compiled, and stays on every device. Pass it as \
         an argument; in JAX, register a class's arrays as a pytree instead of static fields.",
    )
    .passed("constant_percent", percent, if is_bad { WARNING_PERCENT } else { NOTE_PERCENT })
    .evidence("constant_bytes", bytes as f64)
    .link(VIEW, "")
    .fires()
}
