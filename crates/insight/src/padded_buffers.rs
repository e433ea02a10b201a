//! Arrays whose shapes do not fill the tiles of a TPU.

use super::draft::Draft;
use super::memory::{LEAST_BYTES, VIEW, largest_program, name, of_peak};
use super::numbers::Numbers;
use super::{Rule, Verdict, out_of_memory};
use base::format;
use memory::PaddedShape;
use metrics::memory_use::ProgramUse;
use report::{Confidence, FindingSeverity};

/// The rule.
pub(super) const RULE: Rule = Rule { id: "padded_buffers", title: "Memory is filled with padding", check };

/// Share of the peak from which padding is worth a change of shapes (ours: what a tenth more batch would need).
const NOTE_PERCENT: f64 = 10.0;
/// From this share on the finding is a warning (ours: a quarter of the memory holds nothing).
const WARNING_PERCENT: f64 = 25.0;
/// Shapes that are named.
const NAMED: usize = 3;

/// What makes padding smaller.
pub(super) const REMEDY: &str = "A TPU keeps arrays in tiles of 8 x 128 numbers of 32 bits (16 x 128 of 16): make the last dimension a multiple of 128 and the one before \
     it of 8, put a long dimension last, or keep two short ones as one. XLA may choose another order of the dimensions by itself: \
     look at the layout behind the shape.";

fn check(numbers: &Numbers<'_>) -> Verdict {
    let program = match largest_program(numbers) {
        Ok(program) => program,
        Err(verdict) => return verdict,
    };
    // That of an error which it caused is told with the error.
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
        "At the peak of {}, {} of {} are padding of layouts.{}",
        name(program),
        format::bytes(padding),
        format::bytes(program.figures.peak_heap_bytes),
        shapes(program)
    );
    Draft::new(
        if is_bad { FindingSeverity::Warning } else { FindingSeverity::Note },
        Confidence::High,
        &format!("{} of the peak is padding", format::percent(percent)),
        message,
    )
    .remedy(REMEDY)
    .passed("padding_percent", percent, if is_bad { WARNING_PERCENT } else { NOTE_PERCENT })
    .evidence("padding_bytes", padding as f64)
    .evidence("peak_bytes", program.figures.peak_heap_bytes as f64)
    .link(VIEW, "")
    .fires()
}

/// The shapes with the most padding, as a sentence behind another; empty if none is known.
pub(super) fn shapes(program: &ProgramUse) -> String {
    let shapes: Vec<String> = program.summary.padded.iter().take(NAMED).map(shape).collect();
    if shapes.is_empty() { String::new() } else { format!(" Most of it: {}.", shapes.join("; ")) }
}

/// `3 f32[16384,4]{1,0:T(8,128)} take 24.0 MiB, 23.3 MiB of it padding; with its dimensions in another order, f32[4,16384], one takes 512 KiB`.
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
