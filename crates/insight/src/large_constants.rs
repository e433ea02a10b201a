//! Large arrays are compiled into a program as constants.
//!
//! `constant_percent` is the share of the largest program's peak memory that constants take. Constants are arrays that
//! a jitted function closes over. Severity: note from 10 %, warning from 25 % (ours), each with at least 1 MiB.
//! Confidence: high. The message names the largest constant with its source line. Remedy: pass the arrays as arguments.
//! The rule is skipped if the file contains no program with its buffers.

use super::draft::Draft;
use super::limits::OF_PEAK_MEMORY_PERCENT;
use super::memory::{LEAST_BYTES, largest_program, name, of_peak};
use super::numbers::Numbers;
use super::{Rule, Verdict};
use base::format;
use memory::Class;
use report::{Confidence, FindingSeverity, View};

pub(super) static RULE: Rule =
    Rule { id: "large_constants", title: "Large arrays are compiled into the program", ..Rule::checked_by(check) };

fn check(numbers: &Numbers<'_>) -> Verdict {
    let program = match largest_program(numbers) {
        Ok(program) => program,
        Err(verdict) => return verdict,
    };
    let bytes = program.summary.class_bytes(Class::Constant);
    let percent = of_peak(bytes, program);
    let Some(largest) = program.summary.constants.first() else { return Verdict::Fine };
    if percent < OF_PEAK_MEMORY_PERCENT.good || bytes < LEAST_BYTES {
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
    let is_bad = percent >= OF_PEAK_MEMORY_PERCENT.bad;
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
    .passed("constant_percent", percent, if is_bad { OF_PEAK_MEMORY_PERCENT.bad } else { OF_PEAK_MEMORY_PERCENT.good })
    .evidence("constant_bytes", bytes as f64)
    .link(View::Memory, "")
    .fires()
}
