//! Padding of arrays whose shapes do not fill the tiles of a TPU.

use super::draft::Draft;
use super::memory::{LEAST_BYTES, VIEW, largest_program, name, of_peak};
use super::numbers::Numbers;
use super::{Rule, Verdict, out_of_memory};
use base::format;
use memory::PaddedShape;
use metrics::memory_use::ProgramUse;
use report::{Confidence, FindingSeverity};

pub(super) const RULE: Rule = Rule { id: "padded_buffers", title: "Padding takes much of the memory", check };

/// Share of the peak from which the finding is a note (ours: the memory of a batch that is a tenth larger).
const NOTE_PERCENT: f64 = 10.0;
/// Share of the peak from which the finding is a warning (ours: a quarter of the memory is unused).
const WARNING_PERCENT: f64 = 25.0;
/// Number of shapes that the message names.
const NAMED: usize = 3;

/// Advice for smaller padding.
pub(super) const REMEDY: &str = "Make the last dimension a multiple of 128 and the one before it a multiple of 8, put a long \
     dimension last, or merge two short dimensions into one. A TPU stores arrays in tiles of 8 x 128 elements of 32 bits (16 x \
     128 of 16 bits). XLA may choose another order of the dimensions: look at the layout after the shape.";

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
        shapes(program)
    );
    Draft::new(
        if is_bad { FindingSeverity::Warning } else { FindingSeverity::Note },
        Confidence::High,
        &format!("Padding takes {} of the peak memory", format::percent(percent)),
        message,
    )
    .remedy(REMEDY)
    .passed("padding_percent", percent, if is_bad { WARNING_PERCENT } else { NOTE_PERCENT })
    .evidence("padding_bytes", padding as f64)
    .evidence("peak_bytes", program.figures.peak_heap_bytes as f64)
    .link(VIEW, "")
    .fires()
}

/// Lists the shapes with the most padding, as a sentence with a leading blank. Empty if none is known.
pub(super) fn shapes(program: &ProgramUse) -> String {
    let shapes: Vec<String> = program.summary.padded.iter().take(NAMED).map(shape).collect();
    if shapes.is_empty() { String::new() } else { format!(" The most padding: {}.", shapes.join("; ")) }
}

/// Describes the padding of a shape: `3 f32[16384,4]{1,0:T(8,128)} take 24.0 MiB, 23.3 MiB of it padding (with its dimensions in
/// another order, f32[4,16384], one takes 512 KiB)`.
fn shape(shape: &PaddedShape) -> String {
    let take = if shape.buffers == 1 { "takes" } else { "take" };
    let better = shape.better.as_ref().map_or_else(String::new, |better| {
        format!(" (with {}, {}, one takes {})", better.how, better.shape, format::bytes(better.bytes))
    });
    format!(
        "{} {} {take} {}, {} of it padding{better}",
        format::count(shape.buffers),
        shape.shape,
        format::bytes(shape.bytes),
        format::bytes(shape.padding_bytes)
    )
}
