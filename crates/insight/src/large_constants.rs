//! Large arrays are compiled into a program as constants.

use super::draft::Draft;
use super::memory::{LEAST_BYTES, VIEW, largest_program, name, of_peak};
use super::numbers::Numbers;
use super::{Rule, Verdict};
use base::format;
use memory::Class;
use report::{Confidence, FindingSeverity};

pub(super) const RULE: Rule =
    Rule { id: "large_constants", title: "Large arrays are compiled into the program", check };

/// Share of the peak from which the finding is a note (ours: the memory of a batch that is a tenth larger).
const NOTE_PERCENT: f64 = 10.0;
/// Share of the peak from which the finding is a warning (ours: a quarter of the memory).
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
        "Constants take {} of the {} peak of {}. The largest takes {} ({}{source}).",
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
        &format!("Constants take {} of the peak memory", format::percent(percent)),
        message,
    )
    .remedy(
        "Pass large arrays as arguments: an array that a compiled function closes over is copied into each compiled program and \
         stays on every device. In JAX, register a class's arrays as a pytree instead of static fields.",
    )
    .passed("constant_percent", percent, if is_bad { WARNING_PERCENT } else { NOTE_PERCENT })
    .evidence("constant_bytes", bytes as f64)
    .link(VIEW, "")
    .fires()
}
