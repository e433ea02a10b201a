//! Arrays are padded, because their shapes do not fill the tiles of a TPU.
//!
//! `padding_percent` is the share of the largest program's peak memory that padding takes. A TPU stores arrays in tiles
//! (8 x 128 elements of 32 bits), so dimensions are rounded up to multiples of the tile's dimensions. Severity: note
//! from 10 %, warning from 25 % (ours), each with at least 1 MiB. Confidence: high. The message names the shapes with
//! the most padding. For each of these shapes, the message suggests another shape if another order of dimensions or
//! merging the last two dimensions saves at least half of the padding. Remedy: use dimensions that are multiples of 8
//! and 128, and put long dimensions last. The rule is skipped if the file contains no program with its buffers.

use super::draft::Draft;
use super::limits::OF_PEAK_MEMORY_PERCENT;
use super::memory::{LEAST_BYTES, PADDING_REMEDY, largest_program, name, of_peak, padded_shapes};
use super::numbers::Numbers;
use super::{Rule, Verdict, out_of_memory};
use base::format;
use report::{Confidence, FindingSeverity, View};

pub(super) static RULE: Rule =
    Rule { id: "padded_buffers", title: "Padding takes much of the memory", ..Rule::checked_by(check) };

fn check(numbers: &Numbers<'_>) -> Verdict {
    let program = match largest_program(numbers) {
        Ok(program) => program,
        Err(verdict) => return verdict,
    };
    // The `out_of_memory` rule reports padding that caused an error.
    if numbers.context.analysis.memory.errors.first().is_some_and(out_of_memory::is_for_padding) {
        return Verdict::Irrelevant;
    }
    let padding = program.figures.padding_bytes.unwrap_or(program.summary.padding_bytes);
    let percent = of_peak(padding, program);
    if percent < OF_PEAK_MEMORY_PERCENT.good || padding < LEAST_BYTES {
        return Verdict::Fine;
    }
    let is_bad = percent >= OF_PEAK_MEMORY_PERCENT.bad;
    let message = format!(
        "At the peak of {}, layout padding takes {} of {}.{}",
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
    .passed("padding_percent", percent, if is_bad { OF_PEAK_MEMORY_PERCENT.bad } else { OF_PEAK_MEMORY_PERCENT.good })
    .evidence("padding_bytes", padding as f64)
    .evidence("peak_bytes", program.figures.peak_heap_bytes as f64)
    .link(View::Memory, "")
    .fires()
}
