//! Helpers that the memory rules share: the program and the device that they check, and the verdict if neither is
//! known.

use super::Verdict;
use super::draft::lacks;
use super::numbers::Numbers;
use ::memory::PaddedShape;
use base::format;
use memory::ProgramUse;
use report::DeviceMemory;
use trace::{Framework, Platform, SourceFormat};

/// Minimum number of bytes for which it is worth changing the program.
pub(super) const LEAST_BYTES: u64 = 1 << 20;

/// Advice for smaller padding.
pub(super) const PADDING_REMEDY: &str = "Make the last dimension a multiple of 128 and the one before it a multiple of 8, put a long \
     dimension last, or merge two short dimensions into one. A TPU stores arrays in tiles of 8 x 128 elements of 32 bits (16 x \
     128 of 16 bits). XLA may choose another order of the dimensions: look at the layout after the shape.";

/// Number of shapes that a sentence names.
const NAMED: usize = 3;

/// Returns the program with the largest peak.
///
/// # Errors
///
/// Returns a verdict if the file contains no program with its buffers.
pub(super) fn largest_program<'a>(numbers: &Numbers<'a>) -> Result<&'a ProgramUse, Verdict> {
    // A memory profile contains only arrays. A PyTorch trace contains no compiled program with buffers.
    let has_heap_alone = numbers.context.run.heap_profile.is_some() && numbers.trace.format.is_none();
    if has_heap_alone || numbers.trace.framework == Framework::PyTorch {
        return Err(Verdict::Irrelevant);
    }
    let largest = numbers.context.analysis.memory.largest();
    // The text of an error may describe only a single allocation.
    if largest.is_none() && numbers.context.run.memory_error.is_some() {
        return Err(Verdict::Irrelevant);
    }
    largest.ok_or_else(|| {
        let what = "the file contains no compiled program with its buffers.";
        if numbers.trace.format == Some(SourceFormat::ChromeJson) {
            return numbers.lacks_in_json(what);
        }
        lacks(&format!(
            "{what} {} Or open the folder that XLA_FLAGS=\"--xla_dump_to=DIR --xla_dump_hlo_as_proto\" writes.",
            numbers.words().keep_hlo
        ))
    })
}

/// Returns the device whose memory is fullest, and the used share of its capacity in percent.
///
/// # Errors
///
/// Returns a verdict if the share is unknown for all devices.
pub(super) fn fullest_device<'a>(numbers: &Numbers<'a>) -> Result<(&'a DeviceMemory, f64), Verdict> {
    // The `out_of_memory` rule explains memory errors.
    let run = numbers.context.run;
    if run.memory_error.is_some() || run.heap_profile.is_some() && numbers.trace.format.is_none() {
        return Err(Verdict::Irrelevant);
    }
    let devices = numbers.context.analysis.memory.devices.iter();
    let known = devices.filter_map(|device| Some((device, device.peak_percent?)));
    known.reduce(|most, it| if it.1 > most.1 { it } else { most }).ok_or_else(|| {
        let words = numbers.words();
        let remedy = match words.allocations {
            // Another capture would not contain the memory's size either.
            _ if numbers.platform == Some(Platform::Cpu) => String::new(),
            "" => format!(" Print it in the program: {}.", words.print_memory),
            option => format!(" Capture with {option} while a step allocates, or choose the device on the Model page or with --device."),
        };
        lacks(&format!("the file does not contain both the used memory and the capacity of a device.{remedy}"))
    })
}

/// Returns bytes as a share of a program's peak, percent.
pub(super) fn of_peak(bytes: u64, program: &ProgramUse) -> f64 {
    let peak = program.figures.peak_heap_bytes;
    if peak > 0 { 100.0 * bytes as f64 / peak as f64 } else { 0.0 }
}

/// Shortens the name of a program for messages.
pub(super) fn name(program: &ProgramUse) -> String {
    format::printable(&format::shorten(&program.figures.module, 60))
}

/// Lists the shapes with the most padding, as a sentence that starts with a space. Empty if no shape is known.
pub(super) fn padded_shapes(program: &ProgramUse) -> String {
    let shapes: Vec<String> = program.summary.padded.iter().take(NAMED).map(shape).collect();
    if shapes.is_empty() { String::new() } else { format!(" Shapes with the most padding: {}.", shapes.join("; ")) }
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
