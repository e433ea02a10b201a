//! Padding of arrays whose shapes do not fill the tiles of a TPU.

use super::draft::Draft;
use super::memory::{LEAST_BYTES, PADDING_REMEDY, VIEW, largest_program, name, of_peak, padded_shapes};
use super::numbers::Numbers;
use super::{Rule, Verdict, out_of_memory};
use base::format;
use report::{Confidence, FindingSeverity};

pub(super) const RULE: Rule = Rule { id: "padded_buffers", title: "Padding takes much of the memory", check };

/// Share of the peak from which the finding is a note (ours: the memory of a batch that is a tenth larger).
const NOTE_PERCENT: f64 = 10.0;
/// Share of the peak from which the finding is a warning (ours: a quarter of the memory is unused).
const WARNING_PERCENT: f64 = 25.0;
fn check(numbers: &Numbers<'_>) -> Verdict {
    let program = match largest_program(numbers) {
        Ok(program) => program,
        Err(verdict) => return verdict,
    };
    // The rule `out_of_memory` reports padding that caused an error.
    if numbers.context.analysis.memory.errors.first().is_some_and(out_of_memory::is_for_padding) {
        return Verdict::Irrelevant;
    }
    let padding = program.figures.padding_bytes.unwrap_or(program.summary.padding_bytes);
    let percent = of_peak(padding, program);
    if percent < NOTE_PERCENT || padding < LEAST_BYTES {
        return Verdict::Fine;
    }
    let is_bad = percent >= WARNING_PERCENT;
    let message = format!(
        "At the peak of {}, padding of layouts takes {} of {}.{}",
        name(program),
        format::bytes(padding),
        format::bytes(program.figures.peak_heap_bytes),
        padded_shapes(program)
    );
    Draft::new(
        if is_bad { FindingSeverity::Warning } else { FindingSeverity::Note },
        Confidence::High,
        &format!("Padding takes {} of the peak memory", format::percent(percent)),
        message,
    )
    .remedy(PADDING_REMEDY)
    .passed("padding_percent", percent, if is_bad { WARNING_PERCENT } else { NOTE_PERCENT })
    .evidence("padding_bytes", padding as f64)
    .evidence("peak_bytes", program.figures.peak_heap_bytes as f64)
    .link(VIEW, "")
    .fires()
}
